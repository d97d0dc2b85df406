//! PostgreSQL.

use std::net::SocketAddr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Result;

use crate::install::find_for_test;
use crate::place::free_port;
use crate::server::{Launch, Ready, Server, StopSignal, run, write_file};
use crate::tls::Certificates;
use crate::wanted::Wanted;

/// The user and superuser.
const USER: &str = "salt";

/// A PostgreSQL server. To make one takes some seconds: tests of one program
/// share [`Postgres::shared`] and have a database each.
#[derive(Debug)]
pub struct Postgres {
    /// Its process.
    pub server: Server,
    /// Where it is served.
    pub address: SocketAddr,
    /// Its certificates, if it speaks TLS.
    pub tls: Option<Certificates>,
    password: Option<String>,
    databases: AtomicU32,
}

impl Postgres {
    /// The server that the tests of this process share, without a password;
    /// `None`, and reported, if it is not installed. It must not be stopped.
    ///
    /// # Panics
    /// When it does not start.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Postgres>> = OnceLock::new();
        // Each test reports for itself.
        find_for_test(&["postgres", "initdb", "psql"])?;
        SHARED
            .get_or_init(|| Self::for_test(&Wanted::default()))
            .as_ref()
    }

    /// Starts one for a test; `None`, and reported, if it is not installed.
    ///
    /// # Panics
    /// When it does not start.
    #[allow(clippy::unwrap_used)]
    pub fn for_test(wanted: &Wanted) -> Option<Self> {
        find_for_test(&["postgres", "initdb", "psql"])?;
        Some(Self::start(wanted).unwrap())
    }

    /// Starts one, with the user and the database `salt`.
    ///
    /// # Errors
    /// When it is not installed or does not start.
    pub fn start(wanted: &Wanted) -> Result<Self> {
        let address = free_port()?;
        let mut tls = None;
        let server = Server::new_in(&wanted.base(), "postgres", |dir| {
            let data = dir.join("data").display().to_string();
            let mut init = vec!["-D", &data, "-U", USER, "-E", "UTF8", "--no-sync"];
            let secret = dir.join("password").display().to_string();
            match &wanted.password {
                None => init.extend(["-A", "trust"]),
                Some(password) => {
                    write_file(secret.as_ref(), password)?;
                    init.extend(["-A", "scram-sha-256", "--pwfile", &secret]);
                }
            }
            run("initdb", &init, dir, "")?;
            let mut args = vec!["-D".to_owned(), data];
            let mut settings = vec![
                format!("listen_addresses={}", address.ip()),
                format!("port={}", address.port()),
                format!("unix_socket_directories={}", dir.display()),
                "logging_collector=off".to_owned(),
            ];
            if wanted.tls {
                let files = Certificates::make(dir, address.ip())?;
                settings.push("ssl=on".to_owned());
                settings.push(format!("ssl_cert_file={}", files.cert.display()));
                settings.push(format!("ssl_key_file={}", files.key.display()));
                // Over the network with TLS alone.
                let rule = match wanted.password {
                    None => "trust",
                    Some(_) => "scram-sha-256",
                };
                let rules = format!("local all all {rule}\nhostssl all all all {rule}\n");
                write_file(&dir.join("data/pg_hba.conf"), &rules)?;
                tls = Some(files);
            }
            for setting in settings {
                args.extend(["-c".to_owned(), setting]);
            }
            args.extend(wanted.args.iter().cloned());
            Ok(Launch {
                program: "postgres",
                args,
                ready: Ready::Says("database system is ready to accept connections"),
                // An immediate end that leaves no shared memory behind.
                stop: StopSignal::Quit,
                as_root: false,
            })
        })?;
        server.start()?;
        let postgres = Self {
            server,
            address,
            tls,
            password: wanted.password.clone(),
            databases: AtomicU32::new(0),
        };
        postgres.sql("postgres", "create database salt")?;
        Ok(postgres)
    }

    /// Makes a new, empty database and gives its name.
    ///
    /// # Errors
    /// When the server cannot make it.
    pub fn database(&self) -> Result<String> {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("test{number}");
        self.sql("postgres", &format!("create database {name}"))?;
        Ok(name)
    }

    /// `postgres://salt:password@address:port/database`.
    pub fn url(&self, database: &str) -> String {
        let password = self.password.as_ref();
        let password = password.map_or_else(String::new, |password| format!(":{password}"));
        format!("postgres://{USER}{password}@{}/{database}", self.address)
    }

    /// Runs statements; gives their rows, a line each, with `|` between columns.
    ///
    /// # Errors
    /// When one fails; what it says is in the error.
    pub fn sql(&self, database: &str, statements: &str) -> Result<String> {
        let dir = self.server.dir();
        let socket = dir.display().to_string();
        let port = self.address.port().to_string();
        let secret = dir.join("psql-password");
        if let Some(password) = &self.password {
            write_file(&secret, &format!("*:*:*:*:{password}\n"))?;
        }
        let target = format!(
            "host={socket} port={port} user={USER} dbname={database} passfile={}",
            secret.display()
        );
        let args = [
            "-X",
            "-q",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            "-d",
            &target,
        ];
        run("psql", &args, dir, statements)
    }
}
