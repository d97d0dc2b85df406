//! What can go wrong with a server.

use std::error::Error;
use std::time::Duration;

use thiserror::Error;

/// Why an operation on a server was not done, or may not have been.
#[derive(Debug, Error)]
#[error("{server} {failure}")]
pub struct ServerError {
    /// The server, without its password.
    pub server: String,
    /// What happened.
    #[source]
    pub failure: Failure,
}

/// What can happen to an operation.
#[derive(Debug, Error)]
pub enum Failure {
    /// The server was away when the operation began, so it was not tried.
    #[error("is away since {} s", since.as_secs())]
    Away {
        /// For how long.
        since: Duration,
    },
    /// There was no answer in time.
    #[error("did not answer within {} s", limit.as_secs_f32())]
    TimedOut {
        /// The time limit.
        limit: Duration,
    },
    /// There is no connection, or it broke.
    #[error("cannot be reached")]
    Broken(#[source] Box<dyn Error + Send + Sync>),
    /// The server answered that it does not do it: a wrong password, a full or
    /// read-only server.
    #[error("refused: {0}")]
    Refused(String),
    /// The answer is not what was asked for.
    #[error("answered wrongly: {0}")]
    Answer(String),
}

impl Failure {
    /// Wraps the error of a connection.
    pub fn broken(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Broken(source.into())
    }

    /// Whether the connection is of no use any more.
    pub(crate) fn breaks(&self) -> bool {
        matches!(self, Self::TimedOut { .. } | Self::Broken(_))
    }
}
