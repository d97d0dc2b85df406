//! nginx with TLS in front of a server that speaks plain HTTP.

use std::net::SocketAddr;

use anyhow::Result;

use crate::install::find_for_test;
use crate::place::free_port;
use crate::server::{Launch, Ready, Server, StopSignal, write_file};
use crate::tls::Certificates;

/// nginx as a proxy.
#[derive(Debug)]
pub struct Nginx {
    /// Its process.
    pub server: Server,
    /// Where it listens.
    pub address: SocketAddr,
    /// Its certificates.
    pub tls: Option<Certificates>,
}

impl Nginx {
    /// Starts one for a test, which hands requests on to `behind` with these
    /// lines in its `location`; `None`, and reported, if it is not installed.
    ///
    /// # Panics
    /// When it does not start.
    #[allow(clippy::unwrap_used)]
    pub fn for_test(behind: SocketAddr, lines: &str) -> Option<Self> {
        find_for_test(&["nginx"])?;
        Some(Self::start(behind, lines).unwrap())
    }

    /// Starts one.
    ///
    /// # Errors
    /// When it is not installed or does not start.
    pub fn start(behind: SocketAddr, lines: &str) -> Result<Self> {
        let address = free_port()?;
        let mut tls = None;
        let server = Server::new("nginx", |dir| {
            let files = Certificates::make(dir, address.ip())?;
            let place = dir.display();
            let text = format!(
                "daemon off;\nworker_processes 1;\npid {place}/pid;\nerror_log {place}/error.log;\n\
                 events {{ worker_connections 256; }}\nhttp {{\naccess_log {place}/access.log;\n\
                 client_body_temp_path {place}/body;\nproxy_temp_path {place}/proxy;\n\
                 fastcgi_temp_path {place}/fastcgi;\nuwsgi_temp_path {place}/uwsgi;\n\
                 scgi_temp_path {place}/scgi;\nserver {{\nlisten {address} ssl;\n\
                 ssl_certificate {cert};\nssl_certificate_key {key};\nlocation / {{\n\
                 proxy_pass http://{behind};\n{lines}\n}}\n}}\n}}\n",
                cert = files.cert.display(),
                key = files.key.display(),
            );
            tls = Some(files);
            let config = dir.join("nginx.conf");
            write_file(&config, &text)?;
            let log = dir.join("error.log").display().to_string();
            Ok(Launch {
                program: "nginx",
                args: ["-e", &log, "-c", &config.display().to_string()]
                    .map(str::to_owned)
                    .to_vec(),
                ready: Ready::Listens(address),
                stop: StopSignal::Term,
                as_root: false,
            })
        })?;
        server.start()?;
        Ok(Self {
            server,
            address,
            tls,
        })
    }
}
