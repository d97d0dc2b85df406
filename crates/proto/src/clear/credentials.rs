//! How a caller proves who they are.

use std::fmt;

use crate::Map;
use crate::fields::{Fields, MessageError, Put};

/// A key, a token, or a name and password for an external check.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Credentials {
    /// The content of a key file on the master.
    pub key: Option<String>,
    /// A token that `mk_token` gave.
    pub token: Option<String>,
    /// The kind of external check.
    pub eauth: Option<String>,
    /// Who it is for the external check.
    pub username: Option<String>,
    /// Their password.
    pub password: Option<String>,
}

impl Credentials {
    pub(super) fn take(fields: &mut Fields) -> Result<Self, MessageError> {
        Ok(Self {
            key: fields.text("key")?,
            token: fields.text("token")?,
            eauth: fields.text("eauth")?,
            username: fields.text("username")?,
            password: fields.text("password")?,
        })
    }

    pub(super) fn put(&self, map: &mut Map) {
        map.put_some("key", self.key.as_deref());
        self.put_external(map);
    }

    /// All but the key.
    pub(super) fn put_external(&self, map: &mut Map) {
        map.put_some("token", self.token.as_deref());
        map.put_some("eauth", self.eauth.as_deref());
        map.put_some("username", self.username.as_deref());
        map.put_some("password", self.password.as_deref());
    }
}

/// Shows who, never the proof.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hidden = |secret: &Option<String>| secret.as_ref().map(|_| "hidden");
        f.debug_struct("Credentials")
            .field("key", &hidden(&self.key))
            .field("token", &hidden(&self.token))
            .field("eauth", &self.eauth)
            .field("username", &self.username)
            .field("password", &hidden(&self.password))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proofs_do_not_show() {
        let credentials = Credentials {
            key: Some("sesame".to_owned()),
            token: Some("sesame".to_owned()),
            eauth: Some("pam".to_owned()),
            username: Some("ali".to_owned()),
            password: Some("sesame".to_owned()),
        };
        let shown = format!("{credentials:?}");
        assert!(!shown.contains("sesame"), "{shown}");
        assert!(shown.contains("ali"), "{shown}");
    }
}
