//! The entries of `master`: a host, with or without a port.

use std::fmt;
use std::net::Ipv6Addr;

use halite_proto::MasterUri;
use thiserror::Error;

/// Where a master is, as an administrator wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MasterAddress {
    /// The host or address, without brackets.
    pub host: String,
    /// The port, if one is given.
    pub port: Option<u16>,
}

/// Why an entry is no address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("master {entry:?}: {why}")]
pub struct AddressError {
    /// The entry.
    pub entry: String,
    /// What is wrong with it.
    pub why: String,
}

impl MasterAddress {
    /// Reads `host`, `host:port`, `[v6]`, `[v6]:port` or a bare IPv6 address.
    ///
    /// # Errors
    /// When it is none of these.
    pub fn parse(entry: &str) -> Result<Self, AddressError> {
        let error = |why: &str| AddressError {
            entry: entry.to_owned(),
            why: why.to_owned(),
        };
        let text = entry.trim();
        let (host, port) = if let Some(rest) = text.strip_prefix('[') {
            let (host, tail) = rest
                .split_once(']')
                .ok_or_else(|| error("the bracket is not closed"))?;
            if host.parse::<Ipv6Addr>().is_err() {
                return Err(error("what is in brackets is not an IPv6 address"));
            }
            match tail.strip_prefix(':') {
                Some(port) => (host, Some(port)),
                None if tail.is_empty() => (host, None),
                None => return Err(error("only a port may follow the bracket")),
            }
        } else {
            match text.split_once(':') {
                // More than one colon is an IPv6 address without a port.
                Some((host, port)) if !port.contains(':') => (host, Some(port)),
                _ => (text, None),
            }
        };
        let port = match port {
            None => None,
            Some(port) => match port.parse::<u16>() {
                Ok(port) if port != 0 => Some(port),
                _ => return Err(error("the port is not a number from 1 to 65535")),
            },
        };
        // The host is checked by the type that is made of it.
        const ANY_PORT: u16 = 1;
        MasterUri::new(host, ANY_PORT).map_err(|problem| error(problem.why))?;
        if host.contains(':') && host.parse::<Ipv6Addr>().is_err() {
            return Err(error("it is neither a host name nor an IPv6 address"));
        }
        Ok(Self {
            host: host.to_owned(),
            port,
        })
    }

    /// The master's request address, on `default_port` if none is given.
    ///
    /// # Errors
    /// When the default port is 0.
    pub fn uri(&self, default_port: u16) -> Result<MasterUri, AddressError> {
        let port = self.port.unwrap_or(default_port);
        MasterUri::new(self.host.as_str(), port).map_err(|error| AddressError {
            entry: self.to_string(),
            why: error.why.to_owned(),
        })
    }
}

impl fmt::Display for MasterAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.host.contains(':'), self.port) {
            (true, Some(port)) => write!(f, "[{}]:{port}", self.host),
            (false, Some(port)) => write!(f, "{}:{port}", self.host),
            (_, None) => f.write_str(&self.host),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        for (entry, host, port) in [
            ("salt", "salt", None),
            ("a.b.example.com", "a.b.example.com", None),
            ("10.0.0.1", "10.0.0.1", None),
            ("salt:1234", "salt", Some(1234)),
            ("1.2.3.4:1234", "1.2.3.4", Some(1234)),
            ("fe80::1", "fe80::1", None),
            ("[::1]", "::1", None),
            ("[::1]:1234", "::1", Some(1234)),
            ("::1:4506", "::1:4506", None),
        ] {
            let address = MasterAddress::parse(entry).unwrap();
            assert_eq!(
                (address.host.as_str(), address.port),
                (host, port),
                "{entry}"
            );
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for entry in [
            "",
            "salt:x",
            "salt:0",
            "salt:65536",
            "[::1]x",
            "[::1",
            "[salt]:1",
            "a b",
            "a/b",
            "1:2:x",
        ] {
            assert!(MasterAddress::parse(entry).is_err(), "{entry}");
        }
    }
}
