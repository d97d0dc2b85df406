//! Minion keys in Salt's cache on a server, as 3008 keeps them with any
//! `keys.cache_driver` except files: the bank `keys` has a map of `state` and `pub`
//! for each minion, the bank `denied_keys` a list of keys.
//!
//! A master keeps a mirror of them on disk: while the server is away, it uses the
//! keys that it has seen last, and none can be changed. It also records which
//! acceptances have ended, and does not believe them if they come back (`ended`).

mod ended;
mod lists;
mod mirror;
mod record;
mod removed;

use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halite_crypto::files::ensure_private_dir;
use halite_crypto::{HashType, hash_hex};
use halite_process::clock::unix_timestamp;
use halite_proto::{MinionId, Value};
use halite_store::limits::STAMP_SETTLED_S;
use halite_store::{Cache, StoreError};

use self::ended::Ended;
use self::mirror::Seen;
use self::record::{Record, denied_keys, packed};
use crate::error::KeyStoreError;
use crate::limits::{CHANGE_TRIES_MAX, DENIED_KEYS_MAX};
use crate::local_fs::LocalFs;
use crate::state::KeyState;

const KEYS: &str = "keys";
const DENIED: &str = "denied_keys";

/// An id that no minion has, to see whether the server answers.
const PROBE: &str = ".readable";

/// The keys on a server. Clones share what they remember.
#[derive(Clone, Debug)]
pub(crate) struct CachedKeys(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    cache: Cache,
    mirror: Option<LocalFs>,
    /// Held while a key is changed here and in the mirror, so that both see
    /// changes in the same order.
    changes: Mutex<()>,
    seen: Mutex<Seen>,
    ended: Mutex<Ended>,
    /// Counts keys that were removed.
    removed: AtomicUsize,
}

/// The first bytes of a hash: of a key, or of a whole list.
pub(crate) type Digest = [u8; 32];

impl CachedKeys {
    /// The keys with a mirror in a directory, which is made.
    pub(crate) fn with_mirror(
        cache: Cache,
        dir: &Path,
        owner: Option<u32>,
    ) -> Result<Self, KeyStoreError> {
        ensure_private_dir(dir, owner)?;
        let mirror = LocalFs::in_dir(dir, owner);
        mirror.make()?;
        let ended = Ended::in_mirror(dir, owner)?;
        Ok(Self::new(cache, Some(mirror), ended))
    }

    /// The keys without a mirror.
    pub(crate) fn without_mirror(cache: Cache) -> Self {
        Self::new(cache, None, Ended::default())
    }

    /// The same without a mirror, with what that of a master says of acceptances that
    /// have ended.
    pub(crate) fn as_seen_by(&self, mirror: &Path) -> Self {
        let ended = Ended::of_master(mirror).unwrap_or_else(|error| {
            tracing::warn!(%error, "the list of keys that are no longer valid cannot be read");
            Ended::default()
        });
        Self::new(self.0.cache.clone(), None, ended)
    }

