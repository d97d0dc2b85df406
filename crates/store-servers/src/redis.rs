//! Redis and Valkey.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{AsyncConnectionConfig, ErrorKind, RedisConnectionInfo, RedisError};

use crate::address::Address;
use crate::error::Failure;
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

    fn is_open(&self, connection: &RedisConnection) -> bool {
        !connection.is_closed.load(Ordering::Relaxed)
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
        self.commands.req_packed_command(command)
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        commands: &'a redis::Pipeline,
        offset: usize,
        count: usize,
    ) -> redis::RedisFuture<'a, Vec<redis::Value>> {
        self.commands.req_packed_commands(commands, offset, count)
    }

    fn get_db(&self) -> i64 {
        self.commands.get_db()
    }
}

impl From<RedisError> for Failure {
    fn from(error: RedisError) -> Self {
        match error.kind() {
            ErrorKind::Io => Self::broken(error),
            ErrorKind::Parse | ErrorKind::UnexpectedReturnType => Self::Answer(error.to_string()),
            _ if error.is_io_error() || error.is_connection_dropped() => Self::broken(error),
            _ => Self::Refused(error.to_string()),
        }
    }
}
