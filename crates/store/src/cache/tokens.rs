//! Tokens on a server, each under its own name in the bank `tokens`.
//!
//! Errors name the bank only, because the name of a token gives access to the
//! master.

use halite_proto::{Map, Value};

use super::{Cache, pack};
use crate::error::StoreError;
use crate::kept::{TokenId, is_over};
use crate::limits::TOKEN_BYTES_MAX;

const BANK: &str = "tokens";

/// The tokens of a server.
#[derive(Debug)]
pub(crate) struct Tokens(Cache);

impl Tokens {
    pub(crate) fn new(cache: Cache) -> Self {
        Self(cache)
    }

    pub(crate) fn put(
        &self,
        token: &TokenId,
        data: &Map,
        expires_s: i64,
    ) -> Result<(), StoreError> {
        // As Salt's cache marks a value that expires.
        let stored = Map::from([
            ("data", Value::from(data.clone())),
            ("_expires", expires_s.into()),
        ]);
        let packed = pack(BANK, &stored.into())?;
        self.0.store(BANK, token.expose(), packed)
    }

    pub(crate) fn get(&self, token: &TokenId) -> Result<Option<Map>, StoreError> {
        let found = self.0.fetch(BANK, token.expose());
        let found = match found {
            Err(StoreError::TooLarge { .. }) => return Ok(None),
            other => other?,
        };
        let Some(bytes) = found.filter(|bytes| bytes.len() as u64 <= TOKEN_BYTES_MAX) else {
            return Ok(None);
        };
        // What is damaged counts as none.
        let Ok(Value::Map(stored)) = halite_proto::msgpack::unpack_modern(&bytes) else {
            return Ok(None);
        };
        Ok(Some(match stored.get("data") {
            Some(Value::Map(data)) => data.clone(),
            _ => stored,
        }))
    }

    pub(crate) fn delete(&self, token: &TokenId) -> Result<bool, StoreError> {
        self.0.flush_key(BANK, token.expose())
    }

    pub(crate) fn list(&self) -> Result<Vec<TokenId>, StoreError> {
        let names = self.0.keys(BANK)?;
        Ok(names
            .iter()
            .filter_map(|name| TokenId::parse(name))
            .collect())
    }

    pub(crate) fn expire(&self, now_s: i64) -> Result<usize, StoreError> {
        let mut expired = 0;
        for token in self.list()? {
            let data = self.get(&token)?;
            if data.and_then(|data| is_over(&data, now_s)) == Some(true) && self.delete(&token)? {
                expired += 1;
            }
        }
        Ok(expired)
    }
}
