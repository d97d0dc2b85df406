//! Parses `cluster_bus`: the address of the bus between the masters of a cluster.
//!
//! Pure. Errors never show the text, because it may hold a password.

use std::fmt;

use thiserror::Error;

/// The port of a NATS server that is not told another one.
const DEFAULT_PORT: u16 = 4222;

/// Servers at most.
const SERVERS_MAX: usize = 32;

/// Where the bus is: `nats://[user:password@]host[:port]`, several with commas
/// between.
#[derive(Clone, PartialEq, Eq)]
pub struct ClusterBus {
    /// The servers, each a name or address and a port.
    pub servers: Vec<(String, u16)>,
    /// Whether nothing but TLS will do (`tls://`).
    pub tls: bool,
    /// The user and the password.
    pub login: Option<(String, String)>,
}

/// Why a text says nothing of a bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ClusterBusError {
    /// It is not of the kind that is spoken.
    #[error("it must begin with nats:// or tls://; no other bus is supported")]
    Scheme,
    /// Some servers with and some without TLS.
    #[error("either all of its servers or none must begin with tls://")]
    Mixed,
    /// A server has no name, or an invalid port.
    #[error("each of its servers must be HOST or HOST:PORT, with [ ] around an IPv6 address")]
    Server,
    /// A user without a password.
    #[error("write USER:PASSWORD before the @, and encode : / @ and , in them with %")]
    Login,
    /// Different logins.
    #[error("all of its servers must have the same user")]
    Logins,
    /// More servers than anybody has.
    #[error("it may have at most {SERVERS_MAX} servers")]
    TooMany,
}

impl fmt::Debug for ClusterBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterBus")
            .field("servers", &self.servers)
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}

impl ClusterBus {
    /// Reads the option.
    ///
    /// # Errors
    /// When it says nothing of a bus.
    pub fn parse(text: &str) -> Result<Self, ClusterBusError> {
        let mut bus: Option<Self> = None;
        for part in text.split(',') {
            let (tls, rest) = match part.trim().split_once("://") {
                Some(("nats", rest)) => (Some(false), rest),
                Some(("tls", rest)) => (Some(true), rest),
                Some(_) => return Err(ClusterBusError::Scheme),
                None => (None, part.trim()),
            };
            // One without is as the first.
            let tls = tls.or_else(|| bus.as_ref().map(|bus| bus.tls));
            let tls = tls.ok_or(ClusterBusError::Scheme)?;
            let (login, place) = match rest.rsplit_once('@') {
                Some((login, place)) => (Some(read_login(login)?), place),
                None => (None, rest),
            };
            let server = read_server(place.strip_suffix('/').unwrap_or(place))?;
            let bus = bus.get_or_insert(Self {
                servers: Vec::new(),
                tls,
                login: None,
            });
            if bus.tls != tls {
                return Err(ClusterBusError::Mixed);
            }
            match (&bus.login, login) {
                (Some(known), Some(login)) if *known != login => {
                    return Err(ClusterBusError::Logins);
                }
                (None, login @ Some(_)) => bus.login = login,
                _ => {}
            }
            bus.servers.push(server);
            if bus.servers.len() > SERVERS_MAX {
                return Err(ClusterBusError::TooMany);
            }
        }
        bus.ok_or(ClusterBusError::Scheme)
    }
}

fn read_server(text: &str) -> Result<(String, u16), ClusterBusError> {
    let bad = ClusterBusError::Server;
    let port_of = |port: &str| port.parse::<u16>().ok().filter(|port| *port > 0);
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']').ok_or(bad)?;
            (
                host,
                rest.strip_prefix(':')
                    .or_else(|| (!rest.is_empty()).then_some("")),
            )
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = match port {
        Some(port) => port_of(port).ok_or(bad)?,
        None => DEFAULT_PORT,
    };
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
    let is_sound = !host.is_empty() && host.len() <= 255 && host.chars().all(is_host);
    is_sound.then(|| (host.to_owned(), port)).ok_or(bad)
}

fn read_login(text: &str) -> Result<(String, String), ClusterBusError> {
    let bad = ClusterBusError::Login;
    let (user, password) = text.split_once(':').ok_or(bad)?;
    let [user, password] = [user, password].map(|of| unescape(of).filter(|of| !of.is_empty()));
    Ok((user.ok_or(bad)?, password.ok_or(bad)?))
}

/// A text in which `%` and two digits stand for a byte.
fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = match first {
            b'%' => {
                let (digits, after) = after.split_first_chunk::<2>()?;
                let digits = std::str::from_utf8(digits).ok()?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                after
            }
            b':' | b'/' | b'@' => return None,
            byte => {
                bytes.push(*byte);
                after
            }
        };
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_have_one_login_and_one_kind() {
        let bus = ClusterBus::parse("tls://halite:p%40s@n1, n2:4333,tls://[fe80::1]:5").unwrap();
        let servers = [("n1", 4222), ("n2", 4333), ("fe80::1", 5)];
        assert_eq!(
            bus.servers,
            servers.map(|(host, port)| (host.to_owned(), port))
        );
        assert_eq!(bus.login, Some(("halite".to_owned(), "p@s".to_owned())));
        assert!(bus.tls && !format!("{bus:?}").contains("p@s"));
        let plain = ClusterBus::parse("nats://10.0.0.1/").unwrap();
        assert_eq!((plain.tls, plain.login), (false, None));
        assert_eq!(plain.servers, [("10.0.0.1".to_owned(), 4222)]);
    }

    #[test]
    fn what_is_no_bus_is_refused_without_its_password() {
        for (text, why) in [
            ("", ClusterBusError::Scheme),
            ("n1:4222", ClusterBusError::Scheme),
            ("redis://n1", ClusterBusError::Scheme),
            ("nats://a,tls://b", ClusterBusError::Mixed),
            ("nats://", ClusterBusError::Server),
            ("nats://a:0", ClusterBusError::Server),
            ("nats://a:x", ClusterBusError::Server),
            ("nats://a b", ClusterBusError::Server),
            ("nats://[::1", ClusterBusError::Server),
            ("nats://[::1]x", ClusterBusError::Server),
            ("nats://token@a", ClusterBusError::Login),
            ("nats://:p@a", ClusterBusError::Login),
            ("nats://u:p/q@a", ClusterBusError::Login),
            ("nats://u:%zz@a", ClusterBusError::Login),
            ("nats://u:p@a,nats://u:q@b", ClusterBusError::Logins),
        ] {
            assert_eq!(ClusterBus::parse(text), Err(why), "{text}");
        }
        let many = format!("nats://a{}", ",b".repeat(SERVERS_MAX));
        assert_eq!(ClusterBus::parse(&many), Err(ClusterBusError::TooMany));
    }
}
