//! The server of OpenSSH.

use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use nix::unistd::{Uid, User};

use crate::install::find_for_test;
use crate::place::free_port;
use crate::server::{Launch, Ready, Server, StopSignal, run, write_file};

/// Where root's sshd shuts itself in; it has to be there.
const PRIVSEP: &str = "/run/sshd";

/// An sshd that lets in whoever has a key that was authorised, as the user whose
/// process this is.
#[derive(Debug)]
pub struct Sshd {
    /// Its process.
    pub server: Server,
    /// Where it is served.
    pub address: SocketAddr,
    /// The user's name.
    pub user: String,
}

impl Sshd {
    /// Starts one for a test; `None`, and reported, if it is not installed.
    ///
    /// # Panics
    /// When it does not start.
    #[allow(clippy::unwrap_used)]
    pub fn for_test() -> Option<Self> {
        find_for_test(&["sshd", "ssh", "ssh-keygen"])?;
        Some(Self::start().unwrap())
    }

    /// Starts one.
    ///
    /// # Errors
    /// When it is not installed or does not start.
    pub fn start() -> Result<Self> {
        let address = free_port()?;
        let user = User::from_uid(Uid::effective())?.context("this user has no name")?;
        if Uid::effective().is_root() {
            let mut dir = std::fs::DirBuilder::new();
            dir.recursive(true).mode(0o755).create(PRIVSEP)?;
        }
        let server = Server::new("sshd", |dir| {
            keygen(dir, &dir.join("host"), "")?;
            let text = format!(
                "ListenAddress {address}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\n\
                 StrictModes no\nUsePAM no\nPasswordAuthentication no\n\
                 KbdInteractiveAuthentication no\nPermitRootLogin yes\n",
                dir.join("host").display(),
                dir.join("authorized_keys").display(),
            );
            let config = dir.join("sshd_config");
            write_file(&config, &text)?;
            write_file(&dir.join("authorized_keys"), "")?;
            let args = ["-D", "-e", "-f"].map(str::to_owned);
            let mut args = args.to_vec();
            args.push(config.display().to_string());
            Ok(Launch {
                program: "sshd",
                args,
                ready: Ready::Says("Server listening on"),
                stop: StopSignal::Term,
                // It becomes whoever logs in.
                as_root: true,
            })
        })?;
        server.start()?;
        Ok(Self {
            server,
            address,
            user: user.name,
        })
    }

    /// Makes a key of a client with this passphrase, which may log in from now
    /// on, and gives the path of its private part.
    ///
    /// # Errors
    /// When `ssh-keygen` fails.
    pub fn authorised_key(&self, name: &str, passphrase: &str) -> Result<PathBuf> {
        let key = self.unknown_key(name, passphrase)?;
        let authorised = self.server.dir().join("authorized_keys");
        let mut text = std::fs::read_to_string(&authorised)?;
        text += &std::fs::read_to_string(key.with_extension("pub"))?;
        write_file(&authorised, &text)?;
        Ok(key)
    }

    /// Makes a key that may not log in.
    ///
    /// # Errors
    /// When `ssh-keygen` fails.
    pub fn unknown_key(&self, name: &str, passphrase: &str) -> Result<PathBuf> {
        let key = self.server.dir().join(name);
        keygen(self.server.dir(), &key, passphrase)?;
        // ssh reads no key that belongs to somebody else.
        let owner = (Uid::effective(), nix::unistd::Gid::effective());
        nix::unistd::chown(&key, Some(owner.0), Some(owner.1))?;
        Ok(key)
    }

    /// The line of `known_hosts` of this server.
    ///
    /// # Errors
    /// When its key cannot be read.
    pub fn known_host(&self) -> Result<String> {
        let key = std::fs::read_to_string(self.server.dir().join("host.pub"))?;
        Ok(format!(
            "[{}]:{} {key}",
            self.address.ip(),
            self.address.port()
        ))
    }

    /// The address of a repository of this machine.
    pub fn url(&self, repository: &Path) -> String {
        format!(
            "ssh://{}@{}{}",
            self.user,
            self.address,
            repository.display()
        )
    }
}

fn keygen(dir: &Path, key: &Path, passphrase: &str) -> Result<()> {
    let key = key.display().to_string();
    let args = [
        "-q", "-t", "ed25519", "-N", passphrase, "-C", "test", "-f", &key,
    ];
    run("ssh-keygen", &args, dir, "").map(drop)
}
