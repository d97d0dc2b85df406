//! etcd.

use std::net::SocketAddr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Result;

use crate::install::find_for_test;
use crate::place::free_port;
use crate::server::{Launch, Ready, Server, StopSignal, run};
use crate::tls::Certificates;
use crate::wanted::Wanted;

/// An etcd of one member, with the old (v2) interface too: Salt's cache driver
/// speaks nothing else.
#[derive(Debug)]
pub struct Etcd {
    /// Its process.
    pub server: Server,
    /// Where clients are served.
    pub address: SocketAddr,
    /// Its certificates, if it speaks TLS.
    pub tls: Option<Certificates>,
    password: Option<String>,
}

impl Etcd {
    /// The server that the tests of this process share, without a password; `None`,
    /// and reported, if it is not installed. It must not be stopped.
    ///
    /// # Panics
    /// When it does not start.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Etcd>> = OnceLock::new();
        // Each test reports for itself.
        find_for_test(&["etcd", "etcdctl"])?;
        SHARED
            .get_or_init(|| Self::for_test(&Wanted::default()))
            .as_ref()
    }

    /// A URL with a beginning of all keys that nobody else has.
    pub fn new_url(&self) -> String {
        static PREFIXES: AtomicU32 = AtomicU32::new(0);
        let number = PREFIXES.fetch_add(1, Ordering::Relaxed);
        format!("{}/test{number}", self.url())
    }

    /// Starts one for a test; `None`, and reported, if it is not installed.
    ///
    /// # Panics
    /// When it does not start.
    #[allow(clippy::unwrap_used)]
    pub fn for_test(wanted: &Wanted) -> Option<Self> {
        find_for_test(&["etcd", "etcdctl"])?;
        Some(Self::start(wanted).unwrap())
    }

    /// Starts one. With a password it has the user `root`.
    ///
    /// # Errors
    /// When it is not installed or does not start.
    pub fn start(wanted: &Wanted) -> Result<Self> {
        let (address, peers) = (free_port()?, free_port()?);
        let mut tls = None;
        let scheme = if wanted.tls { "https" } else { "http" };
        let server = Server::new("etcd", |dir| {
            let clients = format!("{scheme}://{address}");
            let peers = format!("http://{peers}");
            let mut args: Vec<String> = [
                "--name=test",
                "--enable-v2=true",
                "--logger=zap",
                "--log-outputs=stderr",
                &format!("--data-dir={}", dir.join("data").display()),
                &format!("--listen-client-urls={clients}"),
                &format!("--advertise-client-urls={clients}"),
                &format!("--listen-peer-urls={peers}"),
                &format!("--initial-advertise-peer-urls={peers}"),
                &format!("--initial-cluster=test={peers}"),
            ]
            .map(str::to_owned)
            .into();
            if wanted.tls {
                let files = Certificates::make(dir, address.ip())?;
                args.push(format!("--cert-file={}", files.cert.display()));
                args.push(format!("--key-file={}", files.key.display()));
                tls = Some(files);
            }
            args.extend(wanted.args.iter().cloned());
            Ok(Launch {
                program: "etcd",
                args,
                ready: Ready::Says("serving client "),
                stop: StopSignal::Term,
                as_root: false,
            })
        })?;
        server.start()?;
        let mut etcd = Self {
            server,
            address,
            tls,
            password: None,
        };
        if let Some(password) = &wanted.password {
            etcd.ctl(&["user", "add", &format!("root:{password}")])?;
            etcd.ctl(&["user", "grant-role", "root", "root"])?;
            etcd.ctl(&["auth", "enable"])?;
            etcd.password = Some(password.clone());
        }
        Ok(etcd)
    }

    /// `etcd://root:password@address:port`, `etcds` with TLS.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "etcds" } else { "etcd" };
        let password = self.password.as_ref();
        let login = password.map_or_else(String::new, |password| format!("root:{password}@"));
        format!("{scheme}://{login}{}", self.address)
    }

    /// What `etcdctl` says to a command.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub fn ctl(&self, command: &[&str]) -> Result<String> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let mut args = vec![format!("--endpoints={scheme}://{}", self.address)];
        if let Some(password) = &self.password {
            args.push(format!("--user=root:{password}"));
        }
        if let Some(tls) = &self.tls {
            args.push(format!("--cacert={}", tls.ca.display()));
        }
        let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
        args.extend(command);
        run("etcdctl", &args, self.server.dir(), "")
    }
}
