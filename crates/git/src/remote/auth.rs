//! The logins of a remote.

use std::fmt;
use std::path::PathBuf;

use halite_crypto::Secret;

use super::url::{RemoteUrl, Scheme};

/// What a remote is told, or what a key is opened with.
#[derive(Clone, Default)]
pub struct Auth {
    /// `user`.
    pub user: Option<String>,
    /// `password`.
    pub password: Option<Secret<String>>,
    /// `insecure_auth`: a password may go in the clear.
    pub insecure: bool,
    /// `pubkey`: the file of the public key. Git does without it.
    pub pubkey: Option<PathBuf>,
    /// `privkey`: the file of the private key.
    pub privkey: Option<PathBuf>,
    /// `passphrase` of the private key.
    pub passphrase: Option<Secret<String>>,
}

impl Auth {
    /// Completes what is for `url` from its login, and drops what is not.
    ///
    /// # Errors
    /// The option that is missing or wrong, and why.
    pub(super) fn for_url(mut self, url: &RemoteUrl) -> Result<Self, (&'static str, String)> {
        match url.scheme() {
            Scheme::File | Scheme::Git => Ok(Self::default()),
            Scheme::Ssh => {
                (self.user, self.password) = (None, None);
                if self.privkey.is_none() && (self.pubkey.is_some() || self.passphrase.is_some()) {
                    let why = "there is a pubkey or a passphrase and no private key";
                    return Err(("privkey", why.to_owned()));
                }
                Ok(self)
            }
            Scheme::Http | Scheme::Https => {
                (self.pubkey, self.privkey, self.passphrase) = (None, None, None);
                self.user = url.user().map(str::to_owned).or(self.user);
                self.password = url.password().cloned().or(self.password);
                match (&self.user, &self.password) {
                    (None, Some(_)) => {
                        return Err(("user", "there is a password and no user".to_owned()));
                    }
                    (Some(_), None) if url.user().is_none() => {
                        return Err(("password", "there is a user and no password".to_owned()));
                    }
                    _ => {}
                }
                if url.scheme() == Scheme::Http && self.password.is_some() && !self.insecure {
                    let why = "it would go to an http remote in the clear; use https, or set \
                               insecure_auth: True";
                    return Err(("password", why.to_owned()));
                }
                Ok(self)
            }
        }
    }
}

impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Auth")
            .field("user", &self.user)
            .field("privkey", &self.privkey)
            .finish_non_exhaustive()
    }
}
