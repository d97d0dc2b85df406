//! Tokens: after a login, a user can show one for some hours instead of a password.
//!
//! Invariant: only a text in the form of a token reaches a backend, and an expired
//! token counts as missing.

use std::sync::Arc;

use halite_proto::Map;

use crate::backend::{Backend, on};
use crate::error::StoreError;
use crate::kept::{TokenId, is_over};

/// The tokens of a store.
#[derive(Clone, Debug)]
pub struct Tokens {
    backend: Arc<Backend>,
}

impl Tokens {
    pub(crate) fn new(backend: Arc<Backend>) -> Self {
        Self { backend }
    }

    /// Stores the data of a token. It is valid until the second `expires_s`, which `data`
    /// contains too (`expire`).
    ///
    /// # Errors
    /// When it cannot be packed or the store cannot be written.
    pub fn put(&self, token: &TokenId, data: &Map, expires_s: i64) -> Result<(), StoreError> {
        on!(self.backend, tokens.put(token, data, expires_s))
    }

    /// The data of a token, or `None`. An expired token is removed. Damaged data counts
    /// as missing.
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

    /// Removes the tokens that have expired, and returns how many there were.
    ///
    /// # Errors
    /// When the store cannot be read or written; some may be gone by then.
    pub fn expire(&self, now_s: i64) -> Result<usize, StoreError> {
        on!(self.backend, tokens.expire(now_s))
    }
}
