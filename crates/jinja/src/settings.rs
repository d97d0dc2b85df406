//! How templates are read and what an undefined name does: the options of
//! Jinja2's environment that Salt lets people set.

use crate::limits::Limits;

/// What happens when an undefined value is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum UndefinedMode {
    /// Any use but a test or a default is an error: Salt's way.
    #[default]
    Strict,
    /// It prints as nothing and is false; its attributes are errors.
    Lenient,
}

/// The options of an engine.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `{%`.
    pub block_start: String,
    /// `%}`.
    pub block_end: String,
    /// `{{`.
    pub variable_start: String,
    /// `}}`.
    pub variable_end: String,
    /// `{#`.
    pub comment_start: String,
    /// `#}`.
    pub comment_end: String,
    /// A line that starts with this is a statement.
    pub line_statement_prefix: Option<String>,
    /// From this to the end of the line is a comment.
    pub line_comment_prefix: Option<String>,
    /// The newline after a block is dropped.
    pub trim_blocks: bool,
    /// Blanks before a block are dropped if it starts the line.
    pub lstrip_blocks: bool,
    /// What every newline of the text becomes.
    pub newline: String,
    /// The last newline of a text is kept; Jinja2 drops it.
    pub keep_trailing_newline: bool,
    /// The rendered text ends with a newline if the template does, whatever
    /// whitespace control said: what Salt adds to Jinja2.
    pub restore_final_newline: bool,
    /// Maps print so that YAML reads them again: Salt's finalizer.
    pub yaml_friendly_maps: bool,
    /// What an undefined value does.
    pub undefined: UndefinedMode,
    /// What a render may use.
    pub limits: Limits,
}

impl Settings {
    /// Jinja2's own defaults, strict about undefined values.
    pub fn jinja() -> Self {
        Self {
            block_start: "{%".to_owned(),
            block_end: "%}".to_owned(),
            variable_start: "{{".to_owned(),
            variable_end: "}}".to_owned(),
            comment_start: "{#".to_owned(),
            comment_end: "#}".to_owned(),
            line_statement_prefix: None,
            line_comment_prefix: None,
            trim_blocks: false,
            lstrip_blocks: false,
            newline: "\n".to_owned(),
            keep_trailing_newline: false,
            restore_final_newline: false,
            yaml_friendly_maps: false,
            undefined: UndefinedMode::Strict,
            limits: Limits::default(),
        }
    }

    /// As Salt renders states, pillars and managed files.
    pub fn salt() -> Self {
        Self {
            restore_final_newline: true,
            yaml_friendly_maps: true,
            ..Self::jinja()
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::salt()
    }
}
