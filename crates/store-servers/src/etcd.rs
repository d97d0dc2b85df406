//! etcd, over HTTP: the JSON of its gateway (version 3 of its interface), and the
//! older interface (version 2), in which Salt's own cache `etcd` keeps things and
//! whose data is invisible to version 3.
//!
//! Its members are tried in turn when a connection is made, each until it has
//! answered a question that the whole cluster must agree on.

mod v2;
mod v3;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::time::timeout;

use self::wire::HttpConnection;
use crate::address::Address;
use crate::error::Failure;
use crate::limits::MEMBER_TIME;
use crate::open::OpenServers;
use crate::server::{Driver, Server};
pub use v2::{Node, Refusal, V2Answer};
pub use v3::Entry;

/// What the keys of Salt's cache begin with.
const PREFIX: &str = "salt_cache";

/// Speaks to an etcd.
#[derive(Debug)]
pub struct EtcdDriver {
    is_v2: bool,
    /// Which member is tried first: the last one that answered, or the one after
    /// the last one that did not.
    first: AtomicUsize,
}

impl EtcdDriver {
    const fn new(is_v2: bool) -> Self {
        Self {
            is_v2,
            first: AtomicUsize::new(0),
        }
    }
}

/// An etcd.
pub type EtcdServer = Server<EtcdDriver>;

/// A connection to a member of an etcd.
pub struct EtcdConnection {
    http: HttpConnection,
    login: Option<Login>,
    /// What proves who we are to version 3.
    token: Option<String>,
}

struct Login {
    user: String,
    password: String,
}

/// The etcd of an address, spoken to in version 3.
pub fn etcd_server(address: &Address) -> Arc<EtcdServer> {
    static OPEN: OpenServers<EtcdDriver> = OpenServers::new();
    OPEN.open(address, || EtcdDriver::new(false))
}

/// The etcd of an address, spoken to in version 2.
pub fn etcd_v2_server(address: &Address) -> Arc<EtcdServer> {
    static OPEN: OpenServers<EtcdDriver> = OpenServers::new();
    OPEN.open(address, || EtcdDriver::new(true))
}

/// What all keys at an address begin with: a slash, and no slash at the end.
pub fn prefix_of(address: &Address) -> String {
    let prefix = address.database.as_deref().unwrap_or(PREFIX);
    match prefix.trim_matches('/') {
        "" => String::new(),
        prefix => format!("/{prefix}"),
    }
}

impl Driver for EtcdDriver {
    type Connection = EtcdConnection;

    async fn connect(&self, address: &Address) -> Result<EtcdConnection, Failure> {
        let named = [(address.host.clone(), address.port)];
        let members: Vec<_> = named.iter().chain(&address.members).collect();
        let limit = member_limit(address.connect_limit, members.len());
        let first = self.first.load(Ordering::Relaxed);
        let mut failure = None;
        for at in (first..).take(members.len()).map(|at| at % members.len()) {
            let Some((host, port)) = members.get(at) else {
                break;
            };
            let mut member = address.clone();
            (member.host, member.port) = (host.clone(), *port);
            // The time for all of them may be over while this one is tried.
            self.first
                .store((at + 1) % members.len(), Ordering::Relaxed);
            let connected = timeout(limit, self.connect_to(&member)).await;
            match connected.unwrap_or(Err(Failure::Unreached { limit })) {
                Ok(connection) => {
                    self.first.store(at, Ordering::Relaxed);
                    return Ok(connection);
                }
                Err(why) => failure = Some(why),
            }
        }
        Err(failure.unwrap_or_else(|| Failure::Refused("no member is named".to_owned())))
    }

    fn is_open(&self, connection: &EtcdConnection) -> bool {
        connection.http.is_open()
    }
}

impl EtcdDriver {
    async fn connect_to(&self, member: &Address) -> Result<EtcdConnection, Failure> {
        let login = member.user.as_ref().map(|user| Login {
            user: user.clone(),
            password: member
                .password
                .as_ref()
                .map_or_else(String::new, |password| password.expose().clone()),
        });
        let mut connection = EtcdConnection {
            http: HttpConnection::open(member).await?,
            login,
            token: None,
        };
        let place = format!("{}/", prefix_of(member));
        match self.is_v2 {
            true => connection.check_v2(&place).await?,
            false => connection.check(&place).await?,
        }
        Ok(connection)
    }
}

/// How long one of so many members may take.
fn member_limit(all: Duration, members: usize) -> Duration {
    let members = u32::try_from(members).unwrap_or(u32::MAX).max(1);
    // One that is alone may take as long as connecting may.
    (all / members).max(MEMBER_TIME.min(all))
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}

fn decode(text: &str) -> Result<Vec<u8>, Failure> {
    STANDARD
        .decode(text)
        .map_err(|_| Failure::Answer("a value is not base64".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_share_the_time_for_connecting() {
        let s = Duration::from_secs;
        assert_eq!(member_limit(s(5), 1), s(5));
        assert_eq!(member_limit(s(6), 3), s(2));
        assert_eq!(member_limit(s(5), 16), s(1));
    }

    /// One that does not answer is tried once, not each time.
    #[test]
    fn the_member_that_answered_is_tried_first() {
        use std::io::{Read, Write};
        use std::net::TcpListener;

        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let talks = TcpListener::bind("127.0.0.1:0").unwrap();
        let (one, two) = (silent.local_addr().unwrap(), talks.local_addr().unwrap());
        std::thread::spawn(move || {
            for stream in talks.incoming() {
                let mut stream = stream.unwrap();
                let mut asked = [0; 4096];
                if stream.read(&mut asked).is_ok_and(|read| read > 0) {
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
                    stream.write_all(answer).unwrap();
                }
            }
        });
        let url = format!("etcd://{one}/fleet?members={two}");
        let mut address = Address::parse(&url).unwrap();
        address.connect_limit = Duration::from_secs(2);
        let driver = EtcdDriver::new(false);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        for _ in 0..2 {
            let local = tokio::task::LocalSet::new();
            let connected = local.block_on(&runtime, driver.connect(&address));
            assert!(connected.is_ok());
            assert_eq!(driver.first.load(Ordering::Relaxed), 1);
        }
        drop(silent);
    }

    #[test]
    fn keys_begin_as_they_do_in_salt() {
        let prefix = |url: &str| prefix_of(&Address::parse(url).unwrap());
        assert_eq!(prefix("etcd://h"), "/salt_cache");
        assert_eq!(prefix("etcd://h/fleet/one/"), "/fleet/one");
    }
}
