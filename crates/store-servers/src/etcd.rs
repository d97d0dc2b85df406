//! etcd, over HTTP: the JSON of its gateway (version 3 of its interface), and the
//! older interface (version 2), which Salt's own cache `etcd` uses and whose data
//! is invisible to version 3.
//!
//! To connect, its members are tried in turn, each until it has answered a request
//! that the whole cluster must agree on.

mod v2;
mod v3;
mod wire;

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use self::wire::HttpConnection;
use crate::address::Address;
use crate::error::Failure;
use crate::members::Members;
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
    members: Members,
}

impl EtcdDriver {
    const fn new(is_v2: bool) -> Self {
        Self {
            is_v2,
            members: Members::new(),
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
        let connect = async |member: Address| self.connect_to(&member).await;
        self.members.ask(address, connect).await
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
    fn keys_begin_as_they_do_in_salt() {
        let prefix = |url: &str| prefix_of(&Address::parse(url).unwrap());
        assert_eq!(prefix("etcd://h"), "/salt_cache");
        assert_eq!(prefix("etcd://h/fleet/one/"), "/fleet/one");
    }
}
