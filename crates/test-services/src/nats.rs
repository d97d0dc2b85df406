//! A NATS server with JetStream, or several that are one.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Result;

use crate::install::find_for_test;
use crate::nats_credentials::Credentials;
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
    /// The file that a client shows, if it wants one.
    pub credentials: Option<PathBuf>,
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
        Self::start_at(free_port()?, wanted)
    }

    /// Starts several that keep their streams together, for a test; `None`, and
    /// reported, if it is not installed.
    ///
    /// # Panics
    /// When they do not start.
    #[allow(clippy::unwrap_used)]
    pub fn cluster_for_test(count: usize, wanted: &Wanted) -> Option<Vec<Self>> {
        find_for_test(&["nats-server"])?;
        Some(Self::start_cluster(count, wanted).unwrap())
    }

    fn start_cluster(count: usize, wanted: &Wanted) -> Result<Vec<Self>> {
        let places = (0..count).map(|_| Ok((free_port()?, free_port()?)));
        let places: Vec<(SocketAddr, SocketAddr)> = places.collect::<Result<_>>()?;
        let routes = places
            .iter()
            .map(|(_, links)| format!("\"nats://{links}\""));
        let routes = routes.collect::<Vec<_>>().join(", ");
        let servers = places.iter().enumerate();
        let started = servers.map(|(n, (address, links))| {
            let wanted = wanted.clone().config(&format!(
                "server_name: n{n}\ncluster {{ name: c, listen: \"{links}\", routes: [{routes}] }}"
            ));
            Self::start_at(*address, &wanted)
        });
        started.collect()
    }

    fn start_at(address: SocketAddr, wanted: &Wanted) -> Result<Self> {
        let (mut tls, mut credentials) = (None, None);
        let server = Server::new_in(&wanted.base(), "nats", |dir| {
            let mut text = format!(
                "listen: \"{address}\"\njetstream {{ store_dir: \"{}\" }}\n",
                dir.join("streams").display()
            );
            if wanted.tls {
                let files = Certificates::make(dir, address.ip())?;
                text += &format!(
                    "tls {{ cert_file: \"{}\", key_file: \"{}\", ca_file: \"{}\", verify: {} }}\n",
                    files.cert.display(),
                    files.key.display(),
                    files.ca.display(),
                    wanted.client_certificate
                );
                tls = Some(files);
            }
            if let Some(password) = &wanted.password {
                text += &format!("authorization {{ user: {USER}, password: \"{password}\" }}\n");
            }
            if wanted.credentials {
                let made = Credentials::make(dir)?;
                text += &made.config;
                credentials = Some(made.file);
            }
            text += &wanted.config;
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
            credentials,
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
