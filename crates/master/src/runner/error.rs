//! Why a runner failed.

use halite_key::KeyStoreError;
use halite_store::StoreError;
use thiserror::Error;

use crate::jobs::stop::Why;

/// Why a runner failed.
#[derive(Debug, Error)]
pub(crate) enum RunnerError {
    /// The arguments do not fit its signature.
    #[error("{0}")]
    BadArguments(String),
    /// The runner failed; the text says why.
    #[error("{0}")]
    Failed(String),
    /// The job cache or the data cache cannot be used.
    #[error("could not use the master's cache")]
    Store(#[from] StoreError),
    /// The keys cannot be used.
    #[error("could not use the keys")]
    Keys(#[from] KeyStoreError),
    /// The runner was stopped.
    #[error("{0}")]
    Stopped(Why),
    /// Users' Python code failed; the text is its traceback.
    #[error("{0}")]
    Python(String),
    /// The runner panicked.
    #[error("the runner ended unexpectedly; see the master's log")]
    Panic,
}

impl From<Why> for RunnerError {
    fn from(why: Why) -> Self {
        Self::Stopped(why)
    }
}

/// What a runner returns.
pub(crate) type Ran = Result<halite_proto::Value, RunnerError>;
