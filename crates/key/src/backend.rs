//! The backends of a [`KeyStore`](crate::KeyStore). Each variant has the same operations.

#[cfg(feature = "test-backends")]
use std::sync::Arc;

use std::path::PathBuf;

use halite_proto::MinionId;

use crate::cached::{CachedKeys, Digest};
use crate::error::KeyStoreError;
use crate::local_fs::{FileVersion, LocalFs};
#[cfg(feature = "test-backends")]
use crate::memory::MemoryKeys;
use crate::state::{KeyState, StoredKey};

#[derive(Debug, Clone)]
pub(crate) enum Backend {
    LocalFs(LocalFs),
    Cached(CachedKeys),
    #[cfg(feature = "test-backends")]
    Memory(Arc<MemoryKeys>),
}

/// What tells one version of a key, or of a list of keys, from the next. Two
/// that are equal are of the same content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyVersion(Version);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    File(FileVersion),
    Digest(Digest),
    #[cfg(feature = "test-backends")]
    Count(u64),
}

impl Backend {
    /// Writes a key wholly or not at all.
    pub(crate) fn write(
        &self,
        state: KeyState,
        id: &MinionId,
        pem: &str,
    ) -> Result<(), KeyStoreError> {
        match self {
            Self::LocalFs(files) => files.write(state, id, pem),
            Self::Cached(cached) => cached.write(state, id, pem),
            #[cfg(feature = "test-backends")]
            Self::Memory(memory) => memory.write(state, id, pem),
        }
    }

    /// Puts a key into a state and removes it from every other one; a server has one
    /// entry for an id, so there is nothing to remove.
    pub(crate) fn put(
        &self,
        state: KeyState,
        id: &MinionId,
        pem: &str,
    ) -> Result<(), KeyStoreError> {
        self.write(state, id, pem)?;
        if state == KeyState::Denied || matches!(self, Self::Cached(_)) {
            return Ok(());
        }
        for other in KeyState::LOOKUP {
            if other != state {
                self.remove(other, id)?;
            }
        }
        Ok(())
    }

    /// Puts a key into a state if what decides about the id is what was seen. A denied key
    /// decides nothing.
    pub(crate) fn put_over(
        &self,
        id: &MinionId,
        seen: Option<&StoredKey>,
        state: KeyState,
        pem: &str,
    ) -> Result<bool, KeyStoreError> {
        if state == KeyState::Denied {
            return self.put(state, id, pem).map(|()| true);
        }
        if let Self::Cached(cached) = self {
            let seen = seen.map(|key| (key.state, key.pem.as_str()));
            return cached.put_over(id, seen, state, pem);
        }
        let before = self.read_each(id)?;
        if before.first() != seen {
            return Ok(false);
        }
        // Another process may decide at the same time, and a pending key would decide
        // instead: `salt-key -a` writes the accepted key and then removes the pending one.
        let mut others = before.iter().skip(1);
        if state == KeyState::Pending && others.any(|key| key.state == KeyState::Accepted) {
            return Ok(false);
        }
        self.write(state, id, pem)?;
        for other in self.read_each(id)? {
            if other.state == state {
                continue;
            }
            if state != KeyState::Rejected && !before.contains(&other) {
                self.remove(state, id)?;
                return Ok(false);
            }
            self.remove(other.state, id)?;
        }
        Ok(true)
    }

    /// The keys of an id, the one that decides first.
    fn read_each(&self, id: &MinionId) -> Result<Vec<StoredKey>, KeyStoreError> {
        let mut found = Vec::new();
        for state in KeyState::LOOKUP {
            let pem = self.read(state, id)?;
            found.extend(pem.map(|pem| StoredKey { state, pem }));
        }
        Ok(found)
    }

    /// Moves a key that was read into another state; false, without a change, if it was
    /// changed meanwhile, as far as the backend can tell.
    pub(crate) fn replace(
        &self,
        id: &MinionId,
        read: &StoredKey,
        to: KeyState,
    ) -> Result<bool, KeyStoreError> {
        match self {
            Self::Cached(cached) if read.state != KeyState::Denied && to != KeyState::Denied => {
                cached.replace(id, (read.state, &read.pem), to)
            }
            _ => self.put(to, id, read.pem.trim()).map(|()| true),
        }
    }

