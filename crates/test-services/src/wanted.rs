//! What a test wants of a server.

/// Access and further settings of a server. By default it asks for no password
/// and speaks in the clear.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    pub(crate) password: Option<String>,
    pub(crate) tls: bool,
    pub(crate) args: Vec<String>,
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

    /// Adds arguments to the server's command line.
    #[must_use]
    pub fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|arg| (*arg).to_owned()));
        self
    }
}
