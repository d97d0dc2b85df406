//! Errors of a queue.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::limits::{ITEM_BYTES_MAX, NAME_BYTES_MAX};

/// Why a queue cannot be used.
#[derive(Debug, Error)]
pub enum QueueError {
    /// The name would be no name of a file, or is one of sqlite's own.
    #[error(
        "{name:?} cannot be the name of a queue: names have up to {NAME_BYTES_MAX} letters, \
         digits, `_`, `-` and `.`, and do not begin with `.`, `-` or `sqlite_`"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// An item is too large.
    #[error("an item of {bytes} bytes is too large, at most {ITEM_BYTES_MAX} are allowed")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// The directory cannot be used.
    #[error("could not use {path}")]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is not an sqlite database, is locked for too long, or is full.
    #[error("could not use the queue {queue}")]
    Sqlite {
        /// Which.
        queue: String,
        /// Why.
        source: rusqlite::Error,
    },
}
