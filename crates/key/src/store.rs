//! The keys of minions, each in its state.

use std::path::{Path, PathBuf};

use halite_crypto::{HashType, PublicKey};
use halite_proto::MinionId;
use halite_store::{BackendOptions, StoreError};

use crate::backend::{Backend, KeyVersion};
use crate::cached::CachedKeys;
use crate::error::KeyStoreError;
use crate::limits::CHANGE_TRIES_MAX;
use crate::local_fs::LocalFs;
use crate::pki_dir::PkiDir;
use crate::state::{Change, FingerForm, KeyState, Listing, StoredKey};

/// Where a master keeps the mirror of keys on a server, below its cache directory.
pub const MIRROR_DIR: &str = "mirrored_keys";

/// A master's keys of minions, and the directory of its own keys.
#[derive(Debug, Clone)]
pub struct KeyStore {
    pki: PkiDir,
    backend: Backend,
}

impl KeyStore {
    /// Opens the pki directory, making it and the state directories with mode
    /// 0700 where they are missing. New files are given to the user `owner`,
    /// if that is not this process' own.
    ///
    /// # Errors
    /// When a directory can neither be found nor made, or is open to others
    /// and cannot be closed.
    pub fn open(dir: impl Into<PathBuf>, owner: Option<u32>) -> Result<Self, KeyStoreError> {
        let pki = PkiDir::open(dir, owner)?;
        let files = LocalFs::new(&pki);
        files.make()?;
        let backend = Backend::LocalFs(files);
        Ok(Self { pki, backend })
    }

    /// Opens a pki directory that must exist, without changing it.
    ///
    /// # Errors
    /// When it is not there, or whether it is cannot be seen.
    pub fn open_existing(dir: impl Into<PathBuf>) -> Result<Self, KeyStoreError> {
        let pki = PkiDir::open_existing(dir)?;
        let backend = Backend::LocalFs(LocalFs::new(&pki));
        Ok(Self { pki, backend })
    }

    /// As [`open`](Self::open), with the keys of minions where the options say. A
    /// mirror of those on a server, for when it is away, is kept in `mirror`, if
    /// there is one.
    ///
    /// # Errors
    /// When a directory can neither be found nor made. The server is not asked.
    pub fn open_at(
        dir: impl Into<PathBuf>,
        owner: Option<u32>,
        place: Option<&BackendOptions>,
        mirror: Option<&Path>,
    ) -> Result<Self, KeyStoreError> {
        let Some(cache) = place.and_then(BackendOptions::cache) else {
            return Self::open(dir, owner);
        };
        let pki = PkiDir::open(dir, owner)?;
        let cached = match mirror {
            Some(dir) => CachedKeys::with_mirror(cache, dir, owner)?,
            None => CachedKeys::without_mirror(cache),
        };
        let backend = Backend::Cached(cached);
        Ok(Self { pki, backend })
    }

    /// As [`open_existing`](Self::open_existing), with the keys of minions where
    /// the options say.
    ///
    /// # Errors
    /// When the directory is not there, or whether it is cannot be seen.
    pub fn open_existing_at(
        dir: impl Into<PathBuf>,
        place: Option<&BackendOptions>,
    ) -> Result<Self, KeyStoreError> {
        let Some(cache) = place.and_then(BackendOptions::cache) else {
            return Self::open_existing(dir);
        };
        let pki = PkiDir::open_existing(dir)?;
        let backend = Backend::Cached(CachedKeys::without_mirror(cache));
        Ok(Self { pki, backend })
    }

    /// The keys as the master sees them whose mirror is in a directory, for programs
    /// beside it: what it does not believe its server counts for them neither.
    #[must_use]
    pub fn as_seen_by(mut self, mirror: &Path) -> Self {
        if let Backend::Cached(cached) = &self.backend {
            self.backend = Backend::Cached(cached.as_seen_by(mirror));
        }
        self
    }

    /// Keys of minions in memory, beside a pki directory that must exist.
    ///
    /// # Errors
    /// When the directory is not there.
    #[cfg(feature = "test-backends")]
    pub fn in_memory(
        dir: impl Into<PathBuf>,
        keys: std::sync::Arc<crate::memory::MemoryKeys>,
    ) -> Result<Self, KeyStoreError> {
        let pki = PkiDir::open_existing(dir)?;
        let backend = Backend::Memory(keys);
        Ok(Self { pki, backend })
    }

