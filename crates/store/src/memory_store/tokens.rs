//! Tokens, in memory.

use std::collections::BTreeMap;
use std::sync::Mutex;

use halite_proto::Map;

use super::lock;
use crate::error::StoreError;
use crate::kept::TokenId;

/// The data of each token, and its expiry.
#[derive(Debug, Default)]
pub(crate) struct Tokens(Mutex<BTreeMap<TokenId, (Map, i64)>>);

impl Tokens {
    pub(crate) fn put(
        &self,
        token: &TokenId,
        data: &Map,
        expires_s: i64,
    ) -> Result<(), StoreError> {
        lock(&self.0).insert(token.clone(), (data.clone(), expires_s));
        Ok(())
    }

    pub(crate) fn get(&self, token: &TokenId) -> Result<Option<Map>, StoreError> {
        Ok(lock(&self.0).get(token).map(|(data, _)| data.clone()))
    }

    pub(crate) fn delete(&self, token: &TokenId) -> Result<bool, StoreError> {
        Ok(lock(&self.0).remove(token).is_some())
    }

    pub(crate) fn list(&self) -> Result<Vec<TokenId>, StoreError> {
        Ok(lock(&self.0).keys().cloned().collect())
    }

    pub(crate) fn expire(&self, now_s: i64) -> Result<usize, StoreError> {
        let mut tokens = lock(&self.0);
        let before = tokens.len();
        tokens.retain(|_, (_, expires_s)| *expires_s >= now_s);
        Ok(before - tokens.len())
    }
}
