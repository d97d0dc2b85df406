//! A test's requirements for a server.

use std::path::{Path, PathBuf};

use crate::tls::Certificates;

/// Access and further settings of a server. By default it asks for no password
/// and speaks in the clear.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    pub(crate) password: Option<String>,
    pub(crate) tls: bool,
    pub(crate) certificates: Option<Certificates>,
    pub(crate) client_certificate: bool,
    pub(crate) credentials: bool,
    pub(crate) args: Vec<String>,
    pub(crate) config: String,
    base: Option<PathBuf>,
}

impl Wanted {
    /// Asks for this password. It must not need escaping in a URL.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self
    }

    /// Speaks TLS only, with a certificate for its address.
    #[must_use]
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// The same with these certificates, those of another server at its address. Redis
    /// has that.
    #[must_use]
    pub(crate) fn certificates(mut self, files: Certificates) -> Self {
        self.tls = true;
        self.certificates = Some(files);
        self
    }

    /// Takes only clients with a certificate of its authority; with [`tls`](Self::tls).
    #[must_use]
    pub fn client_certificate(mut self) -> Self {
        self.client_certificate = true;
        self
    }

    /// Takes only clients with a file of credentials, which it makes. NATS has them.
    #[must_use]
    pub fn credentials(mut self) -> Self {
        self.credentials = true;
        self
    }

    /// Has its directory below this one, in place of that for temporary files.
    #[must_use]
    pub fn below(mut self, base: &Path) -> Self {
        self.base = Some(base.to_owned());
        self
    }

    /// Where its directory is made.
    pub(crate) fn base(&self) -> PathBuf {
        self.base.clone().unwrap_or_else(std::env::temp_dir)
    }

    /// Adds arguments to the server's command line.
    #[must_use]
    pub fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|arg| (*arg).to_owned()));
        self
    }

    /// Adds lines to the server's configuration, where that is a file.
    #[must_use]
    pub fn config(mut self, lines: &str) -> Self {
        self.config += lines;
        self.config.push('\n');
        self
    }
}