    /// The directory of the master's own keys.
    pub fn pki(&self) -> &PkiDir {
        &self.pki
    }

    /// Puts a key into a state, taking it out of every other one (a denied key
    /// stays, it is another key).
    ///
    /// # Errors
    /// When a file cannot be written or removed; the stricter state then holds.
    pub fn put(&self, id: &MinionId, state: KeyState, pem: &str) -> Result<(), KeyStoreError> {
        self.backend.put(state, id, pem.trim())
    }

    /// Puts a key into a state as [`Self::put`] does, if the key that decides about the
    /// id is still the one that [`Self::lookup`] returned; otherwise returns false and
    /// leaves what is there. Files, which other processes change too, are checked right
    /// before and right after, and what somebody else has decided in between stands.
    ///
    /// # Errors
    /// As [`Self::put`], and when it cannot be seen what is there.
    pub fn put_over(
        &self,
        id: &MinionId,
        seen: Option<&StoredKey>,
        state: KeyState,
        pem: &str,
    ) -> Result<bool, KeyStoreError> {
        self.backend.put_over(id, seen, state, pem.trim())
    }

    /// Moves an id's key to `to` if it is in one of the states `from`; a denied key is
    /// used only if there is no other.
    ///
    /// # Errors
    /// When a file cannot be read, written or removed, or others change it again
    /// and again meanwhile.
    pub fn change(
        &self,
        id: &MinionId,
        from: &[KeyState],
        to: KeyState,
    ) -> Result<Option<Change>, KeyStoreError> {
        for _ in 0..CHANGE_TRIES_MAX {
            let Some(key) = self.among(id, from)? else {
                return Ok(None);
            };
            if !self.backend.replace(id, &key, to)? {
                continue;
            }
            if key.state == KeyState::Denied && to != KeyState::Denied {
                self.backend.remove(KeyState::Denied, id)?;
            }
            return Ok(Some(Change {
                id: id.clone(),
                from: key.state,
                to: Some(to),
                pem: key.pem,
            }));
        }
        Err(StoreError::Contested {
            place: self.backend.place(to, id).display().to_string(),
            tries: CHANGE_TRIES_MAX,
        }
        .into())
    }

    /// Accepts an id's key if it is in one of the states `from`.
    ///
    /// # Errors
    /// When a file cannot be read, written or removed.
    pub fn accept(
        &self,
        id: &MinionId,
        from: &[KeyState],
    ) -> Result<Option<Change>, KeyStoreError> {
        self.change(id, from, KeyState::Accepted)
    }

    /// Rejects an id's key if it is in one of the states `from`. The caller
    /// cuts running access with [`crate::dropfile::request_rotation`].
    ///
    /// # Errors
    /// When a file cannot be read, written or removed.
    pub fn reject(
        &self,
        id: &MinionId,
        from: &[KeyState],
    ) -> Result<Option<Change>, KeyStoreError> {
        self.change(id, from, KeyState::Rejected)
    }

    /// Deletes an id's keys in every state; one change per key found, the
    /// id's own state first. The caller cuts running access with
    /// [`crate::dropfile::request_rotation`].
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn delete(&self, id: &MinionId) -> Result<Vec<Change>, KeyStoreError> {
        let mut changes = Vec::new();
        for state in KeyState::LOOKUP.into_iter().chain([KeyState::Denied]) {
            // An unreadable file must still be deletable.
            let pem = self.get(state, id).ok().flatten();
            if self.backend.remove(state, id)? {
                changes.push(Change {
                    id: id.clone(),
                    from: state,
                    to: None,
                    pem: pem.unwrap_or_default(),
                });
            }
        }
        Ok(changes)
    }

