//! Redis and Valkey: one server, the one that Sentinels name, or a cluster.

mod answers;
mod cluster;
mod sentinel;
mod single;
mod slots;

use std::sync::Arc;

use redis::aio::ConnectionLike;
use redis::{ErrorKind, RedisError};

use self::answers::{TOO_LONG, UNSERVED};
use self::cluster::Cluster;
use self::single::Single;
use crate::address::Address;
use crate::error::Failure;
use crate::members::Members;
use crate::open::OpenServers;
use crate::server::{Driver, Server};

/// Speaks to a Redis.
#[derive(Debug, Default)]
pub struct RedisDriver {
    members: Members,
}

/// A Redis.
pub type RedisServer = Server<RedisDriver>;

/// A connection to a Redis.
pub struct RedisConnection(Link);

/// The servers of a Redis, for what is asked of all keys.
pub struct ReachedServers {
    /// A connection to each.
    pub each: Vec<RedisConnection>,
    /// Whether they have all keys: none is missing.
    pub are_all: bool,
}

enum Link {
    Single(Single),
    Cluster(Box<Cluster>),
}

/// The Redis of an address.
pub fn redis_server(address: &Address) -> Arc<RedisServer> {
    static OPEN: OpenServers<RedisDriver> = OpenServers::new();
    OPEN.open(address, RedisDriver::default)
}

impl Driver for RedisDriver {
    type Connection = RedisConnection;

    async fn connect(&self, address: &Address) -> Result<RedisConnection, Failure> {
        if address.cluster.is_some() {
            let cluster = Cluster::connect(address, &self.members).await?;
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
    /// A connection to each server that has keys now, for what is asked of all keys.
    ///
    /// # Errors
    /// When nobody says who has which keys, or one of these cannot be connected to and
    /// all are needed.
    pub async fn servers(&mut self) -> Result<ReachedServers, Failure> {
        let (each, are_all) = match &mut self.0 {
            Link::Single(one) => (vec![one.clone()], true),
            Link::Cluster(all) => all.servers().await?,
        };
        let each = each.into_iter().map(|one| Self(Link::Single(one)));
        let each = each.collect();
        Ok(ReachedServers { each, are_all })
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
            _ if error.code() == Some(UNSERVED) => {
                Self::Unserved(error.detail().unwrap_or_default().to_owned())
            }
            _ if error.code() == Some(TOO_LONG) => Self::answer_too_long(),
            _ if says_one_of(&error, &TOO_EARLY) => Self::broken(error),
            _ => Self::Refused(error.to_string()),
        }
    }
}

/// Whether a server says one of these, to a transaction or to one of several commands too.
fn says_one_of(error: &RedisError, codes: &[&str]) -> bool {
    let said = error.clone().into_server_errors().unwrap_or_default();
    said.iter().any(|(_, error)| codes.contains(&error.code()))
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
        let gone = Failure::from(answers::unserved("its slot moves"));
        assert!(matches!(&gone, Failure::Unserved(why) if why == "its slot moves"));
        for refusal in ["OOM", "READONLY", "NOPERM"] {
            assert!(matches!(said(refusal), Failure::Refused(_)), "{refusal}");
        }
    }
}
