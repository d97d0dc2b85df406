//! Redis and Valkey.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{AsyncConnectionConfig, ErrorKind, RedisConnectionInfo, RedisError};

use tokio::time::timeout;

use crate::address::Address;
use crate::error::Failure;
use crate::limits::SENTINEL_TIME;
use crate::open::OpenServers;
use crate::server::{Driver, Server};
use crate::{io, tls};

/// Speaks to a Redis.
#[derive(Debug)]
pub struct RedisDriver;

/// A Redis.
pub type RedisServer = Server<RedisDriver>;

/// A connection to a Redis.
#[derive(Clone)]
pub struct RedisConnection {
    commands: MultiplexedConnection,
    is_closed: Arc<AtomicBool>,
}

/// The Redis of an address.
pub fn redis_server(address: &Address) -> Arc<RedisServer> {
    static OPEN: OpenServers<RedisDriver> = OpenServers::new();
    OPEN.open(address, || RedisDriver)
}

impl Driver for RedisDriver {
    type Connection = RedisConnection;

    async fn connect(&self, address: &Address) -> Result<RedisConnection, Failure> {
        match &address.sentinel {
            Some(name) => connect_to_main(address, name).await,
            None => connect(address).await,
        }
    }

    fn is_open(&self, connection: &RedisConnection) -> bool {
        !connection.is_closed.load(Ordering::Relaxed)
    }
}

async fn connect(address: &Address) -> Result<RedisConnection, Failure> {
    let stream = tls::connect(address).await?;
    // The time limit is the operation's.
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(None)
        .set_response_timeout(None);
    let user = sign_in(address)?;
    let opened = MultiplexedConnection::new_with_config(&user, stream, config);
    let (commands, driven) = opened.await?;
    let is_closed = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_closed);
    io::spawn(async move {
        driven.await;
        seen.store(true, Ordering::Relaxed);
    });
    let mut connection = RedisConnection {
        commands,
        is_closed,
    };
    // One that still reads its data answers to nothing else.
    let _: String = redis::cmd("PING").query_async(&mut connection).await?;
    Ok(connection)
}

/// Asks the Sentinels which server is the one that takes writes. Users and passwords
/// are the server's; the Sentinels are asked without.
async fn connect_to_main(address: &Address, name: &str) -> Result<RedisConnection, Failure> {
    let first = (address.host.clone(), address.port);
    let mut failure = None;
    for (host, port) in [first].iter().chain(&address.sentinels) {
        let asked = timeout(SENTINEL_TIME, main_of(address, host, *port, name)).await;
        let limit = SENTINEL_TIME;
        match asked.unwrap_or(Err(Failure::Unreached { limit })) {
            Ok((host, port)) => return connect_as_main(address, host, port).await,
            Err(why) => failure = Some(why),
        }
    }
    Err(failure.unwrap_or_else(|| Failure::Refused("no Sentinel is named".to_owned())))
}

/// Where a Sentinel says that the server is.
async fn main_of(
    address: &Address,
    host: &str,
    port: u16,
    name: &str,
) -> Result<(String, u16), Failure> {
    let mut sentinel = Address::new(address.kind, host);
    sentinel.port = port;
    sentinel.tls.clone_from(&address.tls);
    let mut sentinel = connect(&sentinel).await?;
    let mut ask = redis::cmd("SENTINEL");
    ask.arg("get-master-addr-by-name").arg(name);
    let found: Option<(String, u16)> = ask.query_async(&mut sentinel).await?;
    found.ok_or_else(|| Failure::Refused(format!("the Sentinels know no {name}")))
}

/// Connects, and makes sure that it still takes writes: a Sentinel may not have
/// noticed.
async fn connect_as_main(
    address: &Address,
    host: String,
    port: u16,
) -> Result<RedisConnection, Failure> {
    let mut main = address.clone();
    (main.host, main.port) = (host, port);
    let mut connection = connect(&main).await?;
    let role: Vec<redis::Value> = redis::cmd("ROLE").query_async(&mut connection).await?;
    match role.first() {
        Some(redis::Value::BulkString(role)) if role == b"master" => Ok(connection),
        _ => Err(Failure::broken(format!("{main} takes no writes"))),
    }
}

fn sign_in(address: &Address) -> Result<RedisConnectionInfo, Failure> {
    let mut info = RedisConnectionInfo::default().set_skip_set_lib_name();
    if let Some(user) = &address.user {
        info = info.set_username(user);
    }
    if let Some(password) = &address.password {
        info = info.set_password(password.expose());
    }
    if let Some(database) = &address.database {
        let number = database.parse();
        let number = number
            .map_err(|_| Failure::Refused(format!("{database:?} is no number of a database")))?;
        info = info.set_db(number);
    }
    Ok(info)
}

impl ConnectionLike for RedisConnection {
    fn req_packed_command<'a>(
        &'a mut self,
        command: &'a redis::Cmd,
    ) -> redis::RedisFuture<'a, redis::Value> {
        let done = self.commands.req_packed_command(command);
        watched(&self.is_closed, done)
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        commands: &'a redis::Pipeline,
        offset: usize,
        count: usize,
    ) -> redis::RedisFuture<'a, Vec<redis::Value>> {
        let done = self.commands.req_packed_commands(commands, offset, count);
        watched(&self.is_closed, done)
    }

    fn get_db(&self) -> i64 {
        self.commands.get_db()
    }
}

/// A server that does not take writes any more may not be the right one: its
/// connection is not used again.
fn watched<'a, T: 'a>(
    is_closed: &'a AtomicBool,
    done: redis::RedisFuture<'a, T>,
) -> redis::RedisFuture<'a, T> {
    Box::pin(async move {
        let done = done.await;
        if done
            .as_ref()
            .is_err_and(|error| error.code() == Some("READONLY"))
        {
            is_closed.store(true, Ordering::Relaxed);
        }
        done
    })
}

impl From<RedisError> for Failure {
    fn from(error: RedisError) -> Self {
        match error.kind() {
            ErrorKind::Io => Self::broken(error),
            ErrorKind::Parse | ErrorKind::UnexpectedReturnType => Self::Answer(error.to_string()),
            _ if error.is_io_error() || error.is_connection_dropped() => Self::broken(error),
            // It has just been started, or follows a server that is gone: whatever is
            // asked of it, and not this alone, is too early.
            _ if matches!(error.code(), Some("LOADING" | "MASTERDOWN")) => Self::broken(error),
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
        for early in ["LOADING", "MASTERDOWN"] {
            assert!(matches!(said(early), Failure::Broken(_)), "{early}");
        }
        for refusal in ["OOM", "READONLY", "NOPERM"] {
            assert!(matches!(said(refusal), Failure::Refused(_)), "{refusal}");
        }
    }
}
