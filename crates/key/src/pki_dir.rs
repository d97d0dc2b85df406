//! The directory of a master's own keys, which are always files, wherever the keys
//! of its minions are.

use std::fs;
use std::path::{Path, PathBuf};

use halite_crypto::HashType;
use halite_crypto::files::{FileError, ensure_private_dir, read_limited};

use crate::error::KeyStoreError;
use crate::key_file::{is_absence, plain_files};
use crate::limits::KEY_FILE_BYTES_MAX;
use crate::state::FingerForm;

/// A master's pki directory: its key pairs, signatures and changes of keys.
#[derive(Debug, Clone)]
pub struct PkiDir {
    dir: PathBuf,
    owner: Option<u32>,
}

impl PkiDir {
    /// Opens the directory, making it with mode 0700 where it is missing. New
    /// files are given to the user `owner`, if that is not this process' own.
    ///
    /// # Errors
    /// When it can neither be found nor made, or is open to others and cannot
    /// be closed.
    pub fn open(dir: impl Into<PathBuf>, owner: Option<u32>) -> Result<Self, KeyStoreError> {
        let dir = dir.into();
        ensure_private_dir(&dir, owner)?;
        Ok(Self { dir, owner })
    }

    /// Opens a directory that must exist, without changing it.
    ///
    /// # Errors
    /// When it is not there, or whether it is cannot be seen.
    pub fn open_existing(dir: impl Into<PathBuf>) -> Result<Self, KeyStoreError> {
        let path = dir.into();
        match fs::metadata(&path).map(|meta| meta.is_dir()) {
            Ok(true) => Ok(Self {
                dir: path,
                owner: None,
            }),
            Ok(false) => Err(KeyStoreError::NoDirectory { path }),
            Err(error) if is_absence(&error) => Err(KeyStoreError::NoDirectory { path }),
            Err(source) => Err(FileError::Read { path, source }.into()),
        }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// The user that new files are given to.
    pub fn owner(&self) -> Option<u32> {
        self.owner
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
        Ok(form.fingerprint(&bytes, hash_type))
    }
}
