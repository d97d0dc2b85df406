//! Why the API cannot serve at all.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

/// Why the API cannot serve.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The address cannot be listened at.
    #[error("could not listen at {address}")]
    Listen {
        /// `host` and `port`.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// TLS cannot be offered.
    #[error("could not offer TLS")]
    Tls(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The configuration has a mistake.
    #[error("rest_cherrypy: {0}")]
    Settings(String),
    /// The way to the master cannot be found.
    #[error("could not find the master")]
    Client(#[from] halite_client::SettingsError),
}
