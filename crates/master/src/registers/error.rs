//! What can go wrong with registers.

use std::path::PathBuf;

use halite_cluster::{DecodeError, MergeError, RegisterError};
use halite_crypto::KeyError;
use halite_crypto::files::FileError;
use halite_key::KeyStoreError;
use halite_proto::{IdError, PackError};
use thiserror::Error;

/// Why the registers cannot be kept, or what a peer says not be taken.
#[derive(Debug, Error)]
pub(crate) enum RegistersError {
    /// This master's id is no name of a member.
    #[error("`id` cannot be the name of a member")]
    Id(#[source] IdError),
    /// The key store does not answer.
    #[error("could not use the keys of minions")]
    Keys(#[from] KeyStoreError),
    /// A file cannot be used.
    #[error("could not use a file of the registers")]
    File(#[from] FileError),
    /// The cluster's key cannot be given away.
    #[error("could not use the key of the cluster")]
    ClusterKey(#[source] KeyError),
    /// The log cannot be written.
    #[error("could not write {}", path.display())]
    Log {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file holds something else.
    #[error("{} is damaged; without its directory the master has the keys that are here", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// The files are not there any more.
    #[error("the directory of the keys is gone, nothing is taken for deleted")]
    Gone,
    /// Something cannot be packed.
    #[error("could not pack the registers")]
    Pack(#[from] PackError),
    /// What a peer says is not understood.
    #[error("it is not understood")]
    Unreadable(#[source] DecodeError),
    /// What a peer says is refused.
    #[error("it is refused")]
    Peer(#[from] MergeError),
    /// There is no room for a decision.
    #[error("a decision cannot be kept")]
    Register(#[from] RegisterError),
}
