//! Key pairs as files: new ones, and the reading of private ones.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use halite_crypto::files::{FileError, MODE_KEY, WriteOptions, read_limited, write_atomic};
use halite_crypto::{PrivateKey, Secret};

use crate::error::KeyStoreError;
use crate::limits::KEY_FILE_BYTES_MAX;

/// A key pair that was just written.
#[derive(Debug)]
pub struct GeneratedPair {
    /// The private key.
    pub private: PrivateKey,
    /// Its file.
    pub private_path: PathBuf,
    /// The public key's file.
    pub public_path: PathBuf,
}

/// Makes a key pair and writes it as `<name>.pem` and `<name>.pub`, both 0400.
///
/// # Errors
/// When the name is not a file name, such a key exists already, or the
/// directory cannot be written.
pub fn gen_keys(
    dir: &Path,
    name: &str,
    bits: u32,
    owner: Option<u32>,
    passphrase: Option<&Secret<String>>,
) -> Result<GeneratedPair, KeyStoreError> {
    let private_path = key_path(dir, name, "pem")?;
    if fs::symlink_metadata(&private_path).is_ok() {
        return Err(KeyStoreError::Exists { path: private_path });
    }
    let private = PrivateKey::generate(bits).map_err(|source| KeyStoreError::Generate {
        path: private_path.clone(),
        source,
    })?;
    let public_path = key_path(dir, name, "pub")?;
    write_pair(&private, &private_path, &public_path, owner, passphrase)?;
    Ok(GeneratedPair {
        private,
        private_path,
        public_path,
    })
}

/// `<dir>/<name>.<extension>` for a name that stays in the directory.
pub(crate) fn key_path(dir: &Path, name: &str, extension: &str) -> Result<PathBuf, KeyStoreError> {
    if name.is_empty() || name.starts_with('.') || name.contains(['/', '\0', '\n']) {
        return Err(KeyStoreError::Name {
            name: name.to_owned(),
        });
    }
    Ok(dir.join(format!("{name}.{extension}")))
}

/// Writes the public half first, so that a private key never exists alone.
pub(crate) fn write_pair(
    private: &PrivateKey,
    private_path: &Path,
    public_path: &Path,
    owner: Option<u32>,
    passphrase: Option<&Secret<String>>,
) -> Result<(), KeyStoreError> {
    let failed = |source| KeyStoreError::Generate {
        path: private_path.to_owned(),
        source,
    };
    let public_pem = private
        .public()
        .and_then(|public| public.to_pem())
        .map_err(failed)?;
    let private_pem = match passphrase {
        Some(passphrase) => private.to_pem_encrypted(passphrase),
        None => private.to_pem(),
    }
    .map_err(failed)?;
    let options = WriteOptions::new(MODE_KEY).owned_by(owner);
    write_atomic(public_path, options, public_pem.as_bytes())?;
    write_atomic(private_path, options, private_pem.expose().as_bytes())?;
    Ok(())
}

/// Reads a private key file, through a symbolic link if it is one.
pub(crate) fn read_private(
    path: &Path,
    passphrase: Option<&Secret<String>>,
) -> Result<PrivateKey, KeyStoreError> {
    let pem = Secret::new(read_limited(path, KEY_FILE_BYTES_MAX)?);
    PrivateKey::from_pem(pem.expose(), passphrase).map_err(|source| KeyStoreError::Key {
        path: path.to_owned(),
        source,
    })
}

/// Removes the permissions of group and others from a private key.
pub(crate) fn close_private(path: &Path) -> Result<(), KeyStoreError> {
    let meta = fs::metadata(path).map_err(|source| FileError::Read {
        path: path.to_owned(),
        source,
    })?;
    let mode = meta.mode() & 0o7777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    tracing::warn!(
        path = %path.display(),
        "the private key had mode {mode:04o}; changed it to 0400"
    );
    fs::set_permissions(path, Permissions::from_mode(MODE_KEY)).map_err(|source| {
        FileError::Mode {
            path: path.to_owned(),
            mode,
            wanted: MODE_KEY,
            source,
        }
    })?;
    Ok(())
}
