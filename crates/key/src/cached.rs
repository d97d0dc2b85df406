//! Keys of minions in Salt's cache on a server, as 3008 keeps them with any
//! `keys.cache_driver` but files: the bank `keys` has a map of `state` and `pub`
//! for each minion, the bank `denied_keys` a list of keys.
//!
//! A master keeps a mirror of them on disk: while the server is away, the keys
//! are those that were last seen, and none can be changed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use halite_crypto::{HashType, hash_hex};
use halite_proto::msgpack::{pack_modern, unpack_modern};
use halite_proto::{Map, MinionId, Value};
use halite_store::limits::{FETCHED_AT_ONCE_MAX, STAMP_SETTLED_S};
use halite_store::{Cache, StoreError};

use crate::error::KeyStoreError;
use crate::limits::KEY_FILE_BYTES_MAX;
use crate::local_fs::LocalFs;
use crate::state::KeyState;

const KEYS: &str = "keys";
const DENIED: &str = "denied_keys";

/// The keys on a server. Clones share what they remember.
#[derive(Clone, Debug)]
pub(crate) struct CachedKeys(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    cache: Cache,
    mirror: Option<LocalFs>,
    seen: Mutex<Seen>,
}

/// What was seen on the server.
#[derive(Debug, Default)]
struct Seen {
    /// What the mirror has of each minion, once it was written or compared.
    mirrored: HashMap<MinionId, Option<Record>>,
    /// States by minion, with when they were stored and read.
    states: HashMap<MinionId, Listed>,
}

#[derive(Debug)]
struct Listed {
    stamp: i64,
    read_s: i64,
    state: Option<KeyState>,
}

/// A minion's key in its state.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Record {
    state: KeyState,
    pem: String,
}

/// The first bytes of a hash: of a key, or of a whole list.
pub(crate) type Digest = [u8; 32];

impl CachedKeys {
    pub(crate) fn new(cache: Cache, mirror: Option<LocalFs>) -> Self {
        Self(Arc::new(Inner {
            cache,
            mirror,
            seen: Mutex::default(),
        }))
    }

    pub(crate) fn write(
        &self,
        state: KeyState,
        id: &MinionId,
        pem: &str,
    ) -> Result<(), KeyStoreError> {
        let id = checked(id)?;
        if state == KeyState::Denied {
            let list = Value::List(vec![pem.into()]);
            return Ok(self.0.cache.store(DENIED, id.as_str(), packed(&list)?)?);
        }
        let map = Map::from([("state", state.word()), ("pub", pem)]);
        self.0
            .cache
            .store(KEYS, id.as_str(), packed(&map.into())?)?;
        let pem = pem.to_owned();
        self.mirror(id, Some(&Record { state, pem }));
        Ok(())
    }

    pub(crate) fn read(
        &self,
        state: KeyState,
        id: &MinionId,
    ) -> Result<Option<String>, KeyStoreError> {
        let id = checked(id)?;
        if state == KeyState::Denied {
            let bytes = self.0.cache.fetch(DENIED, id.as_str())?;
            return Ok(bytes.and_then(|bytes| denied_key(&bytes)));
        }
        match self.record(id) {
            Ok(record) => Ok(record
                .filter(|record| record.state == state)
                .map(|record| record.pem)),
            Err(error) => self.while_away(error, |mirror| mirror.read(state, id)),
        }
    }

    pub(crate) fn remove(&self, state: KeyState, id: &MinionId) -> Result<bool, KeyStoreError> {
        let id = checked(id)?;
        if state == KeyState::Denied {
            return Ok(self.0.cache.flush_key(DENIED, id.as_str())?);
        }
        if self.record(id)?.is_none_or(|record| record.state != state) {
            return Ok(false);
        }
        let was_there = self.0.cache.flush_key(KEYS, id.as_str())?;
        self.mirror(id, None);
        Ok(was_there)
    }

    pub(crate) fn list(&self, state: KeyState) -> Result<Vec<MinionId>, KeyStoreError> {
        if state == KeyState::Denied {
            let names = self.0.cache.keys(DENIED)?;
            return Ok(names.iter().filter_map(|name| listable(name)).collect());
        }
        match self.list_on_server(state) {
            Ok(ids) => Ok(ids),
            Err(error) => self.while_away(error, |mirror| mirror.list(state)),
        }
    }

    pub(crate) fn version(
        &self,
        state: KeyState,
        id: &MinionId,
    ) -> Result<Option<Digest>, KeyStoreError> {
        Ok(self.read(state, id)?.map(|pem| digest(pem.as_bytes())))
    }

    /// The times of all keys, unless one is so young that it may change without
    /// its time.
    pub(crate) fn listing_version(&self, state: KeyState) -> Option<Digest> {
        let bank = if state == KeyState::Denied {
            DENIED
        } else {
            KEYS
        };
        let mut stamps = self.0.cache.stamps(bank).ok()?;
        let settled_s = now_s().saturating_sub(STAMP_SETTLED_S);
        if stamps.iter().any(|(_, stamp)| *stamp > settled_s) {
            return None;
        }
        stamps.sort_unstable();
        Some(digest(format!("{stamps:?}").as_bytes()))
    }

    /// Where a key is, for messages.
    pub(crate) fn place(&self, state: KeyState, id: &MinionId) -> String {
        let bank = if state == KeyState::Denied {
            DENIED
        } else {
            KEYS
        };
        self.0.cache.place(bank, id.as_str())
    }

