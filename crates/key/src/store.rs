//! The state directories of a pki directory.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use halite_crypto::files::{
    FileError, MODE_SECRET, WriteOptions, ensure_private_dir, read_limited, write_atomic,
};
use halite_crypto::{HashType, PublicKey, clean_key, fingerprint_path, fingerprint_text};
use halite_proto::MinionId;

use crate::error::KeyStoreError;
use crate::limits::KEY_FILE_BYTES_MAX;
use crate::state::{Change, FingerForm, KeyState, Listing};

/// A minion's key as it lies in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredKey {
    /// The state it is in.
    pub state: KeyState,
    /// The file's text.
    pub pem: String,
}

impl StoredKey {
    /// Whether `pem` is the same key, line ends and outer white space aside.
    pub fn is_same_key(&self, pem: &str) -> bool {
        clean_key(&self.pem) == clean_key(pem)
    }
}

/// A master's pki directory.
#[derive(Debug, Clone)]
pub struct KeyStore {
    dir: PathBuf,
    owner: Option<u32>,
}

impl KeyStore {
    /// Opens the directory, making it and the state directories with mode 0700
    /// where they are missing. New files are given to the user `owner`, if
    /// that is not this process' own.
    ///
    /// # Errors
    /// When a directory can neither be found nor made, or is open to others
    /// and cannot be closed.
    pub fn open(dir: impl Into<PathBuf>, owner: Option<u32>) -> Result<Self, KeyStoreError> {
        let this = Self {
            dir: dir.into(),
            owner,
        };
        ensure_private_dir(&this.dir, owner)?;
        for state in KeyState::ALL {
            ensure_private_dir(&this.dir.join(state.dir_name()), owner)?;
        }
        Ok(this)
    }

