//! The page of the fleet in `cargo xtask demo --web`: an API beside each master, and who
//! may log in there.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::Path;

use anyhow::{Context, Result};
use halite_integration_tests::Ports;

use super::fleet::random_hex;

const USER: &str = "admin";

/// Who may log in at the page, and where it is.
pub(super) struct Web {
    /// Those of the APIs, one for each master.
    ports: Ports<2>,
    password: String,
}

impl Web {
    /// A new password, and ports that are free.
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            ports: Ports::claim()?,
            password: random_hex::<8>()?,
        })
    }

    /// The ports of the APIs.
    pub(super) const fn ports(&self) -> [u16; 2] {
        self.ports.numbers
    }

    /// How to log in, for people.
    pub(super) fn login(&self) -> String {
        let password = &self.password;
        format!("User {USER}, password {password}, login by (eauth): file")
    }

    /// Configures the masters of a directory: an API beside each, which lists the other
    /// one, and one user, whose password only the masters' user can read. Each master
    /// accepts the other's tokens.
    pub(super) fn configure(&self, dir: &Path, masters: [&str; 2]) -> Result<()> {
        let users = dir.join("users");
        let mut file = fs::File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&users)?;
        writeln!(file, "{USER}:{}", self.password)?;
        let tokens = dir.join("tokens");
        fs::DirBuilder::new().mode(0o700).create(&tokens)?;
        let [first, second] = self.ports();
        for (master, port) in masters.into_iter().zip(self.ports()) {
            let cache = dir.join(master).join("cache");
            fs::create_dir_all(&cache)?;
            symlink(&tokens, cache.join("tokens"))?;
            let options = format!(
                "id: {master}\n\
                 presence_events: True\n\
                 external_auth:\n  file:\n    ^filename: {}\n    ^hashtype: plaintext\n    \
                 {USER}: ['.*', '@runner', '@wheel']\n\
                 netapi_enable_clients: [local, local_async, runner, wheel]\n\
                 rest_cherrypy:\n  port: {port}\n  host: 127.0.0.1\n  disable_ssl: True\n  \
                 other_masters: ['http://127.0.0.1:{first}', 'http://127.0.0.1:{second}']\n",
                users.display(),
            );
            let path = dir.join(master).join("master");
            let mut text = fs::read_to_string(&path)
                .with_context(|| format!("could not read {}", path.display()))?;
            text.push_str(&options);
            fs::write(path, text)?;
        }
        Ok(())
    }
}
