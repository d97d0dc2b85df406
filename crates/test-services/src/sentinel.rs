//! A Sentinel of a Redis.

use std::net::SocketAddr;

use anyhow::Result;

use crate::place::free_port;
use crate::redis::Redis;
use crate::server::{Launch, Ready, Server, StopSignal, write_file};

/// A Sentinel, which alone decides that its Redis is dead, within a second.
#[derive(Debug)]
pub struct Sentinel {
    /// Its process.
    pub server: Server,
    /// Where it is asked.
    pub address: SocketAddr,
}

impl Sentinel {
    /// Starts one for a Redis, which it calls by a name.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(redis: &Redis, name: &str) -> Result<Self> {
        Self::start_with(redis, name, None)
    }

    /// The same, which asks for a password of its own. It speaks TLS if its Redis does,
    /// with the same certificate.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start_with(redis: &Redis, name: &str, password: Option<&str>) -> Result<Self> {
        let address = free_port()?;
        let server = Server::new("sentinel", |dir| {
            let config = dir.join("sentinel.conf");
            let mut text = format!(
                "bind {}\ndir {}\nprotected-mode no\nsentinel monitor {name} {} {} 1\n\
                 sentinel down-after-milliseconds {name} 500\n\
                 sentinel failover-timeout {name} 3000\n",
                address.ip(),
                dir.display(),
                redis.address.ip(),
                redis.address.port()
            );
            text += &match &redis.tls {
                Some(files) => files.for_redis(address.port()) + "tls-replication yes\n",
                None => format!("port {}\n", address.port()),
            };
            if let Some(theirs) = &redis.password {
                text += &format!("sentinel auth-pass {name} {theirs}\n");
            }
            if let Some(password) = password {
                text += &format!("requirepass {password}\n");
            }
            write_file(&config, &text)?;
            Ok(Launch {
                program: "redis-server",
                args: vec![config.display().to_string(), "--sentinel".to_owned()],
                ready: Ready::Listens(address),
                stop: StopSignal::Term,
                as_root: false,
            })
        })?;
        server.start()?;
        Ok(Self { server, address })
    }
}
