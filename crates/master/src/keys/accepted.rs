//! The accepted minion keys, as the gate asks for them on every request.
//!
//! Invariant: the answer is the current state of the store. A key that an admin
//! accepts, rejects or deletes with any tool counts with the next request, because
//! each one asks for the key's version before a remembered result is used.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use halite_crypto::{HashType, PublicKey, clean_key, hash_hex};
use halite_key::{KeyState, KeyStore, KeyStoreError, KeyVersion, TokenCheck};
use halite_proto::MinionId;

use crate::error::chain;

/// A fingerprint of an accepted key: enough to recognise the key.
#[derive(Clone, Debug)]
struct Remembered {
    version: KeyVersion,
    key: KeyMark,
}

/// Identity of a public key: a digest of its normalised text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyMark(String);

impl KeyMark {
    /// The identity of a key's text.
    pub(crate) fn of(pem: &str) -> Self {
        Self(hash_hex(HashType::Sha256, clean_key(pem).as_bytes()))
    }

    /// The digest.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// An accepted key.
#[derive(Debug)]
pub(crate) struct AcceptedKey {
    /// Which key it is.
    pub(crate) mark: KeyMark,
}

/// The ids as they were when they were last listed.
#[derive(Debug, Default)]
struct Listing {
    /// `None` if the next look has to list them again.
    version: Option<KeyVersion>,
    ids: Vec<MinionId>,
}

/// The keys at the last check for removed ones.
#[derive(Debug, Default)]
struct Watched {
    /// As in [`Listing`].
    version: Option<KeyVersion>,
    keys: HashMap<MinionId, Option<KeyVersion>>,
}

impl Watched {
    /// Records the present keys; returns whether a minion is missing or has another key.
    fn take(&mut self, now: Vec<(MinionId, Option<KeyVersion>)>) -> bool {
        let mut before = std::mem::take(&mut self.keys);
        let mut has_lost = false;
        for (id, version) in now {
            let known = before.remove(&id).flatten();
            has_lost |= known.is_some() && version.is_some() && known != version;
            // One that cannot be told now is as it was.
            self.keys.insert(id, version.or(known));
        }
        has_lost || !before.is_empty()
    }
}

/// The accepted keys of a store, with what was learnt from them.
#[derive(Debug)]
pub(crate) struct AcceptedKeys {
    store: KeyStore,
    tokens: TokenCheck,
    keys: Mutex<HashMap<MinionId, Remembered>>,
    listing: Mutex<Listing>,
    /// The accepted keys when the decisions of other masters were last read.
    watched: Mutex<Watched>,
    /// The store does not answer, and that was said.
    is_away: AtomicBool,
}

impl AcceptedKeys {
    /// The accepted keys of a store.
    pub(crate) fn new(store: KeyStore) -> Self {
        Self {
            tokens: TokenCheck::new(store.clone()),
            store,
            keys: Mutex::default(),
            listing: Mutex::default(),
            watched: Mutex::default(),
            is_away: AtomicBool::new(false),
        }
    }

    /// The accepted key of a minion.
    pub(crate) fn get(&self, id: &MinionId) -> Option<AcceptedKey> {
        let mark = self.look_up(id)?;
        Some(AcceptedKey { mark })
    }

    /// The accepted public key of a minion itself.
    pub(crate) fn public_key(&self, id: &MinionId) -> Option<PublicKey> {
        match self.store.accepted_key(id) {
            Ok(key) => key,
            Err(error) => {
                tracing::error!(minion = %id, "could not use the accepted key: {}", chain(&error));
                None
            }
        }
    }

    /// Whether `token` proves that the request was made with the accepted key.
    pub(crate) fn proves(&self, id: &MinionId, token: &[u8]) -> bool {
        match self.tokens.is_right(id, token) {
            Ok(right) => right,
            Err(error) => {
                tracing::error!(minion = %id, "could not check a token: {}", chain(&error));
                false
            }
        }
    }

