//! What can go wrong with a cache on disk.

use std::io;
use std::path::{Path, PathBuf};

use halite_crypto::files::FileError;
use halite_proto::msgpack::{PackError, UnpackError};
use thiserror::Error;

/// Why something was not stored, found or removed. The text is one line, with
/// the path; the cause is the source.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A file or directory could not be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// A value cannot be written as msgpack.
    #[error("could not pack {}", path.display())]
    Pack {
        /// The file.
        path: PathBuf,
        /// What is wrong with the value.
        #[source]
        source: PackError,
    },
    /// A file does not hold what it should.
    #[error("{} is damaged", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: UnpackError,
    },
    /// A file holds another kind of value than it should.
    #[error("{} holds a {found} instead of a {wanted}", path.display())]
    Kind {
        /// The file.
        path: PathBuf,
        /// What it holds.
        found: &'static str,
        /// What it should hold.
        wanted: &'static str,
    },
    /// A minion tells more than is kept of it.
    #[error("{} would have {bytes} bytes, at most {max} are kept", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// How many it would have.
        bytes: usize,
        /// How many it may have.
        max: usize,
    },
    /// Every job id that was tried is in use.
    #[error("could not allocate a job id in {} after {tries} tries", path.display())]
    JidsTaken {
        /// The job cache.
        path: PathBuf,
        /// How many were tried.
        tries: usize,
    },
}

impl StoreError {
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
