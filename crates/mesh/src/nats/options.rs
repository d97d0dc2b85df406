//! The address of the bus, and the master's credentials there.

use std::path::PathBuf;

use halite_crypto::Secret;

use crate::peer::PeerId;

/// A server of the bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusServer {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
}

/// How a master signs in at the bus.
#[derive(Clone)]
pub enum BusCredentials {
    /// As anybody.
    None,
    /// By a name and a password.
    Password(String, Secret<String>),
    /// By a file with a JWT and the seed of its key, as `nsc` writes it.
    File(PathBuf),
}

/// What a master needs for a bus.
#[derive(Clone)]
pub struct BusOptions {
    /// The master itself.
    pub own: PeerId,
    /// The servers; one that answers is used.
    pub servers: Vec<BusServer>,
    /// Whether nothing but TLS will do.
    pub tls: bool,
    /// The certificates of authorities that the servers' certificates must come
    /// from; the system's if there are none.
    pub ca: Option<PathBuf>,
    /// A certificate and its key to show to the servers.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// How it signs in.
    pub credentials: BusCredentials,
}

impl BusServer {
    /// `host:port`, and nothing secret.
    pub fn shown(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}
