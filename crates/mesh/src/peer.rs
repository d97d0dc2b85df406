//! The name and the address of a peer.

use std::fmt;

pub use halite_cluster::PeerId;

use crate::error::MeshError;

/// One life of a master: random bits that it draws at its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Incarnation(pub u64);

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Where a peer listens: an entry of `cluster_peers`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PeerAddress {
    host: String,
    port: u16,
}

impl PeerAddress {
    /// Reads `host`, `host:port`, `[v6]:port` or a bare IPv6 address.
    ///
    /// # Errors
    /// When it is none of these.
    pub fn parse(text: &str, default_port: u16) -> Result<Self, MeshError> {
        let bad = || MeshError::Address {
            text: text.chars().take(80).collect(),
        };
        let port_of = |port: &str| port.parse::<u16>().ok().filter(|port| *port > 0);
        let (host, port) = if let Some(rest) = text.strip_prefix('[') {
            let (host, rest) = rest.split_once(']').ok_or_else(bad)?;
            match rest.strip_prefix(':') {
                Some(port) => (host, port_of(port).ok_or_else(bad)?),
                None if rest.is_empty() => (host, default_port),
                None => return Err(bad()),
            }
        } else {
            match text.split_once(':') {
                Some((_, rest)) if rest.contains(':') => (text, default_port),
                Some((host, port)) => (host, port_of(port).ok_or_else(bad)?),
                None => (text, default_port),
            }
        };
        let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
        if host.is_empty() || host.len() > 255 || !host.chars().all(is_host) {
            return Err(bad());
        }
        Ok(Self {
            host: host.to_owned(),
            port,
        })
    }

    /// The name or address.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Display for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// How a peer is reached.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Way {
    /// At this address.
    Direct(PeerAddress),
    /// This peer, through the bus.
    Bus(PeerId),
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct(address) => address.fmt(f),
            Self::Bus(_) => f.write_str("the bus"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_host_with_or_without_a_port() {
        for (text, shown) in [
            ("10.27.12.13", "10.27.12.13:4520"),
            ("m2.example", "m2.example:4520"),
            ("m2:77", "m2:77"),
            ("fe80::1", "[fe80::1]:4520"),
            ("[fe80::1]", "[fe80::1]:4520"),
            ("[fe80::1]:9", "[fe80::1]:9"),
        ] {
            assert_eq!(PeerAddress::parse(text, 4520).unwrap().to_string(), shown);
        }
        for text in [
            "", ":5", "a:0", "a:x", "[::1", "[::1]x", "a b", "a/b", "a:70000",
        ] {
            assert!(PeerAddress::parse(text, 4520).is_err(), "{text}");
        }
    }
}
