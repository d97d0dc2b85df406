//! What can go wrong with a link.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::path::PathBuf;

use halite_crypto::KeyError;
use halite_crypto::files::FileError;
use thiserror::Error;

use crate::peer::PeerId;

/// Why links cannot be had, or one has ended.
#[derive(Debug, Error)]
pub enum MeshError {
    /// The address for peers cannot be listened at.
    #[error("could not listen for peers at {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// TLS cannot be set up with the master's own key.
    #[error("could not set up TLS with the master's key")]
    Tls(#[source] io::Error),
    /// The master's key cannot be used.
    #[error("could not use the master's key")]
    Key(#[from] KeyError),
    /// The directory of the peers' keys cannot be read.
    #[error("could not read the keys of the peers")]
    Pins(#[from] FileError),
    /// An entry of the list of peers is no address.
    #[error("{text:?} is not the address of a peer")]
    Address {
        /// The entry.
        text: String,
    },
    /// The system says at once or soon that no connection can be made.
    #[error("could not connect to the peer")]
    Connect(#[source] io::Error),
    /// The connection was closed, or has failed.
    #[error("the connection to the peer has ended")]
    Broken(#[from] io::Error),
    /// The peer took too long.
    #[error("the peer is silent")]
    Silent,
    /// The peer shows a key that is in no file.
    #[error("its key is not one of those in {}", dir.display())]
    Unpinned {
        /// The directory of the files.
        dir: PathBuf,
    },
    /// The other end lets connections in and says nothing in TLS.
    #[error(
        "it accepts connections and sends nothing: it hangs, is cut off, or is a master of Salt, \
         which cannot be a peer of this one"
    )]
    NoAnswer,
    /// A master of Salt wants to be a peer.
    #[error("it is a master of Salt: these do not prove who they are, and cannot be peers")]
    OfSalt,
    /// The peer shows our own key: the address is our own, or a copy of us runs.
    #[error("it shows the key of this master")]
    Own,
    /// The peer belongs to another cluster.
    #[error("{peer} belongs to the cluster {cluster:?}")]
    OtherCluster {
        /// The peer.
        peer: PeerId,
        /// Its cluster.
        cluster: String,
    },
    /// The bus is not there, or did not do what it was asked for.
    #[error("the bus did not carry out a request")]
    Bus(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The connection to the bus is down.
    #[error("the bus is away")]
    BusAway,
    /// The bus takes too little at once.
    #[error(
        "the bus takes messages of at most {bytes} bytes, and masters need {}: raise its \
         `max_payload`",
        crate::limits::BUS_PAYLOAD_BYTES_MIN
    )]
    BusPayload {
        /// Its `max_payload`.
        bytes: usize,
    },
    /// A file for the bus cannot be used.
    #[error("{} cannot be used for the bus", path.display())]
    BusFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: io::Error,
    },
    /// The peer sent something that is no frame.
    #[error("the peer sent {what}")]
    Frame {
        /// What it is.
        what: &'static str,
    },
}

impl MeshError {
    /// Whether the other end itself says that no master listens there, or the
    /// network that the host is not there. Silence, a name that is not found and
    /// a network of our own that is down say nothing about the peer.
    pub fn is_nobody_there(&self) -> bool {
        let Self::Connect(error) = self else {
            return false;
        };
        matches!(
            error.kind(),
            ErrorKind::ConnectionRefused | ErrorKind::HostUnreachable
        )
    }
}
