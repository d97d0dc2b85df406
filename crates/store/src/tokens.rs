//! Tokens: who has logged in once can show one for some hours instead.
//!
//! Invariant: only what has the form of a token reaches a backend, and one that
//! has expired is as good as none.

use std::fmt;
use std::sync::Arc;

use halite_crypto::{HashType, hash_hex, random_bytes};
use halite_proto::{Map, Value};

use crate::backend::{Backend, on};
use crate::error::StoreError;

/// Most characters of a token: the digits of the longest hash.
const TOKEN_CHARS_MAX: usize = 128;

/// Random bytes behind a token.
const SEED_BYTES: usize = 512;

/// What has the form of a token: hexadecimal digits. Its debugging output does
/// not show them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenId(String);

impl TokenId {
    /// A new token, as long as a hash of this type.
    pub fn generate(hash_type: HashType) -> Self {
        Self(hash_hex(hash_type, &random_bytes::<SEED_BYTES>()))
    }

    /// The token that a text is, `None` if it cannot be one.
    pub fn parse(text: &str) -> Option<Self> {
        let is_token = !text.is_empty()
            && text.len() <= TOKEN_CHARS_MAX
            && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_token.then(|| Self(text.to_owned()))
    }

    /// The digits.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenId(..)")
    }
}

/// The tokens of a store.
#[derive(Clone, Debug)]
pub struct Tokens {
    backend: Arc<Backend>,
}

impl Tokens {
    pub(crate) fn new(backend: Arc<Backend>) -> Self {
        Self { backend }
    }

    /// Stores what a token stands for. It holds until the second `expires_s`,
    /// which `data` names too (`expire`).
    ///
    /// # Errors
    /// When it cannot be packed or the store cannot be written.
    pub fn put(&self, token: &TokenId, data: &Map, expires_s: i64) -> Result<(), StoreError> {
        on!(self.backend, tokens.put(token, data, expires_s))
    }

    /// What a token stands for, `None` if there is no such token. One that has
    /// expired goes. What is damaged counts as none.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn get(&self, token: &TokenId, now_s: i64) -> Result<Option<Map>, StoreError> {
        let Some(data) = on!(self.backend, tokens.get(token))? else {
            return Ok(None);
        };
        match is_over(&data, now_s) {
            Some(false) => Ok(Some(data)),
            Some(true) => self.delete(token).map(|_| None),
            None => Ok(None),
        }
    }

    /// Removes a token; false if there was none.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn delete(&self, token: &TokenId) -> Result<bool, StoreError> {
        on!(self.backend, tokens.delete(token))
    }

    /// All tokens, in no particular order, those that have expired included.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn list(&self) -> Result<Vec<TokenId>, StoreError> {
        on!(self.backend, tokens.list())
    }

    /// Removes the tokens that have expired, and gives how many there were.
    ///
    /// # Errors
    /// When the store cannot be read or written; some may be gone by then.
    pub fn expire(&self, now_s: i64) -> Result<usize, StoreError> {
        on!(self.backend, tokens.expire(now_s))
    }
}

/// Whether the time of a token is over, `None` if it has none.
pub(crate) fn is_over(data: &Map, now_s: i64) -> Option<bool> {
    let expire = data.get("expire").and_then(Value::as_f64)?;
    #[expect(clippy::cast_precision_loss, reason = "seconds of our time fit")]
    let now_s = now_s as f64;
    Some(expire < now_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hexadecimal_digits_are_a_token() {
        for text in ["", "../tokens", "x", "a/b", &"0".repeat(129)] {
            assert_eq!(TokenId::parse(text), None);
        }
        let token = TokenId::parse("0aF").unwrap();
        assert_eq!(token.expose(), "0aF");
        assert_eq!(format!("{token:?}"), "TokenId(..)");
    }
}
