//! What can go wrong with files, by what was attempted.

use std::io;
use std::path::PathBuf;

use halite_crypto::UnknownAlgorithm;
use halite_crypto::files::FileError;
use halite_target::TargetError;
use thiserror::Error;

/// Why files cannot be served as configured.
#[derive(Debug, Error)]
pub enum OptionsError {
    /// `fileserver_backend` has a name that no source has.
    #[error("fileserver_backend: there is no source of files {name:?}")]
    Backend {
        /// The name.
        name: String,
    },
    /// A pattern of `file_ignore_regex` is not a regular expression.
    #[error("file_ignore_regex: {pattern:?} is not a regular expression")]
    IgnoreRegex {
        /// The pattern.
        pattern: String,
        /// Why not.
        source: TargetError,
    },
    /// An option of a git remote cannot be used.
    #[error("gitfs: {0}")]
    Gitfs(#[from] halite_git::OptionsError),
    /// `hash_type` names no hash.
    #[error("hash_type: there is no hash {name:?}")]
    HashType {
        /// The name.
        name: String,
        /// Why not.
        source: UnknownAlgorithm,
    },
}

/// Why a file that is there cannot be served. The request failed; the minion
/// may try again.
#[derive(Debug, Error)]
#[error("could not read {path}")]
pub struct ReadError {
    /// The file.
    pub path: PathBuf,
    /// Why not.
    pub source: io::Error,
}

/// Why a source could not be brought up to date.
#[derive(Debug, Error)]
pub enum UpdateError {
    /// The record of the files' times could not be written.
    #[error("could not write down the times of the files")]
    Times(#[source] FileError),
}

/// Why a pushed piece of a file was not taken.
#[derive(Debug, Error)]
pub enum ReceiveError {
    /// `file_recv` is off.
    #[error("file_recv is off")]
    Off,
    /// The path does not stay below the minion's directory.
    #[error("the path {path:?} {why}")]
    Path {
        /// The path, shortened.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// It is not said how large the whole file is.
    #[error("the size of the file is missing")]
    NoSize,
    /// The file would be larger than `file_recv_max_size`.
    #[error("the file is larger than file_recv_max_size, {max} bytes")]
    TooLarge {
        /// The limit.
        max: u64,
    },
    /// The minion has pushed too much already.
    #[error("the minion's files may take {max} bytes together")]
    Full {
        /// The limit.
        max: u64,
    },
    /// A piece in front of this one is missing.
    #[error("a piece at {loc} of a file that has only {len} bytes")]
    Gap {
        /// Where the piece belongs.
        loc: u64,
        /// What is there.
        len: u64,
    },
    /// The disk refused.
    #[error("could not write {path}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}