    /// The ids of all accepted keys, sorted.
    pub(crate) fn list(&self) -> Vec<MinionId> {
        let version = self.store.listing_version(KeyState::Accepted);
        let mut listing = self.listing.lock().unwrap_or_else(PoisonError::into_inner);
        if version.is_some() && listing.version == version {
            return listing.ids.clone();
        }
        match self.store.list(KeyState::Accepted) {
            Ok(ids) => {
                *listing = Listing {
                    version,
                    ids: ids.clone(),
                };
                ids
            }
            Err(error) => {
                tracing::error!("could not list the accepted keys: {}", chain(&error));
                // Those of the last look: a fleet does not vanish with a disk.
                listing.version = None;
                listing.ids.clone()
            }
        }
    }

    /// Whether a minion that was accepted at the last question is not any more, or with
    /// another key, where the store knows that. While the store does not answer, nobody is said to be out.
    pub(crate) fn has_lost_some(&self) -> bool {
        let version = self.store.listing_version(KeyState::Accepted);
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if version.is_some() && watched.version == version {
            return false;
        }
        // A directory that is not mounted has lost nothing.
        let readable = self.store.check_readable();
        let now = match readable.and_then(|()| self.store.list_versions(KeyState::Accepted)) {
            Ok(now) => now,
            Err(error) => {
                self.note_away(&error);
                return false;
            }
        };
        watched.version = version;
        watched.take(now)
    }

    /// Whether a minion is certainly not accepted: while the store does not
    /// answer, nobody is.
    pub(crate) fn is_out(&self, id: &MinionId) -> bool {
        matches!(self.version(id), Ok(None))
    }

    /// Forgets what was learnt of minions that are not accepted any more, and
    /// names them.
    pub(crate) fn prune(&self) -> Vec<MinionId> {
        let known: Vec<MinionId> = self.with_keys(|keys| keys.keys().cloned().collect());
        let out: Vec<MinionId> = known.into_iter().filter(|id| self.is_out(id)).collect();
        self.with_keys(|keys| keys.retain(|id, _| !out.contains(id)));
        out
    }

    fn look_up(&self, id: &MinionId) -> Option<KeyMark> {
        let Some(version) = self.version(id).ok()? else {
            self.with_keys(|keys| keys.remove(id));
            return None;
        };
        let known = self.with_keys(|keys| {
            keys.get(id)
                .filter(|known| known.version == version)
                .map(|known| known.key.clone())
        });
        if known.is_some() {
            return known;
        }
        let pem = self.store.get(KeyState::Accepted, id).ok().flatten()?;
        let key = KeyMark::of(&pem);
        let remembered = Remembered {
            version,
            key: key.clone(),
        };
        self.with_keys(|keys| keys.insert(id.clone(), remembered));
        Some(key)
    }

    /// The version of a minion's accepted key. An error was logged, once until
    /// the store answers again.
    fn version(&self, id: &MinionId) -> Result<Option<KeyVersion>, KeyStoreError> {
        let version = self.store.version(KeyState::Accepted, id);
        match &version {
            Ok(_) => self.is_away.store(false, Ordering::Relaxed),
            Err(error) => self.note_away(error),
        }
        version
    }

    fn note_away(&self, error: &KeyStoreError) {
        if !self.is_away.swap(true, Ordering::Relaxed) {
            tracing::error!("could not read an accepted key: {}", chain(error));
        }
    }

