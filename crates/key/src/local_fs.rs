//! Keys of minions as files: one directory per state, one file per key, as
//! Salt's programs leave and expect them.

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use halite_crypto::files::{
    FileError, MODE_SECRET, WriteOptions, ensure_private_dir, write_atomic,
};
use halite_proto::MinionId;

use crate::error::KeyStoreError;
use crate::key_file::{Links, check_dir, plain_files, read_key_text, remove_if_there};
use crate::limits::LISTING_SETTLED;
use crate::pki_dir::PkiDir;
use crate::state::KeyState;

/// What tells one version of a file or directory from the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileVersion {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileVersion {
    pub(crate) fn of(meta: &Metadata) -> Self {
        Self {
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

/// The state directories of a pki directory.
#[derive(Debug, Clone)]
pub(crate) struct LocalFs {
    dir: PathBuf,
    owner: Option<u32>,
}

impl LocalFs {
    /// The state directories below `pki`, as they are.
    pub(crate) fn new(pki: &PkiDir) -> Self {
        Self {
            dir: pki.path().to_owned(),
            owner: pki.owner(),
        }
    }

    /// The state directories below any directory.
    pub(crate) fn in_dir(dir: &Path, owner: Option<u32>) -> Self {
        Self {
            dir: dir.to_owned(),
            owner,
        }
    }

    /// Makes the state directories that are missing.
    pub(crate) fn make(&self) -> Result<(), KeyStoreError> {
        for state in KeyState::ALL {
            ensure_private_dir(&self.state_dir(state), self.owner)?;
        }
        Ok(())
    }

    pub(crate) fn write(
        &self,
        state: KeyState,
        id: &MinionId,
        pem: &str,
    ) -> Result<(), KeyStoreError> {
        // A key that is pending or denied comes again with the next try.
        let durable = matches!(state, KeyState::Accepted | KeyState::Rejected);
        self.write_file(state, id, pem, durable)
    }

    /// Writes the first copy of a key that is kept elsewhere. Of ten thousand accepted ones
    /// none waits for the disk: after a power cut one that is empty counts as none.
    pub(crate) fn write_copy(
        &self,
        state: KeyState,
        id: &MinionId,
        pem: &str,
    ) -> Result<(), KeyStoreError> {
        self.write_file(state, id, pem, state == KeyState::Rejected)
    }

    fn write_file(
        &self,
        state: KeyState,
        id: &MinionId,
        pem: &str,
        durable: bool,
    ) -> Result<(), KeyStoreError> {
        let options = WriteOptions {
            durable,
            ..WriteOptions::new(MODE_SECRET).owned_by(self.owner)
        };
        write_atomic(&self.path(state, id)?, options, pem.as_bytes())?;
        Ok(())
    }

    pub(crate) fn read(
        &self,
        state: KeyState,
        id: &MinionId,
    ) -> Result<Option<String>, KeyStoreError> {
        read_key_text(&self.path(state, id)?, Links::Ignored)
    }

    pub(crate) fn remove(&self, state: KeyState, id: &MinionId) -> Result<bool, KeyStoreError> {
        remove_if_there(&self.path(state, id)?)
    }

    pub(crate) fn list(&self, state: KeyState) -> Result<Vec<MinionId>, KeyStoreError> {
        let dir = self.state_dir(state);
        let mut ids = Vec::new();
        for name in plain_files(&dir)? {
            match name.to_str().map(MinionId::parse) {
                Some(Ok(id)) => ids.push(id),
                _ => tracing::debug!(dir = %dir.display(), ?name, "not the name of a minion"),
            }
        }
        Ok(ids)
    }

    pub(crate) fn version(
        &self,
        state: KeyState,
        id: &MinionId,
    ) -> Result<Option<FileVersion>, KeyStoreError> {
        let path = self.path(state, id)?;
        match fs::symlink_metadata(&path) {
            Ok(meta) => Ok(meta.is_file().then(|| FileVersion::of(&meta))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(FileError::Read { path, source }.into()),
        }
    }

    pub(crate) fn listing_version(&self, state: KeyState) -> Option<FileVersion> {
        let meta = fs::metadata(self.state_dir(state)).ok()?;
        is_settled(&meta).then(|| FileVersion::of(&meta))
    }

    /// Checks that the directory of the accepted keys exists and can be read.
    pub(crate) fn check_readable(&self) -> Result<(), KeyStoreError> {
        check_dir(&self.state_dir(KeyState::Accepted))
    }

    /// The location of a key, for messages.
    pub(crate) fn place(&self, state: KeyState, id: &MinionId) -> PathBuf {
        self.state_dir(state).join(id.as_str())
    }

    /// The one place where an id becomes a path that is used.
    fn path(&self, state: KeyState, id: &MinionId) -> Result<PathBuf, KeyStoreError> {
        if id.as_str().starts_with('.') {
            return Err(KeyStoreError::HiddenId {
                id: id.as_str().to_owned(),
            });
        }
        Ok(self.place(state, id))
    }

    fn state_dir(&self, state: KeyState) -> PathBuf {
        Path::new(&self.dir).join(state.dir_name())
    }
}

/// Whether a directory has rested: two changes within one tick of the file
/// system's clock leave the same version behind.
fn is_settled(meta: &Metadata) -> bool {
    let changed = meta.ctime().max(meta.mtime());
    let Ok(changed) = u64::try_from(changed) else {
        return true;
    };
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH + Duration::from_secs(changed))
        .is_ok_and(|age| age > LISTING_SETTLED)
}
