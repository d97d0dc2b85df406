//! What can go wrong with a store.

use std::fmt::Display;
use std::io;
use std::path::Path;

use halite_crypto::files::FileError;
use halite_proto::Value;
use halite_proto::msgpack::{PackError, UnpackError};
use thiserror::Error;

/// Why something was not stored, found or removed. The text is one line and
/// says where, in words for people; the cause is the source.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A file or directory could not be used.
    #[error(transparent)]
    File(#[from] FileError),
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
    #[error("{place} holds a {found} instead of a {wanted}")]
    Kind {
        /// Where it is kept.
        place: String,
        /// What it holds.
        found: &'static str,
        /// What it should hold.
        wanted: &'static str,
    },
    /// A minion tells more than is kept of it.
    #[error("{place} would have {bytes} bytes, at most {max} are kept")]
    TooLarge {
        /// Where it is kept.
        place: String,
        /// How many it would have.
        bytes: usize,
        /// How many it may have.
        max: usize,
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
