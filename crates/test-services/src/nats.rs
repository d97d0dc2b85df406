//! A NATS server with JetStream.

use std::net::SocketAddr;

use anyhow::Result;

use crate::install::find_for_test;
use crate::place::free_port;
use crate::server::{Launch, Ready, Server, StopSignal, write_file};
use crate::tls::Certificates;
use crate::wanted::Wanted;

/// Who signs in where a password is wanted.
const USER: &str = "halite";

/// A server that keeps its streams in files.
#[derive(Debug)]
pub struct Nats {
    /// Its process.
    pub server: Server,
    /// Where it is served.
    pub address: SocketAddr,
    /// Its certificates, if it speaks TLS.
    pub tls: Option<Certificates>,
    password: Option<String>,
}

impl Nats {
    /// Starts one for a test; `None`, and reported, if it is not installed.
    ///
    /// # Panics
    /// When it does not start.
    #[allow(clippy::unwrap_used)]
    pub fn for_test(wanted: &Wanted) -> Option<Self> {
        find_for_test(&["nats-server"])?;
        Some(Self::start(wanted).unwrap())
    }

    /// Starts one.
    ///
    /// # Errors
    /// When it is not installed or does not start.
    pub fn start(wanted: &Wanted) -> Result<Self> {
        let address = free_port()?;
        let mut tls = None;
        let server = Server::new_in(&wanted.base(), "nats", |dir| {
            let mut text = format!(
                "listen: \"{address}\"\njetstream {{ store_dir: \"{}\" }}\n",
                dir.join("streams").display()
            );
            if wanted.tls {
                let files = Certificates::make(dir, address.ip())?;
                text += &format!(
                    "tls {{ cert_file: \"{}\", key_file: \"{}\" }}\n",
                    files.cert.display(),
                    files.key.display()
                );
                tls = Some(files);
            }
            if let Some(password) = &wanted.password {
                text += &format!("authorization {{ user: {USER}, password: \"{password}\" }}\n");
            }
            let config = dir.join("nats.conf");
            write_file(&config, &text)?;
            let mut args = vec!["-c".to_owned(), config.display().to_string()];
            args.extend(wanted.args.iter().cloned());
            Ok(Launch {
                program: "nats-server",
                args,
                ready: Ready::Says("Server is ready"),
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

    /// `nats://halite:password@address:port`, `tls` with TLS.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "tls" } else { "nats" };
        let login = self.login();
        let login = login.map_or_else(String::new, |(user, password)| {
            format!("{user}:{password}@")
        });
        format!("{scheme}://{login}{}", self.address)
    }

    /// Who signs in, and with which password.
    pub fn login(&self) -> Option<(&str, &str)> {
        Some((USER, self.password.as_deref()?))
    }
}
