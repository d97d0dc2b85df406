//! The servers that can hold a store: their addresses, the connections to them, and
//! whether they are available.
//!
//! Drivers are asynchronous and run on one background thread of the process
//! ([`io`]). Callers are synchronous: [`Server::run`] blocks until the answer is
//! there or the time limit is over. Equal addresses are one server, with one pool
//! of connections.
//!
//! Invariants: no operation lasts longer than its limit; while a server is known to
//! be away, operations fail at once; a password appears in no text.

// What one kind of server needs, and others do not, is not told apart everywhere.
#![cfg_attr(
    not(all(
        feature = "etcd",
        feature = "mysql",
        feature = "postgres",
        feature = "redis"
    )),
    allow(
        dead_code,
        unreachable_code,
        unused_imports,
        unused_mut,
        unused_variables,
        unreachable_patterns
    )
)]

pub mod address;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "redis"))]
mod answer;
mod error;
#[cfg(feature = "etcd")]
mod etcd;
mod health;
mod io;
pub mod limits;
#[cfg(any(feature = "etcd", feature = "redis"))]
mod members;
#[cfg(feature = "mysql")]
mod mysql;
mod open;
mod patience;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
mod server;
mod tls;

pub use address::{Address, AddressError, Coverage, ServerKind, Tls};
pub use error::{Failure, ServerError};
#[cfg(feature = "etcd")]
pub use etcd::{
    Entry, EtcdConnection, EtcdDriver, EtcdServer, Node, Refusal, V2Answer, etcd_server,
    etcd_v2_server, prefix_of,
};
pub use health::{Refuses, Status};
#[cfg(feature = "mysql")]
pub use mysql::{MysqlConnection, MysqlDriver, MysqlServer, MysqlValue, mysql_server};
pub use open::OpenServers;
pub use patience::with_patience;
#[cfg(feature = "postgres")]
pub use postgres::{
    PostgresConnection, PostgresDriver, PostgresRow, PostgresServer, postgres_server,
};
#[cfg(feature = "redis")]
pub use redis::{ReachedServers, RedisConnection, RedisDriver, RedisServer, redis_server};
pub use server::{Driver, Server};
pub use tls::{Wire, connect};
