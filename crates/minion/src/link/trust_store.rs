//! The master key this minion trusts, in `minion_master.pub`, shared by all
//! links: the first master met decides, and all others have to match.

use std::sync::{Mutex, MutexGuard, PoisonError};

use halite_crypto::{clean_key, fingerprint_path};
use halite_key::KeyStoreError;
use halite_key::minion::TrustedMaster;

use crate::core::sign_in::Trust;

/// The trusted key on disk and in memory.
pub struct TrustStore {
    file: TrustedMaster,
    trust: Mutex<Trust>,
}

impl TrustStore {
    /// Reads the key in `file`, if there is one, into `trust`.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn open(file: TrustedMaster, mut trust: Trust) -> Result<Self, KeyStoreError> {
        trust.known = file.load()?.map(|text| clean_key(&text));
        Ok(Self {
            file,
            trust: Mutex::new(trust),
        })
    }

    /// The keys that are trusted now.
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
        not_stored: impl FnOnce(KeyStoreError),
    ) -> Result<T, E> {
        let mut trust = self.lock();
        let (result, master_pem) = conclude(&trust)?;
        let clean = clean_key(&master_pem);
        if trust.known.as_deref() != Some(clean.as_str()) {
            if let Some(known) = &trust.known {
                let finger = |pem: &str| fingerprint_path(pem.as_bytes(), trust.hash_type);
                tracing::warn!(
                    "the master has a new key, signed by the known one: trusting it from now on \
                     (known {}, new {})",
                    finger(known),
                    finger(&clean)
                );
            }
            if let Err(error) = self.file.trust(&master_pem) {
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