    /// The key that decides about an id: the rejected, else the pending, else
    /// the accepted one.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn lookup(&self, id: &MinionId) -> Result<Option<StoredKey>, KeyStoreError> {
        self.among(id, &KeyState::LOOKUP)
    }

    /// The text of an id's key in one state. A symbolic link or an empty file (left by a
    /// power failure) does not count as a key.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn get(&self, state: KeyState, id: &MinionId) -> Result<Option<String>, KeyStoreError> {
        self.backend.read(state, id)
    }

    /// The accepted key of an id, parsed.
    ///
    /// # Errors
    /// When the file cannot be read or holds no usable key.
    pub fn accepted_key(&self, id: &MinionId) -> Result<Option<PublicKey>, KeyStoreError> {
        let Some(pem) = self.get(KeyState::Accepted, id)? else {
            return Ok(None);
        };
        PublicKey::from_pem(&pem)
            .map(Some)
            .map_err(|source| KeyStoreError::Key {
                path: self.backend.place(KeyState::Accepted, id),
                source,
            })
    }

    /// The fingerprint of an id's key in one state.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn finger(
        &self,
        state: KeyState,
        id: &MinionId,
        form: FingerForm,
        hash_type: HashType,
    ) -> Result<Option<String>, KeyStoreError> {
        Ok(self
            .get(state, id)?
            .map(|pem| form.fingerprint(pem.as_bytes(), hash_type)))
    }

    /// The ids with a key in one state, sorted. For the state that
    /// an id is *in* see [`Self::list_all`].
    ///
    /// # Errors
    /// When they cannot be listed.
    pub fn list(&self, state: KeyState) -> Result<Vec<MinionId>, KeyStoreError> {
        let mut ids = self.backend.list(state)?;
        ids.sort_unstable();
        Ok(ids)
    }

    /// As [`Self::list`], with the version of each key where the store knows it without a
    /// question for each: a server does while it is there, files do not.
    ///
    /// # Errors
    /// As [`Self::list`].
    pub fn list_versions(
        &self,
        state: KeyState,
    ) -> Result<Vec<(MinionId, Option<KeyVersion>)>, KeyStoreError> {
        let mut known = self.backend.list_versions(state)?;
        known.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Ok(known)
    }

    /// The version of an id's key in one state; `None` if there is no key.
    ///
    /// # Errors
    /// When it cannot be told whether there is one.
    pub fn version(
        &self,
        state: KeyState,
        id: &MinionId,
    ) -> Result<Option<KeyVersion>, KeyStoreError> {
        self.backend.version(state, id)
    }

    /// The version of the result of [`Self::list`]; `None` if it cannot be determined for
    /// now, so that the result must not be cached.
    pub fn listing_version(&self, state: KeyState) -> Option<KeyVersion> {
        self.backend.listing_version(state)
    }

    /// Checks that it can be told now whether a key is accepted. Elsewhere a missing
    /// directory counts as an empty one; here it is an error, as of a file system that is
    /// not mounted.
    ///
    /// # Errors
    /// When the directory cannot be read; or neither the mirror of a server nor the server.
    pub fn check_readable(&self) -> Result<(), KeyStoreError> {
        self.backend.check_readable()
    }

    /// All ids, each in the one state that it is in, and the denied keys.
    ///
    /// # Errors
    /// When a directory cannot be listed.
    pub fn list_all(&self) -> Result<Listing, KeyStoreError> {
        let mut listing = Listing {
            accepted: self.list(KeyState::Accepted)?,
            denied: self.list(KeyState::Denied)?,
            pending: self.list(KeyState::Pending)?,
            rejected: self.list(KeyState::Rejected)?,
        };
        let Listing {
            accepted,
            pending,
            rejected,
            ..
        } = &mut listing;
        pending.retain(|id| rejected.binary_search(id).is_err());
        accepted
            .retain(|id| rejected.binary_search(id).is_err() && pending.binary_search(id).is_err());
        Ok(listing)
    }

    fn among(
        &self,
        id: &MinionId,
        states: &[KeyState],
    ) -> Result<Option<StoredKey>, KeyStoreError> {
        let decides = self.backend.lookup(id)?;
        if let Some(key) = decides.filter(|key| states.contains(&key.state)) {
            return Ok(Some(key));
        }
        if states.contains(&KeyState::Denied) {
            let state = KeyState::Denied;
            return Ok(self.get(state, id)?.map(|pem| StoredKey { state, pem }));
        }
        Ok(None)
    }
}