    /// The key that decides about an id.
    pub(crate) fn lookup(&self, id: &MinionId) -> Result<Option<StoredKey>, KeyStoreError> {
        if let Self::Cached(cached) = self {
            let found = cached.lookup(id)?;
            return Ok(found.map(|(state, pem)| StoredKey { state, pem }));
        }
        for state in KeyState::LOOKUP {
            if let Some(pem) = self.read(state, id)? {
                return Ok(Some(StoredKey { state, pem }));
            }
        }
        Ok(None)
    }

    pub(crate) fn read(
        &self,
        state: KeyState,
        id: &MinionId,
    ) -> Result<Option<String>, KeyStoreError> {
        match self {
            Self::LocalFs(files) => files.read(state, id),
            Self::Cached(cached) => cached.read(state, id),
            #[cfg(feature = "test-backends")]
            Self::Memory(memory) => memory.read(state, id),
        }
    }

    /// Removes a key; false if it does not exist.
    pub(crate) fn remove(&self, state: KeyState, id: &MinionId) -> Result<bool, KeyStoreError> {
        match self {
            Self::LocalFs(files) => files.remove(state, id),
            Self::Cached(cached) => cached.remove(state, id),
            #[cfg(feature = "test-backends")]
            Self::Memory(memory) => memory.remove(state, id),
        }
    }

    /// The ids with a key in a state, in any order.
    pub(crate) fn list(&self, state: KeyState) -> Result<Vec<MinionId>, KeyStoreError> {
        match self {
            Self::LocalFs(files) => files.list(state),
            Self::Cached(cached) => cached.list(state),
            #[cfg(feature = "test-backends")]
            Self::Memory(memory) => memory.list(state),
        }
    }

    /// The ids as `list` has them, each with the version of its key where that is known
    /// without a question for each.
    pub(crate) fn list_versions(
        &self,
        state: KeyState,
    ) -> Result<Vec<(MinionId, Option<KeyVersion>)>, KeyStoreError> {
        if let Self::Cached(cached) = self {
            let known = cached.list_versions(state)?.into_iter();
            let version = |digest| KeyVersion(Version::Digest(digest));
            return Ok(known.map(|(id, of)| (id, of.map(version))).collect());
        }
        Ok(self.list(state)?.into_iter().map(|id| (id, None)).collect())
    }

    /// The version of a key; `None` if it does not exist.
    pub(crate) fn version(
        &self,
        state: KeyState,
        id: &MinionId,
    ) -> Result<Option<KeyVersion>, KeyStoreError> {
        let version = match self {
            Self::LocalFs(files) => files.version(state, id)?.map(Version::File),
            Self::Cached(cached) => cached.version(state, id)?.map(Version::Digest),
            #[cfg(feature = "test-backends")]
            Self::Memory(memory) => memory.version(state, id)?.map(Version::Count),
        };
        Ok(version.map(KeyVersion))
    }

    /// The version of the list of a state; `None` if it cannot be determined yet.
    pub(crate) fn listing_version(&self, state: KeyState) -> Option<KeyVersion> {
        let version = match self {
            Self::LocalFs(files) => files.listing_version(state).map(Version::File),
            Self::Cached(cached) => cached.listing_version(state).map(Version::Digest),
            #[cfg(feature = "test-backends")]
            Self::Memory(memory) => memory.listing_version(state).map(Version::Count),
        };
        version.map(KeyVersion)
    }

    /// Checks that the accepted keys can be read.
    pub(crate) fn check_readable(&self) -> Result<(), KeyStoreError> {
        match self {
            Self::LocalFs(files) => files.check_readable(),
            Self::Cached(cached) => cached.check_readable(),
            #[cfg(feature = "test-backends")]
            Self::Memory(memory) => memory.list(KeyState::Accepted).map(drop),
        }
    }

    /// The location of a key, for messages.
    pub(crate) fn place(&self, state: KeyState, id: &MinionId) -> PathBuf {
        match self {
            Self::LocalFs(files) => files.place(state, id),
            Self::Cached(cached) => PathBuf::from(cached.place(state, id)),
            #[cfg(feature = "test-backends")]
            Self::Memory(_) => PathBuf::from(format!("{state} key of {id}")),
        }
    }
}