    fn record(&self, id: &MinionId) -> Result<Option<Record>, KeyStoreError> {
        let bytes = self.0.cache.fetch(KEYS, id.as_str())?;
        let record = bytes.and_then(|bytes| Record::read(&bytes));
        self.mirror(id, record.as_ref());
        Ok(record)
    }

    /// Only the keys that were stored since the last look are fetched.
    fn list_on_server(&self, state: KeyState) -> Result<Vec<MinionId>, KeyStoreError> {
        let now_s = now_s();
        let stamps = self.0.cache.stamps(KEYS)?;
        let stamps = stamps
            .into_iter()
            .filter_map(|(name, stamp)| Some((listable(&name)?, stamp)));
        let stamps: HashMap<MinionId, i64> = stamps.collect();
        let changed: Vec<(MinionId, i64)> = {
            let mut seen = self.seen();
            seen.states.retain(|id, _| stamps.contains_key(id));
            let is_kept = |(id, stamp): &(&MinionId, &i64)| {
                seen.states.get(*id).is_some_and(|known| {
                    known.stamp == **stamp && known.read_s >= stamp.saturating_add(STAMP_SETTLED_S)
                })
            };
            let changed = stamps.iter().filter(|it| !is_kept(it));
            changed.map(|(id, stamp)| (id.clone(), *stamp)).collect()
        };
        for part in changed.chunks(FETCHED_AT_ONCE_MAX) {
            let names: Vec<String> = part.iter().map(|(id, _)| id.to_string()).collect();
            let found = self.0.cache.fetch_many(KEYS, &names)?;
            for ((id, stamp), bytes) in part.iter().zip(found) {
                let record = bytes.and_then(|bytes| Record::read(&bytes));
                self.mirror(id, record.as_ref());
                let listed = Listed {
                    stamp: *stamp,
                    read_s: now_s,
                    state: record.map(|record| record.state),
                };
                self.seen().states.insert(id.clone(), listed);
            }
        }
        self.drop_from_mirror(&stamps);
        let seen = self.seen();
        let of_state = seen.states.iter().filter(|(_, it)| it.state == Some(state));
        Ok(of_state.map(|(id, _)| id.clone()).collect())
    }

    /// What the mirror says if the server is to blame for an error.
    fn while_away<T>(
        &self,
        error: KeyStoreError,
        ask: impl FnOnce(&LocalFs) -> Result<T, KeyStoreError>,
    ) -> Result<T, KeyStoreError> {
        match &self.0.mirror {
            Some(mirror) if error.is_of_server() => ask(mirror),
            _ => Err(error),
        }
    }

    /// Keeps in the mirror what was seen of a minion. A mirror that cannot be
    /// written is said and tried again with the next look.
    fn mirror(&self, id: &MinionId, record: Option<&Record>) {
        let Some(mirror) = &self.0.mirror else { return };
        let mut seen = self.seen();
        if seen
            .mirrored
            .get(id)
            .is_some_and(|known| known.as_ref() == record)
        {
            return;
        }
        match put(mirror, id, record) {
            Ok(()) => drop(seen.mirrored.insert(id.clone(), record.cloned())),
            Err(error) => tracing::warn!(minion = %id, %error, "could not mirror a key"),
        }
    }

    fn drop_from_mirror(&self, listed: &HashMap<MinionId, i64>) {
        let Some(mirror) = &self.0.mirror else { return };
        for state in KeyState::LOOKUP {
            for id in mirror.list(state).unwrap_or_default() {
                if !listed.contains_key(&id) {
                    self.mirror(&id, None);
                }
            }
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The stricter state is written before the other one goes.
fn put(mirror: &LocalFs, id: &MinionId, record: Option<&Record>) -> Result<(), KeyStoreError> {
    if let Some(record) = record {
        mirror.write(record.state, id, &record.pem)?;
    }
    for state in KeyState::LOOKUP {
        if record.is_none_or(|record| record.state != state) {
            mirror.remove(state, id)?;
        }
    }
    Ok(())
}

impl Record {
    /// What is none of a key counts as none, with a warning.
    fn read(bytes: &[u8]) -> Option<Self> {
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

/// The first of a list of denied keys.
fn denied_key(bytes: &[u8]) -> Option<String> {
    if bytes.len() as u64 > KEY_FILE_BYTES_MAX {
        return None;
    }
    match unpack_modern(bytes).ok()? {
        Value::List(keys) => keys.first()?.as_str().map(str::to_owned),
        _ => None,
    }
}

fn checked(id: &MinionId) -> Result<&MinionId, KeyStoreError> {
    match id.as_str().starts_with('.') {
        false => Ok(id),
        true => Err(KeyStoreError::HiddenId {
            id: id.as_str().to_owned(),
        }),
    }
}

fn listable(name: &str) -> Option<MinionId> {
    let id = MinionId::parse(name).ok()?;
    (!name.starts_with('.')).then_some(id)
}

fn packed(value: &Value) -> Result<Vec<u8>, KeyStoreError> {
    let packed = pack_modern(value);
    packed.map_err(|source| {
        let place = KEYS.to_owned();
        StoreError::Pack { place, source }.into()
    })
}

fn digest(bytes: &[u8]) -> Digest {
    let hex = hash_hex(HashType::Sha256, bytes);
    let mut digest = [0; 32];
    for (to, from) in digest.iter_mut().zip(hex.bytes()) {
        *to = from;
    }
    digest
}

fn now_s() -> i64 {
    let age = SystemTime::now().duration_since(UNIX_EPOCH);
    age.map_or(0, |age| i64::try_from(age.as_secs()).unwrap_or(i64::MAX))
}
