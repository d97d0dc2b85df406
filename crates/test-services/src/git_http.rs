//! Git over http and https: Apache with the program that git brings for it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::install::find_for_test;
use crate::place::{free_port, give_away};
use crate::server::{Launch, Ready, Server, StopSignal, write_file};
use crate::tls::Certificates;
use crate::wanted::Wanted;

/// Where Debian has Apache's modules.
const MODULES: &str = "/usr/lib/apache2/modules";

/// What serves a repository, below the directory that git names.
const BACKEND: &str = "/usr/lib/git-core/git-http-backend";

/// The user that a password belongs to.
const USER: &str = "git";

/// Apache with `git-http-backend`.
#[derive(Debug)]
pub struct GitHttp {
    /// Its process.
    pub server: Server,
    /// Where it is served.
    pub address: SocketAddr,
    /// Its certificates, if it speaks TLS.
    pub tls: Option<Certificates>,
}

impl GitHttp {
    /// Starts one for a test; `None`, and reported, if it is not installed.
    ///
    /// # Panics
    /// When it does not start.
    #[allow(clippy::unwrap_used)]
    pub fn for_test(wanted: &Wanted) -> Option<Self> {
        find_for_test(&["apache2", "git"])?;
        Some(Self::start(wanted).unwrap())
    }

    /// Starts one; a password is that of the user `git`.
    ///
    /// # Errors
    /// When it is not installed or does not start.
    pub fn start(wanted: &Wanted) -> Result<Self> {
        let address = free_port()?;
        let mut tls = None;
        let server = Server::new("git-http", |dir| {
            std::fs::create_dir(dir.join("repositories"))?;
            give_away(&dir.join("repositories"))?;
            let mut text = modules(wanted);
            text += &format!(
                "ServerRoot {0}\nPidFile {0}/pid\nMutex file:{0}\nServerName localhost\n\
                 Listen {address}\nErrorLog {0}/error.log\nScriptAlias /git/ {BACKEND}/\n\
                 SetEnv GIT_PROJECT_ROOT {0}/repositories\nSetEnv GIT_HTTP_EXPORT_ALL 1\n\
                 SetEnv GIT_CONFIG_COUNT 1\nSetEnv GIT_CONFIG_KEY_0 safe.directory\n\
                 SetEnv GIT_CONFIG_VALUE_0 *\n",
                dir.display(),
            );
            let access = match &wanted.password {
                Some(password) => {
                    let users = dir.join("users");
                    write_file(&users, &format!("{USER}:{}\n", hashed(password)?))?;
                    format!(
                        "AuthType Basic\nAuthName git\nAuthUserFile {}\nRequire valid-user\n",
                        users.display()
                    )
                }
                None => "Require all granted\n".to_owned(),
            };
            text += &format!("<Location /git/>\n{access}</Location>\n");
            if wanted.tls {
                let files = Certificates::make(dir, address.ip())?;
                text += &format!(
                    "SSLEngine on\nSSLCertificateFile {}\nSSLCertificateKeyFile {}\n",
                    files.cert.display(),
                    files.key.display()
                );
                tls = Some(files);
            }
            let config = dir.join("apache.conf");
            write_file(&config, &text)?;
            let args = ["-D", "FOREGROUND", "-f"].map(str::to_owned);
            let mut args = args.to_vec();
            args.push(config.display().to_string());
            Ok(Launch {
                program: "apache2",
                args,
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

    /// The directory whose repositories are served; what is put there must be
    /// readable for everybody.
    pub fn repositories(&self) -> PathBuf {
        self.server.dir().join("repositories")
    }

    /// The address of a repository in that directory.
    pub fn url(&self, name: &str) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}/git/{name}", self.address)
    }
}

fn modules(wanted: &Wanted) -> String {
    let mut names = vec![
        "mpm_prefork",
        "unixd",
        "authn_core",
        "authz_core",
        "alias",
        "env",
        "cgi",
    ];
    if wanted.password.is_some() {
        names.extend(["auth_basic", "authn_file", "authz_user"]);
    }
    if wanted.tls {
        names.extend(["socache_shmcb", "ssl"]);
    }
    let names = names
        .into_iter()
        .filter(|name| Path::new(MODULES).join(file(name)).exists());
    let lines = names.map(|name| format!("LoadModule {name}_module {MODULES}/{}\n", file(name)));
    lines.collect()
}

fn file(module: &str) -> String {
    format!("mod_{module}.so")
}

/// A password as Apache's files have it: SHA-1, which every build knows.
fn hashed(password: &str) -> Result<String> {
    let hash = openssl::sha::sha1(password.as_bytes());
    let text = openssl::base64::encode_block(&hash);
    (!text.is_empty())
        .then(|| format!("{{SHA}}{text}"))
        .context("no hash")
}
