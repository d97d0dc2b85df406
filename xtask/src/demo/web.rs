//! The page of the fleet in `cargo xtask demo --web`: who may log in there.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use halite_integration_tests::Ports;

use super::fleet::random_hex;

const USER: &str = "admin";

/// Who may log in at the page, and where it is.
pub(super) struct Web {
    ports: Ports<1>,
    password: String,
}

impl Web {
    /// A new password, and a port that is free.
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            ports: Ports::claim()?,
            password: random_hex::<8>()?,
        })
    }

    /// The port of the API.
    pub(super) const fn port(&self) -> u16 {
        self.ports.numbers[0]
    }

    /// How to log in, for people.
    pub(super) fn login(&self) -> String {
        let password = &self.password;
        format!("User {USER}, password {password}, login by (eauth): file")
    }

    /// Lets one user log in, whose password only the master's user can read.
    pub(super) fn configure(&self, dir: &Path) -> Result<()> {
        let users = dir.join("users");
        let mut file = fs::File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&users)?;
        writeln!(file, "{USER}:{}", self.password)?;
        let options = format!(
            "presence_events: True\n\
             external_auth:\n  file:\n    ^filename: {}\n    ^hashtype: plaintext\n    \
             {USER}: ['.*', '@runner', '@wheel']\n\
             netapi_enable_clients: [local, local_async, runner, wheel]\n\
             rest_cherrypy:\n  port: {}\n  host: 127.0.0.1\n  disable_ssl: True\n",
            users.display(),
            self.ports.numbers[0]
        );
        let path = dir.join("master");
        let mut text = fs::read_to_string(&path)
            .with_context(|| format!("could not read {}", path.display()))?;
        text.push_str(&options);
        Ok(fs::write(path, text)?)
    }
}
