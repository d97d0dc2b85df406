//! What lies on the server under a minion's id.

use halite_proto::msgpack::{pack_modern, unpack_modern};
use halite_proto::{Map, Value};
use halite_store::StoreError;

use super::KEYS;
use crate::error::KeyStoreError;
use crate::limits::{DENIED_BYTES_MAX, KEY_FILE_BYTES_MAX};
use crate::state::KeyState;

/// A minion's key in its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) state: KeyState,
    pub(super) pem: String,
}

impl Record {
    pub(super) fn new(state: KeyState, pem: &str) -> Self {
        let pem = pem.to_owned();
        Self { state, pem }
    }

    pub(super) fn packed(&self) -> Result<Vec<u8>, KeyStoreError> {
        let map = Map::from([("state", self.state.word()), ("pub", &self.pem)]);
        packed(&map.into())
    }

    /// What is none of a key counts as none, with a warning.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let read = || {
            if bytes.len() as u64 > KEY_FILE_BYTES_MAX {
                return None;
            }
            let Ok(Value::Map(map)) = unpack_modern(bytes) else {
                return None;
            };
            let word = map.get("state")?.as_str()?;
            let state = KeyState::LOOKUP
                .into_iter()
                .find(|state| state.word() == word)?;
            let pem = map.get("pub")?.as_str()?.trim();
            let pem = (!pem.is_empty()).then(|| pem.to_owned())?;
            Some(Self { state, pem })
        };
        let record = read();
        if record.is_none() {
            tracing::warn!("an entry of the store is no key of a minion, it is ignored");
        }
        record
    }
}

/// A list of denied keys; what is none counts as empty.
pub(super) fn denied_keys(bytes: &[u8]) -> Vec<String> {
    if bytes.len() as u64 > DENIED_BYTES_MAX {
        return Vec::new();
    }
    let Ok(Value::List(keys)) = unpack_modern(bytes) else {
        return Vec::new();
    };
    let keys = keys.iter().filter_map(Value::as_str);
    keys.map(str::to_owned).collect()
}

pub(super) fn packed(value: &Value) -> Result<Vec<u8>, KeyStoreError> {
    let packed = pack_modern(value);
    packed.map_err(|source| {
        let place = KEYS.to_owned();
        StoreError::Pack { place, source }.into()
    })
}
