//! The master key this minion trusts, in `minion_master.pub`, shared by all
//! links: the first master met decides, and all others have to match.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use halite_crypto::files::{self, FileError, WriteOptions};
use halite_crypto::{clean_key, limits};

use crate::core::sign_in::Trust;

const MODE: u32 = 0o644;

/// The trusted key on disk and in memory.
pub struct TrustStore {
    path: PathBuf,
    trust: Mutex<Trust>,
}

impl TrustStore {
    /// Reads the key at `path`, if there is one, into `trust`.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn open(path: PathBuf, mut trust: Trust) -> Result<Self, FileError> {
        trust.known = match files::read_limited(&path, limits::PEM_BYTES_MAX as u64) {
            Ok(bytes) => Some(clean_key(&String::from_utf8_lossy(&bytes))),
            Err(error) if error.kind() == Some(std::io::ErrorKind::NotFound) => None,
            Err(error) => return Err(error),
        };
        Ok(Self {
            path,
            trust: Mutex::new(trust),
        })
    }

    /// What is trusted now.
    pub fn trust(&self) -> Trust {
        self.lock().clone()
    }

    /// Concludes a sign-in with nobody else concluding meanwhile, so that two
    /// masters met for the first time at the same moment are not both
    /// believed. `conclude` returns the master's key next to its result.
    ///
    /// # Errors
    /// What `conclude` returns; a key that cannot be stored is reported to
    /// `not_stored` and trusted for this run only.
    pub fn conclude<T, E>(
        &self,
        conclude: impl FnOnce(&Trust) -> Result<(T, String), E>,
        not_stored: impl FnOnce(FileError),
    ) -> Result<T, E> {
        let mut trust = self.lock();
        let (result, master_pem) = conclude(&trust)?;
        let clean = clean_key(&master_pem);
        if trust.known.as_deref() != Some(clean.as_str()) {
            let options = WriteOptions::new(MODE);
            if let Err(error) = files::write_atomic(&self.path, options, master_pem.as_bytes()) {
                not_stored(error);
            }
            trust.known = Some(clean);
        }
        Ok(result)
    }

    fn lock(&self) -> MutexGuard<'_, Trust> {
        self.trust.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
