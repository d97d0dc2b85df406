//! Real servers for tests: each in a temporary directory, on a loopback address
//! of this process, as an unprivileged user, with a password and TLS where the
//! test wants them.
//!
//! ```no_run
//! # fn a_test() {
//! use halite_test_services::{Redis, Wanted};
//! let Some(redis) = Redis::for_test(&Wanted::default().password("secret")) else {
//!     return; // not installed, and reported
//! };
//! redis.server.pause(); // hangs
//! redis.server.resume();
//! redis.server.kill(); // dies
//! redis.server.start().unwrap(); // the same data, address and port
//! # }
//! ```
//!
//! A new kind of server is a file like `redis.rs`: which program, which
//! arguments, and how it says that it is ready ([`Launch`]). Its package goes
//! into the list of `cargo xtask provide`.
//!
//! Invariants: a server ends with its process at the latest, even if that is
//! killed; a test whose server is not installed says so and counts as skipped.

mod etcd;
mod git_http;
mod install;
mod mariadb;
mod nats;
mod nats_credentials;
mod nginx;
mod place;
mod postgres;
mod proxy;
mod redis;
mod redis_cluster;
mod salt;
mod sentinel;
mod server;
mod slapd;
mod small_disk;
mod spawner;
mod sshd;
mod tls;
mod wanted;

pub use etcd::Etcd;
pub use git_http::GitHttp;
pub use install::find_program;
pub use mariadb::MariaDb;
pub use nats::Nats;
pub use nginx::Nginx;
pub use postgres::Postgres;
pub use proxy::{Mode, Proxy};
pub use redis::Redis;
pub use redis_cluster::RedisCluster;
pub use salt::{CLIENTS, Salt};
pub use sentinel::Sentinel;
pub use server::{Launch, Ready, Server, StopSignal};
pub use slapd::Slapd;
pub use small_disk::SmallDisk;
pub use sshd::Sshd;
pub use tls::Certificates;
pub use wanted::Wanted;
