//! Why a beacon has nothing to tell.

use std::io;

use halite_modules::CallError;
use thiserror::Error;

/// Why a beacon cannot see.
#[derive(Debug, Error)]
pub(super) enum BeaconError {
    /// A function that it asks failed.
    #[error("{0}")]
    Call(#[from] CallError),
    /// A file that it reads.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// What is wrong with it.
        source: io::Error,
    },
    /// The kernel does not report changes.
    #[error("inotify: {0}")]
    Inotify(#[source] nix::Error),
}
