//! Runners, wheel functions and tokens.

use crate::Map;
use crate::Value;
use crate::clear::Credentials;
use crate::fields::{Fields, MessageError, Put};

/// A runner or a wheel function to run on the master.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LowRequest {
    /// The function.
    pub fun: Option<String>,
    /// The proof.
    pub credentials: Credentials,
    /// Who asks, as they say.
    pub user: Option<String>,
    /// The arguments: `arg` and `kwarg`, or arguments by their names.
    pub fields: Map,
}

/// A user who wants a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRequest {
    /// The proof.
    pub credentials: Credentials,
    /// How long the token is to live, in seconds.
    pub token_expire: Option<Value>,
    /// What else the check may want to know.
    pub fields: Map,
}

impl LowRequest {
    /// Takes the request out of the load of a clear envelope.
    ///
    /// # Errors
    /// When a field has a wrong type.
    pub fn from_map(load: Map) -> Result<Self, MessageError> {
        let mut fields = Fields::new("the runner or wheel request", load);
        fields.take("cmd");
        Ok(Self {
            fun: fields.text("fun")?,
            credentials: Credentials::take(&mut fields)?,
            user: fields.text("user")?,
            fields: fields.rest(),
        })
    }

    /// The load of the clear envelope; `cmd` is `runner` or `wheel`.
    pub fn to_map(&self, cmd: &'static str) -> Map {
        let mut map = Map::with_capacity(8 + self.fields.len());
        map.put("cmd", cmd);
        map.put_some("fun", self.fun.as_deref());
        map.extend(self.fields.clone());
        self.credentials.put(&mut map);
        map.put_some("user", self.user.as_deref());
        map
    }
}

impl TokenRequest {
    /// Takes the request out of the load of a clear envelope.
    ///
    /// # Errors
    /// When a field has a wrong type.
    pub fn from_map(load: Map) -> Result<Self, MessageError> {
        let mut fields = Fields::new("the token request", load);
        fields.take("cmd");
        Ok(Self {
            credentials: Credentials::take(&mut fields)?,
            token_expire: fields.value("token_expire"),
            fields: fields.rest(),
        })
    }

    /// The load of the clear envelope.
    pub fn to_map(&self) -> Map {
        let mut map = Map::with_capacity(6 + self.fields.len());
        map.put("cmd", "mk_token");
        self.credentials.put(&mut map);
        map.put_some("token_expire", self.token_expire.clone());
        map.extend(self.fields.clone());
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_by_name_are_kept() {
        let load = Map::from([
            ("cmd", "wheel"),
            ("fun", "key.accept"),
            ("match", "web*"),
            ("key", "k"),
        ]);
        let request = LowRequest::from_map(load.clone()).unwrap();
        assert_eq!(request.fields, [("match", "web*")].into());
        assert_eq!(request.to_map("wheel"), load);
    }
}
