//! A minion's pki directory: its own pair and the master it trusts.

use std::path::{Path, PathBuf};

use halite_crypto::files::{MODE_KEY, WriteOptions, ensure_private_dir, write_atomic};
use halite_crypto::{HashType, PrivateKey, PublicKey, clean_key, fingerprint_path};

use crate::error::KeyStoreError;
use crate::generate::{close_private, gen_keys, key_path, read_private};
use crate::key_file::{Links, read_key_text, remove_if_there};

const NAME: &str = "minion";

/// The minion's own key pair.
#[derive(Debug, Clone)]
pub struct MinionKeys {
    private: PrivateKey,
    public_pem: String,
    public_path: PathBuf,
}

impl MinionKeys {
    /// Loads `minion.pem`, or generates the pair if it is missing. A missing `minion.pub`
    /// is written again from the private key.
    ///
    /// # Errors
    /// When the directory cannot be made, or the key cannot be read or made.
    pub fn load_or_generate(
        pki_dir: &Path,
        bits: u32,
        owner: Option<u32>,
    ) -> Result<Self, KeyStoreError> {
        ensure_private_dir(pki_dir, owner)?;
        let private_path = key_path(pki_dir, NAME, "pem")?;
        let public_path = key_path(pki_dir, NAME, "pub")?;
        let private = if private_path.exists() {
            close_private(&private_path)?;
            read_private(&private_path, None)?
        } else {
            tracing::info!(path = %private_path.display(), "generating the minion key");
            gen_keys(pki_dir, NAME, bits, owner, None)?.private
        };
        let text = private
            .public()
            .and_then(|key| key.to_pem())
            .map_err(|source| KeyStoreError::Generate {
                path: private_path,
                source,
            })?;
        let public_pem = clean_key(&text);
        let found = read_key_text(&public_path, Links::Followed)?;
        if found.is_none_or(|found| clean_key(&found) != public_pem) {
            let options = WriteOptions::new(MODE_KEY).owned_by(owner);
            write_atomic(&public_path, options, text.as_bytes())?;
        }
        Ok(Self {
            private,
            public_pem,
            public_path,
        })
    }

    /// The private key.
    pub fn private(&self) -> &PrivateKey {
        &self.private
    }

    /// The public key as it is sent.
    pub fn public_pem(&self) -> &str {
        &self.public_pem
    }

    /// The fingerprint of the public key's file (`key.finger`).
    pub fn finger(&self, hash_type: HashType) -> String {
        fingerprint_path(self.public_pem.as_bytes(), hash_type)
    }

    /// The public key's file.
    pub fn public_path(&self) -> &Path {
        &self.public_path
    }
}

/// The master key that a minion trusts, as a file.
#[derive(Debug, Clone)]
pub struct TrustedMaster {
    path: PathBuf,
    owner: Option<u32>,
}

impl TrustedMaster {
    /// The minion's: `minion_master.pub`.
    pub fn of_minion(pki_dir: &Path, owner: Option<u32>) -> Self {
        Self {
            path: pki_dir.join("minion_master.pub"),
            owner,
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The text of the trusted key, none before the first sign-in.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn load(&self) -> Result<Option<String>, KeyStoreError> {
        read_key_text(&self.path, Links::Followed)
    }

    /// The trusted key, none before the first sign-in.
    ///
    /// # Errors
    /// When the file cannot be read or holds no usable key.
    pub fn key(&self) -> Result<Option<PublicKey>, KeyStoreError> {
        read_public(&self.path)
    }

    /// Trusts this key from now on.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn trust(&self, pem: &str) -> Result<(), KeyStoreError> {
        const MODE: u32 = 0o644;
        let options = WriteOptions::new(MODE).owned_by(self.owner);
        write_atomic(&self.path, options, clean_key(pem).as_bytes())?;
        Ok(())
    }

    /// Forgets the trusted key; false if there was none.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn forget(&self) -> Result<bool, KeyStoreError> {
        remove_if_there(&self.path)
    }

    /// The fingerprint that `master_finger` is compared with, none before the
    /// first sign-in.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn finger(&self, hash_type: HashType) -> Result<Option<String>, KeyStoreError> {
        Ok(self
            .load()?
            .map(|text| fingerprint_path(text.as_bytes(), hash_type)))
    }
}

/// The public key that signs master keys (`<master_sign_key_name>.pub`), put
/// into the minion's pki directory by an admin.
///
/// # Errors
/// When the file cannot be read or holds no usable key.
pub fn signing_key(pki_dir: &Path, name: &str) -> Result<Option<PublicKey>, KeyStoreError> {
    read_public(&key_path(pki_dir, name, "pub")?)
}

fn read_public(path: &Path) -> Result<Option<PublicKey>, KeyStoreError> {
    let Some(pem) = read_key_text(path, Links::Followed)? else {
        return Ok(None);
    };
    PublicKey::from_pem(&pem)
        .map(Some)
        .map_err(|source| KeyStoreError::Key {
            path: path.to_owned(),
            source,
        })
}
