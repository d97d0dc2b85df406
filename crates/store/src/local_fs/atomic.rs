//! Writes files that appear whole, in as few system calls as possible.

use std::fs::{self, DirEntry, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use halite_crypto::files::{FileError, MODE_SECRET, read_limited};
use halite_proto::Value;
use halite_proto::msgpack::unpack_modern;

use crate::error::StoreError;
use crate::limits::FILE_BYTES_MAX;

/// Puts a file in place of `path`. It is readable by its owner only: returns,
/// grains and pillars are nobody else's business.
pub(crate) fn put(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    try_put(path, bytes).map_err(|source| StoreError::write(path, source))
}

/// The same, making the directory if it is missing.
pub(crate) fn put_making_dir(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    match try_put(path, bytes) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(dir) = path.parent() {
                fs::create_dir_all(dir).map_err(|source| StoreError::make_dir(dir, source))?;
            }
            put(path, bytes)
        }
        result => result.map_err(|source| StoreError::write(path, source)),
    }
}

/// The bytes of a file, or `None` if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match read_limited(path, FILE_BYTES_MAX) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The value in a msgpack file, or `None` if it does not exist.
pub(crate) fn load(path: &Path) -> Result<Option<Value>, StoreError> {
    let Some(bytes) = read(path)? else {
        return Ok(None);
    };
    unpack_modern(&bytes)
        .map(Some)
        .map_err(|source| StoreError::damaged(path.display(), source))
}

/// Removes a file; false if it does not exist.
pub(crate) fn remove(path: &Path) -> Result<bool, StoreError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(StoreError::remove(path, source)),
    }
}

/// The entries of a directory; a missing one has none.
pub(crate) fn entries(dir: &Path) -> Result<Vec<DirEntry>, StoreError> {
    match fs::read_dir(dir).and_then(Iterator::collect) {
        Ok(entries) => Ok(entries),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(StoreError::list(dir, source)),
    }
}

/// Whether there is a file or directory of this name.
pub(crate) fn exists(path: &Path) -> Result<bool, StoreError> {
    path.try_exists().map_err(|source| {
        let path = path.to_owned();
        FileError::Read { path, source }.into()
    })
}

fn is_missing(error: &FileError) -> bool {
    matches!(
        error.kind(),
        Some(io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
    )
}

fn try_put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (mut file, temp) = loop {
        let temp = temp_beside(path);
        match open_new(&temp) {
            Ok(file) => break (file, temp),
            // Left by a process of the same number that died in the middle.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    };
    let put = file.write_all(bytes).and_then(|()| {
        drop(file);
        fs::rename(&temp, path)
    });
    if put.is_err() {
        let _ = fs::remove_file(&temp);
    }
    put
}

/// A new name beside `path`: hidden from listings, and as short as any file
/// name may be long.
pub(crate) fn temp_beside(path: &Path) -> PathBuf {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    path.with_file_name(format!(".tmp{:x}-{number:x}", std::process::id()))
}

fn open_new(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(MODE_SECRET)
        .open(path)
}

static NEXT: AtomicU64 = AtomicU64::new(0);
