//! A connection to one server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{AsyncConnectionConfig, Cmd, Pipeline, RedisConnectionInfo, RedisFuture, Value};

use super::answers::too_long;
use super::says_one_of;
use crate::address::Address;
use crate::answer::{Allowance, Metered};
use crate::error::Failure;
use crate::{io, tls};

/// A connection to one server.
#[derive(Clone)]
pub(super) struct Single {
    commands: MultiplexedConnection,
    is_closed: Arc<AtomicBool>,
    allowance: Allowance,
}

impl Single {
    /// Connects and signs in; the server answers.
    pub(super) async fn connect(address: &Address) -> Result<Self, Failure> {
        let allowance = Allowance::new();
        let stream = Metered::new(tls::connect(address).await?, &allowance);
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
        let mut connection = Self {
            commands,
            is_closed,
            allowance,
        };
        // One that still reads its data answers to nothing else.
        let _: String = redis::cmd("PING").query_async(&mut connection).await?;
        Ok(connection)
    }

    pub(super) fn is_open(&self) -> bool {
        !self.is_closed.load(Ordering::Relaxed) && !self.allowance.is_spent()
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

impl ConnectionLike for Single {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        self.allowance.renew();
        let done = self.commands.req_packed_command(command);
        watched(&self.is_closed, &self.allowance, done)
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        commands: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        self.allowance.renew();
        let done = self.commands.req_packed_commands(commands, offset, count);
        watched(&self.is_closed, &self.allowance, done)
    }

    fn get_db(&self) -> i64 {
        self.commands.get_db()
    }
}

/// A server that does not take writes any more may not be the right one: its
/// connection is not used again.
fn watched<'a, T: 'a>(
    is_closed: &'a AtomicBool,
    allowance: &'a Allowance,
    done: RedisFuture<'a, T>,
) -> RedisFuture<'a, T> {
    Box::pin(async move {
        let done = done.await;
        if allowance.is_spent() {
            // The connection has ended because of it, and not by itself.
            return Err(too_long());
        }
        if done
            .as_ref()
            .is_err_and(|error| says_one_of(error, &["READONLY"]))
        {
            is_closed.store(true, Ordering::Relaxed);
        }
        done
    })
}
