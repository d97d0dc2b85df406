//! Errors of a spool.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a spool cannot do what it should.
#[derive(Debug, Error)]
pub enum SpoolError {
    /// The directory cannot be made or read.
    #[error("could not open the spool {}", path.display())]
    Open {
        /// The directory.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// A message cannot be written: the disk is full or read-only.
    #[error("could not write to the spool {}", path.display())]
    Write {
        /// The directory.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// A message is larger than all messages together may be.
    #[error("a message of {bytes} bytes is larger than the spool may be ({max} bytes)")]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The limit.
        max: u64,
    },
}
