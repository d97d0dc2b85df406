//! The errors of registers.

use std::path::PathBuf;

use halite_cluster::{DecodeError, MergeError, RegisterError};
use halite_crypto::KeyError;
use halite_crypto::files::FileError;
use halite_key::KeyStoreError;
use halite_proto::{IdError, MinionId, PackError};
use thiserror::Error;

/// Why the registers cannot be kept, or what a peer says not be taken.
#[derive(Debug, Error)]
pub(crate) enum RegistersError {
    /// This master's id cannot be the name of a member.
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
    #[error(
        "{} is damaged: remove its directory and cluster.pem, and the master joins the cluster \
         again",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// The registers do not fit into what is read again.
    #[error("the registers in {} would be larger than {max} bytes", dir.display())]
    TooLarge {
        /// The directory of the registers.
        dir: PathBuf,
        /// How large it may be.
        max: u64,
    },
    /// This master's clock is behind what it has written itself.
    #[error(
        "the clock is {lead_s} s behind what this master has written into {}: set the clock, or \
         wait for that time; if the clock is right, remove that directory and cluster.pem, and \
         the master joins the cluster again",
        dir.display()
    )]
    ClockBehind {
        /// By how many seconds.
        lead_s: u64,
        /// The directory of the registers.
        dir: PathBuf,
    },
    /// The key store cannot show what is known of a minion.
    #[error("the key store cannot show the state of the key of {id}")]
    Show {
        /// The minion.
        id: MinionId,
        /// The error of the store.
        source: KeyStoreError,
    },
    /// The files are not there any more.
    #[error("the directory of the keys is missing: no key is treated as deleted")]
    Gone,
    /// Something cannot be packed.
    #[error("could not pack the registers")]
    Pack(#[from] PackError),
    /// What the key store holds is not a key.
    #[error("not the public key of a minion")]
    Unusable(#[source] KeyError),
    /// A message of a peer cannot be read.
    #[error("the message cannot be read")]
    Unreadable(#[source] DecodeError),
    /// A message of a peer is refused.
    #[error("the message was refused")]
    Peer(#[from] MergeError),
    /// The sender was removed, or never admitted.
    #[error("the sender is not a member of the cluster")]
    NoMember,
    /// A decision about a minion cannot be stored in the registers.
    #[error("could not record the state of a key in the cluster's registers")]
    Register(#[from] RegisterError),
}
