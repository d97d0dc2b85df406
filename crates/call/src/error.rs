//! How a function fails, in the kinds that its callers distinguish.

use thiserror::Error;

/// Why a function has no result. The kinds are those of Salt: they decide the
/// text of the return and the exit code of `salt-call`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CallError {
    /// What the function does went wrong (`CommandExecutionError`).
    #[error("{0}")]
    Command(String),
    /// The function was asked for something senseless (`SaltInvocationError`).
    #[error("{0}")]
    Invocation(String),
    /// The arguments do not fit the signature (`TypeError` of the call).
    #[error("{0}")]
    Arguments(String),
    /// A program that the function needs is not installed
    /// (`CommandNotFoundError`).
    #[error("{0}")]
    NotFound(String),
    /// Anything else, named as Python names it, since users search for it.
    #[error("{kind}{}{message}", if message.is_empty() { "" } else { ": " })]
    Exception {
        /// The exception's class.
        kind: &'static str,
        /// Its text.
        message: String,
        /// Python's traceback, where users' code raised it.
        trace: Option<Box<str>>,
    },
    /// The job was ended by a signal.
    #[error("the job was ended by signal {0}")]
    Ended(i32),
}

impl CallError {
    /// What the function does went wrong.
    pub fn command(message: impl Into<String>) -> Self {
        Self::Command(message.into())
    }

    /// The function was asked for something senseless.
    pub fn invocation(message: impl Into<String>) -> Self {
        Self::Invocation(message.into())
    }

    /// An exception of the class `kind`.
    pub fn exception(kind: &'static str, message: impl Into<String>) -> Self {
        Self::Exception {
            kind,
            message: message.into(),
            trace: None,
        }
    }

    /// Python's traceback of an exception that users' code raised.
    pub fn trace(&self) -> Option<&str> {
        match self {
            Self::Exception { trace, .. } => trace.as_deref(),
            _ => None,
        }
    }

    /// A value of the wrong kind (`TypeError`).
    pub fn wrong_type(message: impl Into<String>) -> Self {
        Self::exception("TypeError", message)
    }
}

/// What functions return.
pub type CallResult = Result<halite_proto::Value, CallError>;
