//! Where a socket is bound or connected to.
//!
//! Invariant: an endpoint that exists can be written in ZeroMQ's notation.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use halite_proto::MasterUri;
use thiserror::Error;

/// A `tcp://host:port` or `ipc:///path` address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// A TCP port; the host is a name, an address without brackets, or `*`
    /// for all addresses of the machine (to bind only).
    Tcp {
        /// The host.
        host: String,
        /// The port; 0 binds a free one.
        port: u16,
    },
    /// A unix stream socket.
    Ipc(PathBuf),
}

/// Why a text is not an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("invalid endpoint {text:?}: {why}")]
pub struct EndpointError {
    /// The text.
    pub text: String,
    /// The reason.
    pub why: &'static str,
}

impl Endpoint {
    /// A TCP endpoint from a host name or address (brackets are optional).
    pub fn tcp(host: &str, port: u16) -> Self {
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host);
        Self::Tcp {
            host: bare.to_owned(),
            port,
        }
    }

    /// A unix socket endpoint.
    pub fn ipc(path: impl Into<PathBuf>) -> Self {
        Self::Ipc(path.into())
    }

    /// Reads ZeroMQ's notation.
    ///
    /// # Errors
    /// When the text is not `tcp://host:port` or `ipc://path`.
    pub fn parse(text: &str) -> Result<Self, EndpointError> {
        let error = |why| EndpointError {
            text: text.to_owned(),
            why,
        };
        if let Some(path) = text.strip_prefix("ipc://") {
            return match path {
                "" => Err(error("the path is empty")),
                _ if path.contains('\0') => Err(error("the path contains a null byte")),
                _ => Ok(Self::Ipc(PathBuf::from(path))),
            };
        }
        let address = text
            .strip_prefix("tcp://")
            .ok_or_else(|| error("it starts with neither tcp:// nor ipc://"))?;
        let (host, port) = address
            .rsplit_once(':')
            .ok_or_else(|| error("it has no port"))?;
        let port = match port {
            "*" => 0,
            _ => port
                .parse()
                .map_err(|_| error("the port is not a number up to 65535"))?,
        };
        let bracketed = host.starts_with('[') && host.ends_with(']');
        if host.is_empty() || host == "[]" {
            Err(error("the host is empty"))
        } else if host.contains(':') && !bracketed {
            Err(error("an IPv6 address must be in brackets"))
        } else if host.contains(['\0', ';', '/', ' ']) {
            Err(error("the host contains an invalid character"))
        } else {
            Ok(Self::tcp(host, port))
        }
    }

    /// Whether the host is an IPv6 address.
    pub fn is_ipv6(&self) -> bool {
        matches!(self, Self::Tcp { host, .. } if host.contains(':'))
    }

    /// The path of a unix socket.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Ipc(path) => Some(path),
            Self::Tcp { .. } => None,
        }
    }

    /// The TCP port.
    pub fn port(&self) -> Option<u16> {
        match self {
            Self::Tcp { port, .. } => Some(*port),
            Self::Ipc(_) => None,
        }
    }

    /// Turns a host name into an address. ZeroMQ would look names up in its
    /// only I/O thread, where a dead name server stops every connection.
    pub(crate) async fn resolve(&self, prefer_ipv6: bool) -> io::Result<Self> {
        let Self::Tcp { host, port } = self else {
            return Ok(self.clone());
        };
        // A scope (`fe80::1%eth0`) parses for no `IpAddr`; ZeroMQ reads it.
        if host == "*" || host.contains('%') || host.parse::<IpAddr>().is_ok() {
            return Ok(self.clone());
        }
        let found: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), *port))
            .await?
            .collect();
        let best = found
            .iter()
            .find(|address| address.is_ipv6() == prefer_ipv6)
            .or_else(|| found.first())
            .ok_or_else(|| {
                io::Error::new(io::ErrorKind::NotFound, "the name resolves to no address")
            })?;
        Ok(Self::tcp(&best.ip().to_string(), *port))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "tcp://[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "tcp://{host}:{port}"),
            Self::Ipc(path) => write!(f, "ipc://{}", path.display()),
        }
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        Self::parse(text)
    }
}

impl From<&MasterUri> for Endpoint {
    fn from(uri: &MasterUri) -> Self {
        Self::tcp(uri.host(), uri.port())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_written_as_they_are_read() {
        for text in [
            "tcp://127.0.0.1:4506",
            "tcp://*:4505",
            "tcp://[::1]:4506",
            "tcp://[::]:4506",
            "tcp://salt.example.com:4506",
            "ipc:///var/run/salt/master/publish_pull.ipc",
        ] {
            assert_eq!(Endpoint::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(
            Endpoint::parse("tcp://127.0.0.1:*").unwrap().port(),
            Some(0)
        );
    }

    #[test]
    fn what_is_no_endpoint_is_refused() {
        for text in [
            "",
            "tcp://",
            "tcp://host",
            "tcp://:1",
            "tcp://[]:1",
            "tcp://::1:4506",
            "tcp://h:70000",
            "tcp://a;b:1",
            "ipc://",
            "udp://h:1",
            "/var/run/x",
        ] {
            assert!(Endpoint::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_master_uri_is_an_endpoint() {
        let uri = MasterUri::new("::1", 4506).unwrap();
        assert_eq!(Endpoint::from(&uri).to_string(), "tcp://[::1]:4506");
    }

    #[tokio::test]
    async fn a_name_becomes_an_address() {
        let endpoint = Endpoint::tcp("localhost", 1).resolve(false).await.unwrap();
        assert_eq!(endpoint.to_string(), "tcp://127.0.0.1:1");
        let numeric = Endpoint::tcp("::1", 1);
        assert_eq!(numeric.resolve(false).await.unwrap(), numeric);
    }
}
