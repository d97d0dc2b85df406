//! Redis and Valkey: one server, the one that Sentinels name, or a cluster.

mod cluster;
mod sentinel;
mod single;
mod slots;

use std::sync::Arc;

use redis::aio::ConnectionLike;
use redis::{ErrorKind, RedisError};

use self::cluster::Cluster;
use self::single::Single;
use crate::address::Address;
use crate::error::Failure;
use crate::open::OpenServers;
use crate::server::{Driver, Server};

/// Speaks to a Redis.
#[derive(Debug)]
pub struct RedisDriver;

/// A Redis.
pub type RedisServer = Server<RedisDriver>;

/// A connection to a Redis.
pub struct RedisConnection(Link);

enum Link {
    Single(Single),
    Cluster(Box<Cluster>),
}

/// The Redis of an address.
pub fn redis_server(address: &Address) -> Arc<RedisServer> {
    static OPEN: OpenServers<RedisDriver> = OpenServers::new();
    OPEN.open(address, || RedisDriver)
}

impl Driver for RedisDriver {
    type Connection = RedisConnection;

    async fn connect(&self, address: &Address) -> Result<RedisConnection, Failure> {
        if address.cluster.is_some() {
            let cluster = Cluster::connect(address).await?;
            return Ok(RedisConnection(Link::Cluster(Box::new(cluster))));
        }
        let connected = match &address.sentinel {
            Some(name) => sentinel::connect_to_main(address, name).await,
            None => Single::connect(address).await,
        };
        Ok(RedisConnection(Link::Single(connected?)))
    }

    fn is_open(&self, connection: &RedisConnection) -> bool {
        match &connection.0 {
            Link::Single(one) => one.is_open(),
            Link::Cluster(all) => all.is_open(),
        }
    }
}

impl RedisConnection {
    /// A connection to each server that has keys, for what is asked of all keys.
    pub fn servers(&self) -> Vec<Self> {
        let servers = match &self.0 {
            Link::Single(one) => vec![one.clone()],
            Link::Cluster(all) => all.servers(),
        };
        let servers = servers.into_iter().map(Link::Single);
        servers.map(Self).collect()
    }

    fn link(&mut self) -> &mut dyn ConnectionLike {
        match &mut self.0 {
            Link::Single(one) => one,
            Link::Cluster(all) => &mut **all,
        }
    }
}

impl ConnectionLike for RedisConnection {
    fn req_packed_command<'a>(
        &'a mut self,
        command: &'a redis::Cmd,
    ) -> redis::RedisFuture<'a, redis::Value> {
        self.link().req_packed_command(command)
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        commands: &'a redis::Pipeline,
        offset: usize,
        count: usize,
    ) -> redis::RedisFuture<'a, Vec<redis::Value>> {
        self.link().req_packed_commands(commands, offset, count)
    }

    fn get_db(&self) -> i64 {
        match &self.0 {
            Link::Single(one) => one.get_db(),
            Link::Cluster(all) => all.get_db(),
        }
    }
}

/// What a server says to whatever it is asked: it has just been started, follows a
/// server that is gone, or belongs to a cluster that is not whole.
const TOO_EARLY: [&str; 6] = [
    "LOADING",
    "MASTERDOWN",
    "CLUSTERDOWN",
    "TRYAGAIN",
    "MOVED",
    "ASK",
];

impl From<RedisError> for Failure {
    fn from(error: RedisError) -> Self {
        match error.kind() {
            ErrorKind::Io => Self::broken(error),
            ErrorKind::Parse | ErrorKind::UnexpectedReturnType => Self::Answer(error.to_string()),
            _ if error.is_io_error() || error.is_connection_dropped() => Self::broken(error),
            _ if error.code().is_some_and(|code| TOO_EARLY.contains(&code)) => Self::broken(error),
            _ => Self::Refused(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use redis::make_extension_error;

    use super::*;

    #[test]
    fn a_server_that_is_just_starting_refuses_nothing() {
        let said = |code: &str| Failure::from(make_extension_error(code.to_owned(), None));
        for early in ["LOADING", "MASTERDOWN", "CLUSTERDOWN"] {
            assert!(matches!(said(early), Failure::Broken(_)), "{early}");
        }
        for refusal in ["OOM", "READONLY", "NOPERM"] {
            assert!(matches!(said(refusal), Failure::Refused(_)), "{refusal}");
        }
    }
}
