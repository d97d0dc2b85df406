//! The errors of a store.

use std::fmt::Display;
use std::io;
use std::path::Path;

use halite_crypto::files::FileError;
use halite_proto::Value;
pub(crate) use halite_proto::chain;
use halite_proto::json::Unwritable;
use halite_proto::msgpack::{PackError, UnpackError};
use halite_store_servers::{Failure, ServerError};
use thiserror::Error;

/// Why something was not stored, found or removed. The text is one line and
/// says where, in words for people; the cause is the source.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A file or directory could not be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// A server could not be used.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// A value cannot be written as msgpack.
    #[error("could not pack {place}")]
    Pack {
        /// Where it is kept.
        place: String,
        /// What is wrong with the value.
        #[source]
        source: PackError,
    },
    /// A file does not hold what it should.
    #[error("{place} is damaged")]
    Damaged {
        /// Where it is kept.
        place: String,
        /// What is wrong with it.
        #[source]
        source: UnpackError,
    },
    /// A file holds another kind of value than it should.
    #[error("{place} contains a {found} instead of a {wanted}")]
    Kind {
        /// Where it is kept.
        place: String,
        /// The kind of value it contains.
        found: &'static str,
        /// The kind of value expected.
        wanted: &'static str,
    },
    /// A minion tells more than is kept of it.
    #[error("{place} would have {bytes} bytes; at most {max} are stored")]
    TooLarge {
        /// Where it is kept.
        place: String,
        /// How many it would have.
        bytes: usize,
        /// How many it may have.
        max: usize,
    },
    /// The store does not take what is packed already.
    #[error("this store takes no packed returns")]
    NotPacked,
    /// A server lists more than is read of it.
    #[error("{place} has more than {max} entries")]
    TooMany {
        /// The list.
        place: String,
        /// How many there may be.
        max: usize,
    },
    /// A value cannot be written as JSON.
    #[error("could not write {place} as JSON")]
    Json {
        /// Where it is kept.
        place: String,
        /// What is wrong with the value.
        #[source]
        source: Unwritable,
    },
    /// Others kept changing it at the same time.
    #[error("could not change {place} in {tries} tries: others keep changing it at the same time")]
    Contested {
        /// Where it is kept.
        place: String,
        /// How often it was tried.
        tries: usize,
    },
    /// Jobs are asked of a place that keeps none.
    #[error("{place} cannot store jobs")]
    NoJobs {
        /// The place.
        place: String,
    },
    /// Every job id that was tried is in use.
    #[error("could not allocate a job id in {place} after {tries} tries")]
    JidsTaken {
        /// Where it is kept.
        place: String,
        /// How many were tried.
        tries: usize,
    },
}

impl StoreError {
    /// Whether the place itself is to blame, and the same may work later.
    pub fn is_of_server(&self) -> bool {
        matches!(self, Self::Server(_))
    }

    /// Whether the value is the cause: this place can never store it.
    pub fn is_of_value(&self) -> bool {
        matches!(self, Self::Pack { .. } | Self::Json { .. })
    }

    /// Whether a server has a value that nobody can read: then what was known before must
    /// not be used either.
    pub fn is_of_content(&self) -> bool {
        match self {
            Self::Server(error) => {
                matches!(
                    error.failure,
                    Failure::Answer(_) | Failure::TooLong { .. } | Failure::TooMany { .. }
                )
            }
            Self::TooMany { .. } => true,
            _ => false,
        }
    }

    /// Whether a server has answered with more bytes than are read: with a part of it it
    /// may not.
    pub(crate) fn is_too_long(&self) -> bool {
        matches!(self, Self::Server(error) if matches!(error.failure, Failure::TooLong { .. }))
    }

    /// Whether a server has refused.
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Server(error) if matches!(error.failure, Failure::Refused(_)))
    }

    /// Whether a server was there and has answered: it does not do this.
    pub(crate) fn is_answer(&self) -> bool {
        match self {
            Self::Server(error) => error.failure.is_answer(),
            _ => true,
        }
    }

    /// Whether it is about what was read or stored, and not about the place as a whole.
    pub(crate) fn is_of_entry(&self) -> bool {
        !matches!(self, Self::File(_)) && self.is_answer()
    }

    /// Whether what was asked may be to blame, and not the server as a whole: it was
    /// there, and has answered that it does not do this, or not now, or nothing at all.
    pub(crate) fn may_be_its_own_fault(&self) -> bool {
        let is_of_this = matches!(self, Self::Server(error)
            if matches!(error.failure, Failure::TimedOut { .. } | Failure::Unserved(_)));
        is_of_this || self.is_answer()
    }

    pub(crate) fn pack(place: impl Display, source: PackError) -> Self {
        let place = place.to_string();
        Self::Pack { place, source }
    }

    pub(crate) fn damaged(place: impl Display, source: UnpackError) -> Self {
        let place = place.to_string();
        Self::Damaged { place, source }
    }

    pub(crate) fn kind(place: impl Display, found: &Value, wanted: &'static str) -> Self {
        Self::Kind {
            place: place.to_string(),
            found: found.type_name(),
            wanted,
        }
    }

    pub(crate) fn make_dir(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        FileError::MakeDir { path, source }.into()
    }

    pub(crate) fn write(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        FileError::Write { path, source }.into()
    }

    pub(crate) fn remove(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        FileError::Remove { path, source }.into()
    }

    pub(crate) fn list(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        FileError::List { path, source }.into()
    }
}
