//! A new key pair for a master that its minions will follow: the old key signs the
//! new one.
//!
//! Invariant: at any moment the pair in the directory is complete, and the key
//! changes that minions get lead to it.

use std::fs;
use std::path::{Path, PathBuf};

use halite_crypto::files::{MODE_KEY, WriteOptions, read_limited, write_atomic};
use halite_crypto::{PrivateKey, PublicKey, Secret, clean_key, master_sign};
use halite_proto::key_changes::{KEY_CHANGES_MAX, KeyChange};

use crate::error::KeyStoreError;
use crate::generate::{read_private, write_pair};
use crate::key_file::{Links, read_key_text};
use crate::limits::KEY_FILE_BYTES_MAX;
use crate::master::pair_in_use;
use crate::pki_dir::PkiDir;

/// The file with the changes, in the pki directory.
pub const CHANGES_FILE: &str = "master_key_changes";

/// Its mode: there is nothing secret in it.
const MODE_PUBLIC: u32 = 0o644;

/// The prefix of a signature in the file.
const SIGNATURE: &str = "signature: ";

/// The result of a change.
#[derive(Debug)]
pub struct Renewed {
    /// The public key before it.
    pub old_pem: String,
    /// The public key now.
    pub new_pem: String,
    /// The files that masters with the same key need as well.
    pub files: [PathBuf; 3],
    /// Where the old private key is.
    pub kept: PathBuf,
}

/// Gives the master a new key pair, signed by the one that it has.
///
/// # Errors
/// When there is no pair, or a file cannot be read or written.
pub fn renew_master_key(
    pki: &PkiDir,
    id: &str,
    bits: u32,
    passphrase: Option<&Secret<String>>,
) -> Result<Renewed, KeyStoreError> {
    let (private_path, public_path) = pair_in_use(pki, id)?;
    let old = read_private(&private_path, passphrase)?;
    let failed = |source| KeyStoreError::Generate {
        path: private_path.clone(),
        source,
    };
    let old_pem = old
        .public()
        .and_then(|key| key.clean_pem())
        .map_err(failed)?;
    let new = PrivateKey::generate(bits).map_err(failed)?;
    let new_pem = new
        .public()
        .and_then(|key| key.clean_pem())
        .map_err(failed)?;
    let mut changes = read_changes(pki.path(), &old_pem)?;
    changes.push(KeyChange {
        old_key: old_pem.clone(),
        signature: master_sign::sign_successor(&old, &new_pem).map_err(failed)?,
    });
    let surplus = changes.len().saturating_sub(KEY_CHANGES_MAX);
    changes.drain(..surplus);
    let kept = private_path.with_extension("pem.old");
    let options = WriteOptions::new(MODE_KEY).owned_by(pki.owner());
    let bytes = Secret::new(read_limited(&private_path, KEY_FILE_BYTES_MAX)?);
    write_atomic(&kept, options, bytes.expose())?;
    // First: a change that was cut off after it is told to nobody.
    let changes_path = pki.path().join(CHANGES_FILE);
    let public = WriteOptions::new(MODE_PUBLIC).owned_by(pki.owner());
    write_atomic(&changes_path, public, to_text(&changes).as_bytes())?;
    write_pair(&new, &private_path, &public_path, pki.owner(), passphrase)?;
    Ok(Renewed {
        old_pem,
        new_pem,
        files: [private_path, public_path, changes_path],
        kept,
    })
}

/// The changes that have led to the key `current`; none where they lead
/// elsewhere.
pub(crate) fn read_changes(dir: &Path, current: &str) -> Result<Vec<KeyChange>, KeyStoreError> {
    let path = dir.join(CHANGES_FILE);
    let Some(text) = read_key_text(&path, Links::Followed)? else {
        return Ok(Vec::new());
    };
    let mut changes = from_text(&text);
    // A change that was cut off before the new pair was there.
    while changes
        .last()
        .is_some_and(|last| clean_key(&last.old_key) == clean_key(current))
    {
        changes.pop();
    }
    let leads_here = changes.last().is_none_or(|last| {
        PublicKey::from_pem(&last.old_key)
            .is_ok_and(|old| master_sign::verify_successor(&old, current, &last.signature))
    });
    if !leads_here {
        tracing::warn!(
            "ignored {}: its signatures do not lead to the key of this master",
            path.display()
        );
        changes.clear();
    }
    Ok(changes)
}

fn to_text(changes: &[KeyChange]) -> String {
    changes
        .iter()
        .map(|change| {
            let (key, signature) = (change.old_key.trim(), change.signature.trim());
            format!("{key}\n{SIGNATURE}{signature}\n")
        })
        .collect()
}

fn from_text(text: &str) -> Vec<KeyChange> {
    let mut changes = Vec::new();
    let mut key = String::new();
    for line in text.lines() {
        match line.strip_prefix(SIGNATURE) {
            Some(signature) => changes.push(KeyChange {
                old_key: clean_key(&std::mem::take(&mut key)),
                signature: signature.to_owned(),
            }),
            None => {
                key.push_str(line);
                key.push('\n');
            }
        }
    }
    changes
}

/// The file behind a path, through links of an admin's making.
pub(crate) fn behind_links(path: PathBuf) -> PathBuf {
    fs::canonicalize(&path).unwrap_or(path)
}