    fn new(cache: Cache, mirror: Option<LocalFs>, ended: Ended) -> Self {
        Self(Arc::new(Inner {
            cache,
            mirror,
            changes: Mutex::default(),
            seen: Mutex::default(),
            ended: Mutex::new(ended),
            removed: AtomicUsize::default(),
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
            return self.add_denied(id, pem);
        }
        let _change = self.begin_change();
        let record = match state {
            KeyState::Accepted => Record::new(state, pem),
            _ => {
                let stored = self.0.cache.fetch(KEYS, id.as_str())?;
                Record::new(state, pem).over(stored.as_deref().and_then(Record::read).as_ref())
            }
        };
        let packed = record.packed()?;
        self.0.cache.store(KEYS, id.as_str(), packed)?;
        self.mirror_change(id, self.believed(id, record).as_ref());
        Ok(())
    }

    /// Moves a key into another state if it is unchanged since it was read; otherwise
    /// returns false and changes nothing.
    pub(crate) fn replace(
        &self,
        id: &MinionId,
        read: (KeyState, &str),
        to: KeyState,
    ) -> Result<bool, KeyStoreError> {
        self.put_over(id, Some(read), to, read.1)
    }

    /// Writes a key over the one that was read (`None`: there was none, or it was
    /// invalid); false, without a change, if it was changed meanwhile.
    pub(crate) fn put_over(
        &self,
        id: &MinionId,
        read: Option<(KeyState, &str)>,
        to: KeyState,
        pem: &str,
    ) -> Result<bool, KeyStoreError> {
        let id = checked(id)?;
        let _change = self.begin_change();
        let stored = self.0.cache.fetch(KEYS, id.as_str())?;
        let known = stored.as_deref().and_then(Record::read);
        let known = known.and_then(|record| self.believed(id, record));
        let is_same = match (&known, read) {
            (Some(known), Some(read)) => known.is(read),
            (known, read) => known.is_none() && read.is_none(),
        };
        if !is_same {
            return Ok(false);
        }
        let wanted = Record::new(to, pem).over(known.as_ref());
        let packed = wanted.packed()?;
        let is_done = self.0.cache.replace(KEYS, id.as_str(), stored, packed)?;
        if is_done {
            self.mirror_change(id, self.believed(id, wanted).as_ref());
        }
        Ok(is_done)
    }

    /// Adds a denied key to those of an id, as Salt does. Of many the first ones
    /// are kept.
    fn add_denied(&self, id: &MinionId, pem: &str) -> Result<(), KeyStoreError> {
        for _ in 0..CHANGE_TRIES_MAX {
            let stored = self.0.cache.fetch(DENIED, id.as_str())?;
            let mut keys = stored.as_deref().map_or_else(Vec::new, denied_keys);
            if keys.iter().any(|known| known == pem) || keys.len() >= DENIED_KEYS_MAX {
                return Ok(());
            }
            keys.push(pem.to_owned());
            let list = Value::List(keys.into_iter().map(Value::from).collect());
            let packed = packed(&list)?;
            if self.0.cache.replace(DENIED, id.as_str(), stored, packed)? {
                return Ok(());
            }
        }
        Err(StoreError::Contested {
            place: self.place(KeyState::Denied, id),
            tries: CHANGE_TRIES_MAX,
        }
        .into())
    }

    /// The key that decides about an id, and its state.
    pub(crate) fn lookup(
        &self,
        id: &MinionId,
    ) -> Result<Option<(KeyState, String)>, KeyStoreError> {
        let id = checked(id)?;
        match self.record(id) {
            Ok(record) => Ok(record.map(|record| (record.state, record.pem))),
            Err(error) => self.while_away(error, |mirror| {
                for state in KeyState::LOOKUP {
                    if let Some(pem) = mirror.read(state, id)? {
                        return Ok(Some((state, pem)));
                    }
                }
                Ok(None)
            }),
        }
    }

    pub(crate) fn read(
        &self,
        state: KeyState,
        id: &MinionId,
    ) -> Result<Option<String>, KeyStoreError> {
        let id = checked(id)?;
        if state == KeyState::Denied {
            let bytes = self.0.cache.fetch(DENIED, id.as_str())?;
            return Ok(bytes.and_then(|bytes| denied_keys(&bytes).into_iter().next()));
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
        let Some(record) = self.record(id)?.filter(|record| record.state == state) else {
            return Ok(false);
        };
        let _change = self.begin_change();
        let was_there = self.remove_marked(id, record.mark.as_ref())?;
        self.mirror_change(id, None);
        Ok(was_there)
    }

    pub(crate) fn version(
        &self,
        state: KeyState,
        id: &MinionId,
    ) -> Result<Option<Digest>, KeyStoreError> {
        Ok(self.read(state, id)?.map(|pem| digest(pem.as_bytes())))
    }

    /// Checks that the mirror can be read, which is used while the server is away; if it
    /// cannot, that the server answers.
    pub(crate) fn check_readable(&self) -> Result<(), KeyStoreError> {
        match &self.0.mirror {
            Some(mirror) if mirror.check_readable().is_ok() => Ok(()),
            _ => Ok(self.0.cache.fetch(KEYS, PROBE).map(drop)?),
        }
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
        let settled_s = unix_timestamp().saturating_sub(STAMP_SETTLED_S);
        if stamps.iter().any(|(_, stamp)| *stamp > settled_s) {
            return None;
        }
        stamps.sort_unstable();
        let mut all = Vec::new();
        for (name, stamp) in &stamps {
            all.extend_from_slice(name.as_bytes());
            all.push(0);
            all.extend_from_slice(&stamp.to_le_bytes());
        }
        Some(digest(&all))
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
        let changes = self.seen().changes;
        let bytes = self.0.cache.fetch(KEYS, id.as_str())?;
        let record = bytes.and_then(|bytes| Record::read(&bytes));
        let record = record.and_then(|record| self.believed(id, record));
        if record.is_none() && self.may_be_in_mirror(id) {
            self.note_removed(std::slice::from_ref(id))?;
        }
        self.mirror(changes, id, record.as_ref());
        Ok(record)
    }

    /// A record as far as it counts for this master.
    fn believed(&self, id: &MinionId, record: Record) -> Option<Record> {
        self.ended().believed(id, record)
    }

    fn ended(&self) -> MutexGuard<'_, Ended> {
        self.0.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin_change(&self) -> MutexGuard<'_, ()> {
        self.0
            .changes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
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

fn digest(bytes: &[u8]) -> Digest {
    let hex = hash_hex(HashType::Sha256, bytes);
    let mut digest = [0; 32];
    for (to, from) in digest.iter_mut().zip(hex.bytes()) {
        *to = from;
    }
    digest
}
