//! Errors of binding sockets; each names the endpoint it is about.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::Endpoint;

/// The error of the socket library.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct SocketError(String);

impl From<io::Error> for SocketError {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<zmq::Error> for SocketError {
    fn from(error: zmq::Error) -> Self {
        Self(error.message().to_owned())
    }
}

impl From<tmq::TmqError> for SocketError {
    fn from(error: tmq::TmqError) -> Self {
        match error {
            tmq::TmqError::Zmq(error) => error.into(),
            other => Self(other.to_string()),
        }
    }
}

/// Why a socket could not be bound.
#[derive(Debug, Error)]
pub enum BindError {
    /// No endpoint is given.
    #[error("no endpoint to bind")]
    NoEndpoint,
    /// Another process serves there.
    #[error(
        "{endpoint} is already in use: another daemon runs there, or has not finished stopping"
    )]
    InUse {
        /// Where.
        endpoint: Endpoint,
    },
    /// No interface has this address.
    #[error("{endpoint} is not an address of this machine")]
    NotLocal {
        /// Where.
        endpoint: Endpoint,
    },
    /// The user may not bind there.
    #[error("no permission to bind {endpoint}")]
    Denied {
        /// Where.
        endpoint: Endpoint,
    },
    /// The path does not fit into a socket address.
    #[error("the path of {endpoint} is longer than {max} bytes")]
    PathTooLong {
        /// Where.
        endpoint: Endpoint,
        /// The longest possible path.
        max: usize,
    },
    /// The socket file could not be made.
    #[error("could not make the socket file {path}")]
    SocketFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Anything else.
    #[error("could not bind {endpoint}")]
    Other {
        /// Where.
        endpoint: Endpoint,
        /// Why.
        source: SocketError,
    },
}

impl BindError {
    pub(crate) fn new(endpoint: &Endpoint, error: tmq::TmqError) -> Self {
        let endpoint = endpoint.clone();
        match error {
            tmq::TmqError::Zmq(zmq::Error::EADDRINUSE) => Self::InUse { endpoint },
            tmq::TmqError::Zmq(zmq::Error::EADDRNOTAVAIL | zmq::Error::ENODEV) => {
                Self::NotLocal { endpoint }
            }
            tmq::TmqError::Zmq(zmq::Error::EACCES) => Self::Denied { endpoint },
            other => Self::Other {
                endpoint,
                source: other.into(),
            },
        }
    }

    pub(crate) fn from_io(endpoint: &Endpoint, error: &io::Error) -> Self {
        let endpoint = endpoint.clone();
        match error.kind() {
            io::ErrorKind::AddrInUse => Self::InUse { endpoint },
            io::ErrorKind::AddrNotAvailable => Self::NotLocal { endpoint },
            io::ErrorKind::PermissionDenied => Self::Denied { endpoint },
            _ => Self::Other {
                endpoint,
                source: SocketError(error.to_string()),
            },
        }
    }
}
