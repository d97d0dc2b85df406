//! The token in every request of a minion, checked against its accepted key.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use halite_crypto::{HashType, constant_time_eq, hash_hex};
use halite_proto::MinionId;

use crate::backend::KeyVersion;
use crate::error::KeyStoreError;
use crate::limits::TOKENS_REMEMBERED_MAX;
use crate::state::KeyState;
use crate::store::KeyStore;

/// Checks tokens. A key's token never changes, so a token that was right once
/// is right as long as the key is the same: each check asks for its version, but
/// does the arithmetic only once per key.
#[derive(Debug)]
pub struct TokenCheck {
    store: KeyStore,
    right: Mutex<HashMap<MinionId, Remembered>>,
}

#[derive(Debug)]
struct Remembered {
    version: KeyVersion,
    token_digest: String,
}

impl TokenCheck {
    /// Checks against the accepted keys of `store`.
    pub fn new(store: KeyStore) -> Self {
        Self {
            store,
            right: Mutex::new(HashMap::new()),
        }
    }

    /// Whether `id` has an accepted key and `token` is that key's.
    ///
    /// # Errors
    /// When the key file is there but cannot be used.
    pub fn is_right(&self, id: &MinionId, token: &[u8]) -> Result<bool, KeyStoreError> {
        let Some(version) = self.store.version(KeyState::Accepted, id)? else {
            self.lock().remove(id);
            return Ok(false);
        };
        let token_digest = hash_hex(HashType::Sha256, token);
        if let Some(known) = self.lock().get(id)
            && known.version == version
        {
            return Ok(constant_time_eq(
                known.token_digest.as_bytes(),
                token_digest.as_bytes(),
            ));
        }
        let right = self
            .store
            .accepted_key(id)?
            .is_some_and(|key| key.accepts_request_token(token));
        if right {
            let mut known = self.lock();
            if known.len() >= TOKENS_REMEMBERED_MAX {
                known.clear();
            }
            known.insert(
                id.clone(),
                Remembered {
                    version,
                    token_digest,
                },
            );
        }
        Ok(right)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<MinionId, Remembered>> {
        // A panic elsewhere cannot leave the map half changed.
        self.right.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
