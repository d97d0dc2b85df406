//! The record on the server under a minion's id.

use halite_crypto::random_bytes;
use halite_proto::msgpack::{pack_modern, unpack_modern};
use halite_proto::{Map, Value};
use halite_store::StoreError;

use super::{Digest, KEYS, digest};
use crate::error::KeyStoreError;
use crate::limits::{DENIED_BYTES_MAX, KEY_FILE_BYTES_MAX};
use crate::state::KeyState;

/// The fields beside Salt's, which Salt's programs leave as they are or drop.
const MARK: &str = "halite_mark";
const ENDED: &str = "halite_ended";

/// A minion's key in its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) state: KeyState,
    pub(super) pem: String,
    /// What tells this record from every other one; none of a Python master's.
    pub(super) mark: Option<Mark>,
    /// The mark of the record that this one has replaced, and that is no longer valid.
    pub(super) ended: Option<Mark>,
}

/// Random digits, and those of the key's digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark(String);

const RANDOM_DIGITS: usize = 16;
const MARK_DIGITS: usize = RANDOM_DIGITS + size_of::<Digest>();

impl Mark {
    fn new(pem: &str) -> Self {
        let random: [u8; RANDOM_DIGITS / 2] = random_bytes();
        let mut mark: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        mark.extend(digest(pem.as_bytes()).map(char::from));
        Self(mark)
    }

    /// Reads a mark; `None` if the text is not one.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let is_mark =
            text.len() == MARK_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_mark.then(|| Self(text.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether both are of records of the same key.
    pub(super) fn is_of_key_of(&self, other: &Self) -> bool {
        self.0.get(RANDOM_DIGITS..) == other.0.get(RANDOM_DIGITS..)
    }
}

impl Record {
    pub(super) fn new(state: KeyState, pem: &str) -> Self {
        Self {
            state,
            pem: pem.to_owned(),
            mark: Some(Mark::new(pem)),
            ended: None,
        }
    }

    /// The record for writing over another one: unless it accepts, the other is no longer
    /// valid.
    pub(super) fn over(mut self, stored: Option<&Self>) -> Self {
        if self.state != KeyState::Accepted {
            self.ended = stored.and_then(|stored| stored.mark.clone());
        }
        self
    }

    /// Whether it is that key in that state.
    pub(super) fn is(&self, (state, pem): (KeyState, &str)) -> bool {
        self.state == state && self.pem == pem
    }

    pub(super) fn packed(&self) -> Result<Vec<u8>, KeyStoreError> {
        let mut map = Map::from([("state", self.state.word()), ("pub", &self.pem)]);
        for (name, mark) in [(MARK, &self.mark), (ENDED, &self.ended)] {
            if let Some(mark) = mark {
                map.insert(name, mark.as_str());
            }
        }
        packed(&map.into())
    }

    /// Reads a record; an invalid one counts as missing, with a warning.
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
            let mark = |name| Mark::parse(map.get(name)?.as_str()?);
            Some(Self {
                state,
                pem,
                mark: mark(MARK),
                ended: mark(ENDED),
            })
        };
        let record = read();
        if record.is_none() {
            tracing::warn!("ignored an entry of the store that is not the key of a minion");
        }
        record
    }
}

/// A list of denied keys; an invalid one counts as empty.
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