    /// Looks at a directory that must exist and is not changed by this.
    ///
    /// # Errors
    /// When it is not there.
    pub fn open_existing(dir: impl Into<PathBuf>) -> Result<Self, KeyStoreError> {
        let dir = dir.into();
        if dir.is_dir() {
            Ok(Self { dir, owner: None })
        } else {
            Err(KeyStoreError::NoDirectory { path: dir })
        }
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The user that new files are given to.
    pub fn owner(&self) -> Option<u32> {
        self.owner
    }

    /// Puts a key into a state, taking it out of every other one (a denied key
    /// stays, it is another key).
    ///
    /// # Errors
    /// When a file cannot be written or removed; the stricter state then holds.
    pub fn put(&self, id: &MinionId, state: KeyState, pem: &str) -> Result<(), KeyStoreError> {
        let options = WriteOptions {
            // A key that is pending or denied comes again with the next try.
            durable: matches!(state, KeyState::Accepted | KeyState::Rejected),
            ..WriteOptions::new(MODE_SECRET).owned_by(self.owner)
        };
        write_atomic(&self.path(state, id)?, options, pem.trim().as_bytes())?;
        if state != KeyState::Denied {
            for other in KeyState::LOOKUP {
                if other != state {
                    self.remove(other, id)?;
                }
            }
        }
        Ok(())
    }

    /// Moves an id's key to `to` if it is in one of the states `from`; a
    /// denied key is taken only when no other is meant.
    ///
    /// # Errors
    /// When a file cannot be read, written or removed.
    pub fn change(
        &self,
        id: &MinionId,
        from: &[KeyState],
        to: KeyState,
    ) -> Result<Option<Change>, KeyStoreError> {
        let Some(key) = self.among(id, from)? else {
            return Ok(None);
        };
        self.put(id, to, &key.pem)?;
        if key.state == KeyState::Denied && to != KeyState::Denied {
            self.remove(KeyState::Denied, id)?;
        }
        Ok(Some(Change {
            id: id.clone(),
            from: key.state,
            to: Some(to),
            pem: key.pem,
        }))
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
            if self.remove(state, id)? {
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

    /// The text of an id's key in one state. A symbolic link is no key, and an
    /// empty file (left by a power cut) is none either.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn get(&self, state: KeyState, id: &MinionId) -> Result<Option<String>, KeyStoreError> {
        read_key_text(&self.path(state, id)?, Links::Ignored)
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
                path: self
                    .dir
                    .join(KeyState::Accepted.dir_name())
                    .join(id.as_str()),
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
            .map(|pem| finger_of(pem.as_bytes(), form, hash_type)))
    }

    /// The ids with a key in one state's directory, sorted. For the state that
    /// an id is *in* see [`Self::list_all`].
    ///
    /// # Errors
    /// When the directory cannot be listed.
    pub fn list(&self, state: KeyState) -> Result<Vec<MinionId>, KeyStoreError> {
        let dir = self.dir.join(state.dir_name());
        let mut ids = Vec::new();
        for name in plain_files(&dir)? {
            match name.to_str().map(MinionId::parse) {
                Some(Ok(id)) => ids.push(id),
                _ => tracing::debug!(dir = %dir.display(), ?name, "not the name of a minion"),
            }
        }
        ids.sort_unstable();
        Ok(ids)
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

    /// The master's own key files (`*.pem`, `*.pub`, no symbolic links) by
    /// name, sorted.
    ///
    /// # Errors
    /// When the directory cannot be listed.
    pub fn local_keys(&self) -> Result<Vec<(String, PathBuf)>, KeyStoreError> {
        let mut keys: Vec<(String, PathBuf)> = plain_files(&self.dir)?
            .into_iter()
            .filter_map(|name| name.into_string().ok())
            .filter(|name| {
                let extension = Path::new(name).extension();
                extension.is_some_and(|extension| extension == "pem" || extension == "pub")
            })
            .map(|name| (name.clone(), self.dir.join(name)))
            .collect();
        keys.sort_unstable();
        Ok(keys)
    }

    /// The fingerprint of one of the master's own key files.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn finger_local(
        path: &Path,
        form: FingerForm,
        hash_type: HashType,
    ) -> Result<String, KeyStoreError> {
        let bytes = read_limited(path, KEY_FILE_BYTES_MAX)?;
        Ok(finger_of(&bytes, form, hash_type))
    }

    pub(crate) fn path(&self, state: KeyState, id: &MinionId) -> Result<PathBuf, KeyStoreError> {
        if id.as_str().starts_with('.') {
            return Err(KeyStoreError::HiddenId {
                id: id.as_str().to_owned(),
            });
        }
        Ok(self.dir.join(state.dir_name()).join(id.as_str()))
    }

    fn among(
        &self,
        id: &MinionId,
        states: &[KeyState],
    ) -> Result<Option<StoredKey>, KeyStoreError> {
        for state in KeyState::LOOKUP {
            if let Some(pem) = self.get(state, id)? {
                if states.contains(&state) {
                    return Ok(Some(StoredKey { state, pem }));
                }
                break;
            }
        }
        if states.contains(&KeyState::Denied) {
            let state = KeyState::Denied;
            return Ok(self.get(state, id)?.map(|pem| StoredKey { state, pem }));
        }
        Ok(None)
    }

    fn remove(&self, state: KeyState, id: &MinionId) -> Result<bool, KeyStoreError> {
        remove_if_there(&self.path(state, id)?)
    }
}

/// Whether a symbolic link may stand for a key file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    Ignored,
    Followed,
}

/// The text of a key file, none if there is no such file.
pub(crate) fn read_key_text(path: &Path, links: Links) -> Result<Option<String>, KeyStoreError> {
    if links == Links::Ignored && fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_file()) {
        return Ok(None);
    }
    let bytes = match read_limited(path, KEY_FILE_BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == Some(io::ErrorKind::NotFound) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    match String::from_utf8(bytes) {
        Ok(text) if text.trim().is_empty() => Ok(None),
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(KeyStoreError::NotText {
            path: path.to_owned(),
        }),
    }
}

/// Removes a file; false if there is none.
pub(crate) fn remove_if_there(path: &Path) -> Result<bool, KeyStoreError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(FileError::Remove {
            path: path.to_owned(),
            source,
        }
        .into()),
    }
}

/// The names of a directory's own files: no links, nothing hidden. A missing
/// directory has none.
fn plain_files(dir: &Path) -> Result<Vec<std::ffi::OsString>, KeyStoreError> {
    let list = || -> io::Result<Vec<std::ffi::OsString>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            if entry.file_type()?.is_file() && !is_hidden(&entry.file_name()) {
                names.push(entry.file_name());
            }
        }
        Ok(names)
    };
    match list() {
        Ok(names) => Ok(names),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(FileError::List {
            path: dir.to_owned(),
            source,
        }
        .into()),
    }
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().first() == Some(&b'.')
}

fn finger_of(bytes: &[u8], form: FingerForm, hash_type: HashType) -> String {
    match form {
        FingerForm::Body => fingerprint_path(bytes, hash_type),
        FingerForm::WholeText => fingerprint_text(bytes, hash_type),
    }
}
