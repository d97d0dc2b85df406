//! Tokens: who has logged in once can show one for some hours instead.

use halite_crypto::HashType;
use halite_proto::{Map, Value};
use halite_store::{StoreError, TokenId};

use crate::error::chain;

/// Who has logged in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Who<'a> {
    /// The name.
    pub(crate) name: &'a str,
    /// The way to log in.
    pub(crate) eauth: &'a str,
    /// Their groups, which the token keeps.
    pub(crate) groups: &'a [String],
}

/// The tokens of one master.
#[derive(Clone, Debug)]
pub(crate) struct Tokens {
    store: halite_store::Tokens,
    hash_type: HashType,
}

impl Tokens {
    /// The tokens of a store; new ones have the length of this hash.
    pub(crate) fn new(store: halite_store::Tokens, hash_type: HashType) -> Self {
        Self { store, hash_type }
    }

    /// Makes a token for somebody who has logged in; gives all that it stands
    /// for.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub(crate) fn make(
        &self,
        who: Who<'_>,
        lifetime_s: u64,
        auth_list: Option<Vec<Value>>,
        now_s: i64,
    ) -> Result<Map, StoreError> {
        let token = TokenId::generate(self.hash_type);
        let expire = now_s.saturating_add(i64::try_from(lifetime_s).unwrap_or(i64::MAX / 2));
        #[expect(clippy::cast_precision_loss, reason = "Salt's tokens have floats here")]
        let float = |seconds: i64| Value::Float(seconds as f64);
        let mut data = Map::from([
            ("start", float(now_s)),
            ("expire", float(expire)),
            ("name", who.name.into()),
            ("eauth", who.eauth.into()),
            ("token", token.expose().into()),
        ]);
        if !who.groups.is_empty() {
            let groups = who.groups.iter().map(|group| group.as_str().into());
            data.insert("groups", Value::List(groups.collect()));
        }
        if let Some(auth_list) = auth_list {
            data.insert("auth_list", auth_list);
        }
        self.store.put(&token, &data, expire)?;
        Ok(data)
    }

    /// What a token stands for; `None` if it is none, or not any more.
    pub(crate) fn get(&self, token: &str, now_s: i64) -> Option<Map> {
        let token = TokenId::parse(token)?;
        self.store.get(&token, now_s).unwrap_or_else(|error| {
            tracing::error!("could not read a token: {}", chain(&error));
            None
        })
    }

    /// Removes a token; false if there was none.
    pub(crate) fn remove(&self, token: &str) -> bool {
        let Some(token) = TokenId::parse(token) else {
            return false;
        };
        self.store.delete(&token).unwrap_or_else(|error| {
            tracing::error!("could not remove a token: {}", chain(&error));
            false
        })
    }

    /// Removes those that have expired.
    pub(crate) fn clean(&self, now_s: i64) {
        if let Err(error) = self.store.expire(now_s) {
            tracing::error!("could not remove old tokens: {}", chain(&error));
        }
    }
}

#[cfg(test)]
mod tests {
    use halite_store::StoreOptions;

    use super::*;

    fn tokens(dir: &tempfile::TempDir) -> Tokens {
        let store = halite_store::open(&StoreOptions::local_fs(dir.path(), HashType::Sha256));
        Tokens::new(store.tokens, HashType::Sha256)
    }

    #[test]
    fn a_token_holds_until_it_expires() {
        let dir = tempfile::tempdir().unwrap();
        let tokens = tokens(&dir);
        let who = Who {
            name: "alice",
            eauth: "pam",
            groups: &["ops".to_owned()],
        };
        let made = tokens.make(who, 100, None, 1000).unwrap();
        assert_eq!(made.get("groups"), Some(&Value::List(vec!["ops".into()])));
        let token = made.get("token").and_then(Value::as_str).unwrap();
        assert_eq!(token.len(), 64);
        assert_eq!(tokens.get(token, 1050), Some(made.clone()));
        assert_eq!(tokens.get(&token[1..], 1050), None);
        assert_eq!(tokens.get(token, 1101), None);
        // It is gone now, whatever the clock says.
        assert_eq!(tokens.get(token, 1050), None);
    }

    #[test]
    fn only_what_has_the_form_of_a_token_is_a_path() {
        let dir = tempfile::tempdir().unwrap();
        let tokens = tokens(&dir);
        for text in ["", "../tokens", "x", "a/b"] {
            assert_eq!(tokens.get(text, 0), None);
            assert!(!tokens.remove(text));
        }
    }
}