    fn with_keys<T>(&self, use_them: impl FnOnce(&mut HashMap<MinionId, Remembered>) -> T) -> T {
        use_them(&mut self.keys.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use halite_crypto::PrivateKey;

    use super::*;

    fn id(text: &str) -> MinionId {
        MinionId::parse(text).unwrap()
    }

    fn store(dir: &tempfile::TempDir) -> KeyStore {
        KeyStore::open(dir.path().join("pki"), None).unwrap()
    }

    #[test]
    fn a_token_is_proven_by_the_key_that_is_accepted_now() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(&dir);
        let keys = AcceptedKeys::new(store.clone());
        let accept = |key: &PrivateKey| {
            let pem = key.public().unwrap().to_pem().unwrap();
            store.put(&id("web1"), KeyState::Accepted, &pem).unwrap();
        };
        let one = PrivateKey::generate(1024).unwrap();
        let two = PrivateKey::generate(1024).unwrap();
        let token = one.request_token().unwrap();
        assert!(!keys.proves(&id("web1"), &token));
        accept(&one);
        let mark = keys.get(&id("web1")).unwrap().mark;
        assert!(keys.proves(&id("web1"), &token));
        assert!(!keys.proves(&id("web2"), &token));
        accept(&two);
        assert!(!keys.proves(&id("web1"), &token));
        assert_ne!(keys.get(&id("web1")).unwrap().mark, mark);
        store.delete(&id("web1")).unwrap();
        assert_eq!(keys.prune(), [id("web1")]);
        assert!(keys.get(&id("web1")).is_none());
    }

    #[test]
    fn only_key_files_are_listed() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(&dir);
        let keys = AcceptedKeys::new(store.clone());
        assert!(keys.list().is_empty());
        for name in ["web2", "web1"] {
            store.put(&id(name), KeyState::Accepted, "x").unwrap();
        }
        let accepted = dir.path().join("pki/minions");
        fs::write(accepted.join(".key_cache"), "x").unwrap();
        std::os::unix::fs::symlink("web1", accepted.join("link")).unwrap();
        assert_eq!(keys.list(), [id("web1"), id("web2")]);
        store.put(&id("web3"), KeyState::Accepted, "x").unwrap();
        assert_eq!(keys.list().len(), 3);
        assert!(keys.get(&id("link")).is_none());
    }

    #[test]
    fn a_key_is_lost_when_it_is_gone_or_another_one() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(&dir);
        let version = |text: &str| {
            store.put(&id("web1"), KeyState::Accepted, text).unwrap();
            store.version(KeyState::Accepted, &id("web1")).unwrap()
        };
        let (one, two) = (version("one"), version("other"));
        let mut watched = Watched::default();
        assert!(!watched.take(vec![(id("web1"), one), (id("web2"), None)]));
        // Not known for a while, and then the same.
        assert!(!watched.take(vec![(id("web1"), None), (id("web2"), None)]));
        assert!(!watched.take(vec![(id("web1"), one), (id("web2"), one)]));
        assert!(watched.take(vec![(id("web1"), two), (id("web2"), one)]));
        assert!(!watched.take(vec![(id("web1"), two), (id("web2"), one)]));
        assert!(watched.take(vec![(id("web1"), None)]));
        assert!(watched.take(vec![]));
    }

    #[test]
    fn the_same_key_written_differently_is_the_same() {
        assert_eq!(KeyMark::of("a\r\nb\n\n"), KeyMark::of("a\nb"));
        assert_ne!(KeyMark::of("a"), KeyMark::of("b"));
    }

    #[test]
    fn a_directory_that_is_missing_has_lost_no_key() {
        let dir = tempfile::tempdir().unwrap();
        let keys = AcceptedKeys::new(store(&dir));
        keys.store
            .put(&id("web1"), KeyState::Accepted, "x")
            .unwrap();
        assert!(!keys.has_lost_some());
        let accepted = dir.path().join("pki/minions");
        let aside = dir.path().join("aside");
        fs::rename(&accepted, &aside).unwrap();
        assert!(!keys.has_lost_some());
        fs::rename(&aside, &accepted).unwrap();
        assert!(!keys.has_lost_some());
        keys.store.delete(&id("web1")).unwrap();
        assert!(keys.has_lost_some());
    }

    #[test]
    fn a_store_that_does_not_answer_puts_nobody_out() {
        let dir = tempfile::tempdir().unwrap();
        let keys = AcceptedKeys::new(store(&dir));
        let web = id("web1");
        keys.store.put(&web, KeyState::Accepted, "x").unwrap();
        assert_eq!(keys.list(), std::slice::from_ref(&web));
        assert!(keys.get(&web).is_some() && !keys.is_out(&web));
        let accepted = dir.path().join("pki/minions");
        fs::rename(&accepted, dir.path().join("elsewhere")).unwrap();
        fs::write(&accepted, "no directory").unwrap();
        for _ in 0..2 {
            assert_eq!(keys.list(), std::slice::from_ref(&web));
        }
        assert!(keys.get(&web).is_none() && !keys.is_out(&web));
        assert!(keys.prune().is_empty());
        fs::remove_file(&accepted).unwrap();
        fs::create_dir(&accepted).unwrap();
        assert!(keys.list().is_empty());
        assert_eq!(keys.prune(), [web]);
    }
}
