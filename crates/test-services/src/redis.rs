//! Redis.

use std::net::SocketAddr;

use anyhow::Result;

use crate::install::find_for_test;
use crate::place::{address, free_port};
use crate::server::{Launch, Ready, Server, StopSignal, run, write_file};
use crate::tls::Certificates;
use crate::wanted::Wanted;

/// Arguments of a server that may be killed and must know what it has answered.
pub(crate) const LOGS_FIRST: [&str; 2] = ["--appendfsync", "always"];

/// A Redis server that writes its changes to a log.
#[derive(Debug)]
pub struct Redis {
    /// Its process.
    pub server: Server,
    /// Where it is served.
    pub address: SocketAddr,
    /// Its certificates, if it speaks TLS.
    pub tls: Option<Certificates>,
    pub(crate) password: Option<String>,
}

impl Redis {
    /// Starts one for a test; `None`, and reported, if it is not installed. It has each
    /// change in its log before it answers.
    ///
    /// # Panics
    /// When it does not start.
    #[allow(clippy::unwrap_used)]
    pub fn for_test(wanted: &Wanted) -> Option<Self> {
        find_for_test(&["redis-server", "redis-cli"])?;
        Some(Self::start(&wanted.clone().args(&LOGS_FIRST)).unwrap())
    }

    /// Starts one as Redis is by itself: while the disk is busy it puts its log off for
    /// up to two seconds, and what it has answered meanwhile is gone if it is killed.
    ///
    /// # Errors
    /// When it is not installed or does not start.
    pub fn start(wanted: &Wanted) -> Result<Self> {
        let address = free_port()?;
        let mut tls = None;
        let server = Server::new_in(&wanted.base(), "redis", |dir| {
            let mut text = format!(
                "bind {}\ndir {}\nappendonly yes\nappendfsync everysec\nsave \"\"\n",
                address.ip(),
                dir.display()
            );
            if wanted.tls {
                let files = match &wanted.certificates {
                    Some(files) => files.clone(),
                    None => Certificates::make(dir, address.ip())?,
                };
                text += &files.for_redis(address.port());
                tls = Some(files);
            } else {
                text += &format!("port {}\n", address.port());
            }
            if let Some(password) = &wanted.password {
                text += &format!("requirepass {password}\n");
            }
            let config = dir.join("redis.conf");
            write_file(&config, &text)?;
            let mut args = vec![config.display().to_string()];
            args.extend(wanted.args.iter().cloned());
            Ok(Launch {
                program: "redis-server",
                args,
                ready: Ready::Says("Ready to accept connections"),
                stop: StopSignal::Term,
                as_root: false,
            })
        })?;
        server.start()?;
        Ok(Self {
            server,
            address,
            tls,
            password: wanted.password.clone(),
        })
    }

    /// `redis://:password@address:port/0`, `rediss` with TLS.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() {
            "rediss"
        } else {
            "redis"
        };
        let password = self.password.as_ref();
        let login = password.map_or_else(String::new, |password| format!(":{password}@"));
        format!("{scheme}://{login}{}/0", self.address)
    }

    /// What `redis-cli` says to a command.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub fn cli(&self, command: &[&str]) -> Result<String> {
        let (ip, port) = (address().to_string(), self.address.port().to_string());
        let mut args = vec!["-h", &ip, "-p", &port];
        if let Some(password) = &self.password {
            args.extend(["--no-auth-warning", "-a", password]);
        }
        let ca;
        if let Some(tls) = &self.tls {
            ca = tls.ca.display().to_string();
            args.extend(["--tls", "--cacert", &ca]);
        }
        args.extend(command);
        run("redis-cli", &args, self.server.dir(), "")
    }
}
