//! The drop file: a program without a connection to the master uses it to make the
//! master give all minions a new publish key.
//!
//! The program that deletes or rejects a key writes it. The master finds it, makes
//! a new key and removes the file, and the removed minion cannot read later
//! publications.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use halite_crypto::files::{FileError, MODE_KEY, WriteOptions, read_limited, write_atomic};

use crate::error::KeyStoreError;
use crate::key_file::remove_if_there;

/// Name of the file in the master's cache directory.
pub const DROP_FILE: &str = ".dfn";

/// Most bytes of the file: one id.
const BYTES_MAX: u64 = 4096;

/// Asks the master with this id (the option `id`, with its `_master`) to
/// rotate its publish key. The file is left to `owner`, the master's user.
///
/// # Errors
/// When the cache directory cannot be written.
pub fn request_rotation(
    cachedir: &Path,
    master_id: &str,
    owner: Option<u32>,
) -> Result<(), KeyStoreError> {
    let options = WriteOptions {
        durable: false,
        ..WriteOptions::new(MODE_KEY).owned_by(owner)
    };
    write_atomic(&cachedir.join(DROP_FILE), options, master_id.as_bytes())?;
    Ok(())
}

/// Takes a request to rotate, if there is one for this master. A file of
/// another mode than 0400 or for another master is left alone: it could have
/// been written by somebody who may not ask. An empty one is a 3006 program's.
///
/// # Errors
/// When there is a request that cannot be read or removed.
pub fn take_rotation_request(cachedir: &Path, master_id: &str) -> Result<bool, KeyStoreError> {
    let path = cachedir.join(DROP_FILE);
    let meta = match fs::symlink_metadata(&path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(source) => return Err(FileError::Read { path, source }.into()),
    };
    let mode = meta.mode() & 0o7777;
    if !meta.is_file() || mode != MODE_KEY {
        tracing::error!(
            path = %path.display(),
            "ignored the drop file: its mode is {mode:04o} instead of 0400"
        );
        return Ok(false);
    }
    let content = read_limited(&path, BYTES_MAX)?;
    if !content.is_empty() && content != master_id.as_bytes() {
        return Ok(false);
    }
    remove_if_there(&path)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_request_is_taken_once_and_only_by_its_master() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(DROP_FILE);
        assert!(!take_rotation_request(dir.path(), "m1_master").unwrap());
        request_rotation(dir.path(), "m1_master", None).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o400);
        assert!(!take_rotation_request(dir.path(), "m2_master").unwrap());
        request_rotation(dir.path(), "m1_master", None).unwrap();
        assert!(take_rotation_request(dir.path(), "m1_master").unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn an_empty_request_counts_and_one_of_a_wrong_mode_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(DROP_FILE);
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        assert!(!take_rotation_request(dir.path(), "m1_master").unwrap());
        fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
        assert!(take_rotation_request(dir.path(), "m1_master").unwrap());
    }
}
