//! How work on packages fails: a sentence, and additional data.

use halite_call::{CallError, StateReturn};
use halite_output::{Outputter, RenderOptions};
use halite_proto::{Map, Value};
use thiserror::Error;

/// Why packages could not be listed or changed.
#[derive(Debug, Clone, Error)]
pub(crate) enum PkgError {
    /// A function that was called for it failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The tool failed; `info` holds its errors and the changes that were made
    /// all the same.
    #[error("{}", with_info(message, info))]
    Tool {
        /// One sentence.
        message: String,
        /// `errors`, `changes`, `result`.
        info: Map,
    },
}

impl PkgError {
    /// What the tool does went wrong.
    pub(crate) fn command(message: impl Into<String>) -> Self {
        CallError::command(message).into()
    }

    /// The function was asked for something senseless.
    pub(crate) fn invocation(message: impl Into<String>) -> Self {
        CallError::invocation(message).into()
    }

    /// The changes that were made before it failed, where that is known.
    pub(crate) fn changes(&self) -> Option<Map> {
        match self {
            Self::Tool { info, .. } => {
                let changes = info.get("changes").and_then(Value::as_map);
                Some(changes.cloned().unwrap_or_default())
            }
            Self::Call(_) => None,
        }
    }

    /// The text without those changes, for states, which show them elsewhere.
    pub(crate) fn without_changes(&self) -> String {
        match self {
            Self::Tool { message, info } => {
                let mut info = info.clone();
                info.remove("changes");
                with_info(message, &info)
            }
            Self::Call(error) => error.to_string(),
        }
    }

    /// The result of a state that failed while `doing` something, with the
    /// changes that were made before.
    pub(crate) fn fail(&self, mut state: StateReturn, doing: &str) -> StateReturn {
        match self.changes() {
            Some(changes) => {
                state.changes = changes;
                state.failed(self.without_changes())
            }
            None => state.failed(format!("An error was encountered while {doing}: {self}")),
        }
    }
}

impl From<PkgError> for CallError {
    fn from(error: PkgError) -> Self {
        match error {
            PkgError::Call(error) => error,
            tool @ PkgError::Tool { .. } => Self::Command(tool.to_string()),
        }
    }
}

fn with_info(message: &str, info: &Map) -> String {
    let end = if message.ends_with(['.', '?', '!']) {
        ""
    } else {
        "."
    };
    let details = nested(&Value::Map(info.clone()));
    format!("{message}{end} Additional info follows:\n\n{details}")
}

/// The data as the `nested` outputter shows it.
pub(crate) fn nested(data: &Value) -> String {
    halite_output::render_as(Outputter::Nested, data, &RenderOptions::default())
        .trim_end()
        .to_owned()
}
