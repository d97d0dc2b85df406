//! What is common to all options of a pillar compiler: how texts are read, and why
//! one is refused.

use halite_proto::Value;
use thiserror::Error;

/// Why pillars cannot be compiled with these options.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// External pillars that are not written as Salt wants them.
    #[error("`ext_pillar` has to be a list of maps of one name each")]
    MalformedExternals,
    /// An invalid pattern of files to leave out.
    #[error("`file_ignore_regex`: {pattern:?} is not a regular expression: {why}")]
    IgnoreRegex {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
}

/// The texts of a list, or the one text.
pub(crate) fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::List(items)) => items
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        Some(Value::Str(text)) if !text.is_empty() => vec![text.clone()],
        _ => Vec::new(),
    }
}
