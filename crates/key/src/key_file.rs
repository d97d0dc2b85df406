//! Files that hold keys, and the names of a directory of them.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

use halite_crypto::files::{FileError, read_limited};

use crate::error::KeyStoreError;
use crate::limits::KEY_FILE_BYTES_MAX;

/// Whether a key file may be a symbolic link.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    Ignored,
    Followed,
}

/// The text of a key file, or `None` if it does not exist.
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

/// Whether the error says that there is nothing at a path, not that it cannot be
/// seen.
pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Removes a file; false if it does not exist.
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

/// Checks that a directory exists and can be read, without listing all of it.
pub(crate) fn check_dir(dir: &Path) -> Result<(), KeyStoreError> {
    let look = || fs::read_dir(dir)?.next().transpose();
    match look() {
        Ok(_) => Ok(()),
        Err(source) => Err(FileError::List {
            path: dir.to_owned(),
            source,
        }
        .into()),
    }
}

/// The names of a directory's own files: no links, nothing hidden. A missing
/// directory has none.
pub(crate) fn plain_files(dir: &Path) -> Result<Vec<std::ffi::OsString>, KeyStoreError> {
    let list = || -> io::Result<Vec<std::ffi::OsString>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let is_file = match entry.file_type() {
                Ok(kind) => kind.is_file(),
                // Removed since: it is in the list no more.
                Err(error) if error.kind() == io::ErrorKind::NotFound => false,
                Err(error) => return Err(error),
            };
            if is_file && !is_hidden(&entry.file_name()) {
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
