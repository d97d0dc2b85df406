//! Why a master does not start, and how errors are reported.

use halite_crypto::KeyError;
use halite_crypto::files::FileError;
use halite_key::KeyStoreError;
pub use halite_proto::chain;
use halite_transport::BindError;
use thiserror::Error;

/// Why a master does not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The memory of jobs for minions that come back cannot be opened.
    #[error("could not open the record of recent jobs")]
    Replay(#[source] halite_spool::SpoolError),
    /// The spool of writes that wait for an unreachable store cannot be opened.
    #[error("could not open the spool of the store")]
    Waiting(#[source] halite_spool::SpoolError),
    /// A port or a socket cannot be opened.
    #[error("could not listen for {what}")]
    Listen {
        /// What connects there.
        what: &'static str,
        /// Why not.
        #[source]
        source: BindError,
    },
    /// `interface` is not an address.
    #[error("`interface` cannot be listened on: {why}")]
    Interface {
        /// What is wrong with it.
        why: String,
    },
    /// The master's keys, or those of minions, cannot be used.
    #[error("could not open the key directory")]
    Keys(#[from] KeyStoreError),
    /// The master was stopped before it had joined its cluster.
    #[error("stopped before joining the cluster")]
    Stopped,
    /// The registers of the cluster cannot be used.
    #[error("could not open the registers of the cluster")]
    Registers(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The master's own key does not work.
    #[error("could not use the master's key")]
    Key(#[from] KeyError),
    /// A directory or file of the master cannot be made.
    #[error("could not prepare {what}")]
    File {
        /// What the thing is for.
        what: &'static str,
        /// Why not.
        #[source]
        source: FileError,
    },
    /// An option has a value that cannot be used.
    #[error("option `{option}`: {why}")]
    Option {
        /// The option.
        option: &'static str,
        /// What is wrong with its value.
        why: String,
    },
    /// `cluster_bus` is not the address of a bus. Its value is not shown, because it may
    /// contain a password.
    #[error("option `cluster_bus`: {why}")]
    Bus {
        /// What is wrong with it.
        why: String,
    },
    /// The other masters of the cluster cannot be reached at all.
    #[error("could not prepare the links to the other masters")]
    Mesh(#[source] halite_mesh::MeshError),
    /// The files for minions cannot be served as configured.
    #[error("could not open the file server")]
    Files(#[source] halite_fileserver::OptionsError),
    /// A thread cannot be started.
    #[error("could not start the worker threads")]
    Threads(#[source] std::io::Error),
}
