//! Why a beacon has nothing to report.

use std::io;

use halite_call::CallError;
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
    /// Its configuration makes no sense: it is not asked.
    #[error("{0}")]
    Invalid(String),
    /// A program that it needs is not there.
    #[error("{0} is missing.")]
    NoProgram(&'static str),
    /// A program could not be started.
    #[error("{program} could not be started: {source}")]
    Start {
        /// The program.
        program: &'static str,
        /// Why.
        source: io::Error,
    },
    /// A program that it listens to has ended.
    #[error("{0} has ended")]
    Ended(&'static str),
    /// The kernel does not report changes.
    #[error("inotify: {0}")]
    Inotify(#[source] nix::Error),
}
