//! What can go wrong with a server.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use thiserror::Error;

use crate::limits::ANSWER_BYTES_MAX;

/// Why an operation on a server was not done, or may not have been. Its text has
/// that of the failure, whose cause is its own.
#[derive(Debug)]
pub struct ServerError {
    /// The server, without its password.
    pub server: String,
    /// What happened.
    pub failure: Failure,
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.server, self.failure)
    }
}

impl ServerError {
    /// The same, for somebody else who has waited for the same answer.
    pub fn again(&self) -> Self {
        Self {
            server: self.server.clone(),
            failure: self.failure.again(),
        }
    }
}

impl Error for ServerError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.failure.source()
    }
}

/// What can happen to an operation.
#[derive(Debug, Error)]
pub enum Failure {
    /// The server was away when the operation began, so it was not tried.
    #[error("has been away for {} s", since.as_secs())]
    Away {
        /// For how long.
        since: Duration,
    },
    /// All connections were in use all the time, so it was not tried.
    #[error("had no free connection within {} s", limit.as_secs_f32())]
    Busy {
        /// The time limit.
        limit: Duration,
    },
    /// There was no answer in time.
    #[error("did not answer within {} s", limit.as_secs_f32())]
    TimedOut {
        /// The time limit.
        limit: Duration,
    },
    /// There was no connection in time, so it was not tried.
    #[error("could not be connected to within {} s", limit.as_secs_f32())]
    Unreached {
        /// The time limit.
        limit: Duration,
    },
    /// There is no connection, or it broke.
    #[error("cannot be reached")]
    Broken(#[source] Box<dyn Error + Send + Sync>),
    /// A cluster is there, but not that of its servers which has what this is about, or
    /// that is on its way to another one. It may take others.
    #[error("cannot do this now: {0}")]
    Unserved(String),
    /// The server answered that it does not do it: a wrong password, a full or
    /// read-only server.
    #[error("refused: {0}")]
    Refused(String),
    /// The server answered that it has no such table or column: its tables are not
    /// those that were made.
    #[error("refused: {0}")]
    OtherTables(String),
    /// The answer is longer than what is read.
    #[error("answers with more than {max} bytes, the most that is read at once")]
    TooLong {
        /// The limit.
        max: usize,
    },
    /// The answer is a list with more entries than are read.
    #[error("lists more than {max} entries, the most that are read")]
    TooMany {
        /// The limit.
        max: usize,
    },
    /// The answer is not what was asked for.
    #[error("answered wrongly: {0}")]
    Answer(String),
}

impl Failure {
    /// Whether the server has answered, to this.
    pub fn is_answer(&self) -> bool {
        matches!(
            self,
            Self::Refused(_)
                | Self::OtherTables(_)
                | Self::Answer(_)
                | Self::TooLong { .. }
                | Self::TooMany { .. }
        )
    }

    /// An answer that has more than [`ANSWER_BYTES_MAX`] bytes.
    pub const fn answer_too_long() -> Self {
        Self::TooLong {
            max: ANSWER_BYTES_MAX,
        }
    }

    /// Wraps the error of a connection.
    pub fn broken(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Broken(source.into())
    }

    fn again(&self) -> Self {
        match self {
            Self::Away { since } => Self::Away { since: *since },
            Self::Busy { limit } => Self::Busy { limit: *limit },
            Self::TimedOut { limit } => Self::TimedOut { limit: *limit },
            Self::Unreached { limit } => Self::Unreached { limit: *limit },
            Self::Broken(source) => Self::broken(with_causes(&**source)),
            Self::Unserved(text) => Self::Unserved(text.clone()),
            Self::Refused(text) => Self::Refused(text.clone()),
            Self::OtherTables(text) => Self::OtherTables(text.clone()),
            Self::Answer(text) => Self::Answer(text.clone()),
            Self::TooLong { max } => Self::TooLong { max: *max },
            Self::TooMany { max } => Self::TooMany { max: *max },
        }
    }

    /// Whether the server may have other tables now than those that were made: a
    /// backup, or a new database.
    pub fn may_be_of_other_tables(&self) -> bool {
        matches!(self, Self::OtherTables(_)) || !self.is_answer()
    }

    /// Whether the connection is of no use any more.
    pub(crate) fn breaks(&self) -> bool {
        matches!(
            self,
            Self::TimedOut { .. } | Self::Unreached { .. } | Self::Broken(_)
        )
    }
}

/// An error with its causes, as one line.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_says_each_thing_once() {
        let of = |failure| ServerError {
            server: "redis://one:6379".to_owned(),
            failure,
        };
        let since = Duration::from_secs(1);
        let away = of(Failure::Away { since });
        assert_eq!(away.to_string(), "redis://one:6379 has been away for 1 s");
        assert!(away.source().is_none());
        let broken = of(Failure::broken("it hung up"));
        assert_eq!(broken.to_string(), "redis://one:6379 cannot be reached");
        assert_eq!(broken.source().unwrap().to_string(), "it hung up");
    }

    #[test]
    fn a_part_that_is_missing_is_neither_an_answer_nor_the_end_of_a_connection() {
        let failure = Failure::Unserved("its slot moves".to_owned());
        assert!(!failure.breaks() && !failure.is_answer());
        assert_eq!(failure.to_string(), "cannot do this now: its slot moves");
    }
}
