//! Hashes of files, remembered as long as the file does not change.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use halite_crypto::{HashType, Hasher};

use crate::file;
use crate::limits::{HASH_READ_BYTES, HASHES_MAX, STAMP_SETTLES};
use crate::roots::Roots;

/// The hash of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileHash {
    /// What it was made with.
    pub hash_type: HashType,
    /// In lower-case hexadecimal.
    pub hsum: String,
}

impl Roots {
    /// Hashes a file of a root.
    pub(crate) fn hash(&self, root: &Path, path: &Path) -> io::Result<FileHash> {
        let hash_type = self.options.hash_type;
        let (file, metadata) = file::open(root, path, self.options.follow_symlinks)?;
        let hash = || hash_file(&file, hash_type);
        let hsum = self.hashes.get(path, &metadata, hash)?;
        Ok(FileHash { hash_type, hsum })
    }
}

fn hash_file(mut file: &File, hash_type: HashType) -> io::Result<String> {
    let mut hasher = Hasher::new(hash_type);
    // Most files are smaller than a buffer that is good for large ones.
    let size = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let mut buffer = vec![0; size.saturating_add(1).min(HASH_READ_BYTES)];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hasher.finish_hex()),
            Ok(read) => hasher.update(buffer.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// What must be unchanged for a content to be still the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    dev: u64,
    ino: u64,
    size: u64,
    mtime: (i64, i64),
    ctime: (i64, i64),
}

impl From<&Metadata> for Identity {
    fn from(metadata: &Metadata) -> Self {
        Self {
            dev: metadata.dev(),
            ino: metadata.ino(),
            size: metadata.size(),
            mtime: (metadata.mtime(), metadata.mtime_nsec()),
            ctime: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mtime, ctime) = (self.mtime, self.ctime);
        write!(f, "{:x}.{:x}.{:x}", self.dev, self.ino, self.size)?;
        write!(f, ".{}.{}.{}.{}", mtime.0, mtime.1, ctime.0, ctime.1)
    }
}

/// The hashes that are remembered.
#[derive(Debug, Default)]
pub(crate) struct HashCache {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    hashes: HashMap<PathBuf, (Identity, String)>,
    /// The same paths, oldest first.
    order: VecDeque<PathBuf>,
}

impl HashCache {
    /// The hash of an open file, remembered under `path`.
    pub(crate) fn of_file(
        &self,
        path: &Path,
        file: &File,
        hash_type: HashType,
    ) -> io::Result<String> {
        self.get(path, &file.metadata()?, || hash_file(file, hash_type))
    }

    /// The remembered hash, or the one that `hash` makes.
    fn get(
        &self,
        path: &Path,
        metadata: &Metadata,
        hash: impl FnOnce() -> io::Result<String>,
    ) -> io::Result<String> {
        let identity = Identity::from(metadata);
        if let Some((known, hsum)) = self.lock().hashes.get(path)
            && *known == identity
        {
            return Ok(hsum.clone());
        }
        let hsum = hash()?;
        if is_settled(metadata.ctime()) {
            self.lock().put(path, identity, hsum.clone());
        }
        Ok(hsum)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn put(&mut self, path: &Path, identity: Identity, hsum: String) {
        let old = self.hashes.insert(path.to_owned(), (identity, hsum));
        if old.is_some() {
            return;
        }
        self.order.push_back(path.to_owned());
        if self.order.len() > HASHES_MAX {
            for oldest in self.order.drain(..HASHES_MAX / 2) {
                self.hashes.remove(&oldest);
            }
        }
    }
}

/// Whether any change after this one will show in a time stamp of it.
pub(crate) fn is_settled(changed_s: i64) -> bool {
    let since_epoch = Duration::from_secs(u64::try_from(changed_s).unwrap_or_default());
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH + since_epoch)
        .is_ok_and(|since| since > STAMP_SETTLES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_half_is_forgotten_when_it_is_full() {
        let identity = Identity {
            dev: 1,
            ino: 1,
            size: 1,
            mtime: (0, 0),
            ctime: (0, 0),
        };
        let mut state = State::default();
        for number in 0..=HASHES_MAX {
            let path = PathBuf::from(number.to_string());
            state.put(&path, identity, String::new());
            state.put(&path, identity, String::new());
        }
        assert_eq!(state.hashes.len(), HASHES_MAX / 2 + 1);
        assert_eq!(state.order.len(), state.hashes.len());
        assert!(
            state
                .hashes
                .contains_key(Path::new(&HASHES_MAX.to_string()))
        );
        assert!(!state.hashes.contains_key(Path::new("0")));
    }
}
