//! MariaDB.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Result;

use crate::install::find_for_test;
use crate::place::free_port;
use crate::server::{Launch, Ready, Server, StopSignal, run};
use crate::tls::Certificates;
use crate::wanted::Wanted;

/// The user whom clients log in as.
const USER: &str = "salt";

const PROGRAMS: [&str; 3] = ["mariadbd", "mariadb-install-db", "mariadb"];

/// A MariaDB server. To make one takes some seconds: tests of one program share
/// [`MariaDb::shared`] and have a database each.
#[derive(Debug)]
pub struct MariaDb {
    /// Its process.
    pub server: Server,
    /// Where it is served.
    pub address: SocketAddr,
    /// Its certificates, if it speaks TLS.
    pub tls: Option<Certificates>,
    password: Option<String>,
    databases: AtomicU32,
}

impl MariaDb {
    /// The server that the tests of this process share, without a password;
    /// `None`, and reported, if it is not installed. It must not be stopped.
    ///
    /// # Panics
    /// When it does not start.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<MariaDb>> = OnceLock::new();
        // Each test reports for itself.
        find_for_test(&PROGRAMS)?;
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
        find_for_test(&PROGRAMS)?;
        Some(Self::start(wanted).unwrap())
    }

    /// Starts one, with the user and the database `salt`.
    ///
    /// # Errors
    /// When it is not installed or does not start.
    pub fn start(wanted: &Wanted) -> Result<Self> {
        let address = free_port()?;
        let mut tls = None;
        let server = Server::new_in(&wanted.base(), "mariadb", |dir| {
            let data = format!("--datadir={}", dir.join("data").display());
            // Two that start at once would share the names of their temporary tables.
            let tmp = dir.join("tmp");
            std::fs::create_dir(&tmp)?;
            // The server is another user where the tests are root.
            std::fs::set_permissions(&tmp, std::fs::Permissions::from_mode(0o1777))?;
            let tmp = format!("--tmpdir={}", tmp.display());
            let init = [
                "--no-defaults",
                &data,
                &tmp,
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
            ];
            run("mariadb-install-db", &init, dir, "")?;
            let mut args: Vec<String> = [
                "--no-defaults",
                &data,
                &tmp,
                &format!("--socket={}", dir.join("socket").display()),
                &format!("--pid-file={}", dir.join("pid").display()),
                &format!("--bind-address={}", address.ip()),
                &format!("--port={}", address.port()),
                "--skip-name-resolve",
            ]
            .map(str::to_owned)
            .into();
            if wanted.tls {
                let files = Certificates::make(dir, address.ip())?;
                args.push(format!("--ssl-ca={}", files.ca.display()));
                args.push(format!("--ssl-cert={}", files.cert.display()));
                args.push(format!("--ssl-key={}", files.key.display()));
                tls = Some(files);
            }
            args.extend(wanted.args.iter().cloned());
            Ok(Launch {
                program: "mariadbd",
                args,
                ready: Ready::Says("ready for connections"),
                stop: StopSignal::Term,
                as_root: false,
            })
        })?;
        server.start()?;
        let mariadb = Self {
            server,
            address,
            tls,
            password: wanted.password.clone(),
            databases: AtomicU32::new(0),
        };
        let password = wanted.password.as_deref().unwrap_or_default();
        let tls = if wanted.tls { " require ssl" } else { "" };
        mariadb.sql(
            "",
            &format!(
                "create database salt character set utf8mb4;
                 create user {USER}@'%' identified by '{password}'{tls};
                 grant all on *.* to {USER}@'%';"
            ),
        )?;
        Ok(mariadb)
    }

    /// Makes a new, empty database and gives its name.
    ///
    /// # Errors
    /// When the server cannot make it.
    pub fn database(&self) -> Result<String> {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("test{number}");
        self.sql("", &format!("create database {name} character set utf8mb4"))?;
        Ok(name)
    }

    /// `mysql://salt:password@address:port/database`.
    pub fn url(&self, database: &str) -> String {
        let password = self.password.as_ref();
        let password = password.map_or_else(String::new, |password| format!(":{password}"));
        format!("mysql://{USER}{password}@{}/{database}", self.address)
    }

    /// Runs statements as root; gives their rows, a line each, with tabs
    /// between columns.
    ///
    /// # Errors
    /// When one fails; what it says is in the error.
    pub fn sql(&self, database: &str, statements: &str) -> Result<String> {
        let dir = self.server.dir();
        let socket = format!("--socket={}", dir.join("socket").display());
        let args = [
            "--no-defaults",
            &socket,
            "-u",
            "root",
            "--batch",
            "--skip-column-names",
            "-D",
            database,
        ];
        let args = if database.is_empty() {
            &args[..6]
        } else {
            &args[..]
        };
        run("mariadb", args, dir, statements)
    }
}
