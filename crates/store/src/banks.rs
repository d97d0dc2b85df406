//! Banks of anything: values that runners and templates keep under a name of
//! their choice, in the layout of Salt's `localfs` (`<bank>/<key>.p`).
//!
//! Invariant: names come from users. Each part is checked before it becomes
//! part of a path, and the banks that the master keeps for itself (tokens,
//! sessions, jobs) are none of theirs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use halite_proto::Value;
use halite_proto::msgpack::pack_modern;
use thiserror::Error;

use crate::atomic::{load, put_making_dir, remove};
use crate::error::StoreError;
use crate::lookup::entries;

/// Banks that hold what proves who somebody is, or what only the master may
/// write.
const OWN: [&str; 9] = [
    "files",
    "health",
    "jobs",
    "minions",
    "proc",
    "publish_auth",
    "replay",
    "sessions",
    "tokens",
];

/// Characters of a name at most, so that `.p` fits into a file name.
const NAME_BYTES_MAX: usize = 250;

/// Parts of the name of a bank.
const PARTS_MAX: usize = 16;

/// Why a bank could not be used.
#[derive(Debug, Error)]
pub enum BankError {
    /// The name of the bank is none.
    #[error("{0:?} is no name of a bank")]
    Bank(String),
    /// The bank is the master's own.
    #[error("the bank {0:?} belongs to the master itself")]
    Own(String),
    /// The name of the key is none.
    #[error("{0:?} is no name of a key")]
    Key(String),
    /// The cache cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The banks of a cache directory.
#[derive(Clone, Debug)]
pub struct Banks {
    dir: PathBuf,
}

impl Banks {
    /// Those below `cachedir`.
    pub fn new(cachedir: impl Into<PathBuf>) -> Self {
        Self {
            dir: cachedir.into(),
        }
    }

    /// What is kept under a key, none if nothing is.
    ///
    /// # Errors
    /// When a name is none, or the file cannot be read.
    pub fn fetch(&self, bank: &str, key: &str) -> Result<Option<Value>, BankError> {
        Ok(load(&self.file(bank, key)?)?)
    }

    /// Keeps a value.
    ///
    /// # Errors
    /// When a name is none, or the value cannot be written.
    pub fn store(&self, bank: &str, key: &str, value: &Value) -> Result<(), BankError> {
        let path = self.file(bank, key)?;
        let packed = pack_modern(value).map_err(|source| StoreError::Pack {
            path: path.clone(),
            source,
        })?;
        Ok(put_making_dir(&path, &packed)?)
    }

    /// Removes a key, or a whole bank; false if there was nothing.
    ///
    /// # Errors
    /// When a name is none, or something cannot be removed.
    pub fn flush(&self, bank: &str, key: Option<&str>) -> Result<bool, BankError> {
        if let Some(key) = key {
            return Ok(remove(&self.file(bank, key)?)?);
        }
        let dir = self.bank(bank)?;
        match fs::remove_dir_all(&dir) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(StoreError::remove(&dir, source).into()),
        }
    }

    /// The keys of a bank and the banks below it, sorted.
    ///
    /// # Errors
    /// When the name is none, or the directory cannot be listed.
    pub fn list(&self, bank: &str) -> Result<Vec<String>, BankError> {
        let mut names: Vec<String> = entries(&self.bank(bank)?)?
            .iter()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                match entry.file_type().ok()?.is_dir() {
                    true => Some(name),
                    false => name.strip_suffix(".p").map(str::to_owned),
                }
            })
            .filter(|name| !name.starts_with('.'))
            .collect();
        names.sort_unstable();
        Ok(names)
    }

    fn bank(&self, bank: &str) -> Result<PathBuf, BankError> {
        let parts: Vec<&str> = bank.split('/').collect();
        if parts.len() > PARTS_MAX || !parts.iter().all(|part| is_name(part)) {
            return Err(BankError::Bank(bank.to_owned()));
        }
        if parts.first().is_some_and(|first| OWN.contains(first)) {
            return Err(BankError::Own(bank.to_owned()));
        }
        Ok(parts
            .iter()
            .fold(self.dir.clone(), |dir, part| below(&dir, part)))
    }

    fn file(&self, bank: &str, key: &str) -> Result<PathBuf, BankError> {
        if !is_name(key) {
            return Err(BankError::Key(key.to_owned()));
        }
        Ok(below(&self.bank(bank)?, &format!("{key}.p")))
    }
}

/// Whether a text is a name: one part of a path, and no hidden one.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= NAME_BYTES_MAX
        && !text.starts_with('.')
        && !text.contains(['/', '\0'])
}

/// Only for names that were checked.
fn below(dir: &Path, name: &str) -> PathBuf {
    dir.join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_found_listed_and_flushed() {
        let dir = tempfile::tempdir().unwrap();
        let banks = Banks::new(dir.path());
        assert_eq!(banks.fetch("a", "k").unwrap(), None);
        assert!(banks.list("a").unwrap().is_empty());
        banks.store("a", "k", &5.into()).unwrap();
        banks.store("a/sub", "x", &"y".into()).unwrap();
        assert_eq!(banks.fetch("a", "k").unwrap(), Some(5.into()));
        assert_eq!(banks.list("a").unwrap(), ["k", "sub"]);
        assert!(banks.flush("a", Some("k")).unwrap());
        assert!(!banks.flush("a", Some("k")).unwrap());
        assert!(banks.flush("a", None).unwrap());
        assert!(!banks.flush("a", None).unwrap());
    }

    #[test]
    fn names_do_not_leave_the_cache() {
        let dir = tempfile::tempdir().unwrap();
        let banks = Banks::new(dir.path().join("cache"));
        for bank in [
            "", "..", "../x", "a/../b", "/etc", "a//b", "a/", ".hidden", "a\0",
        ] {
            assert!(banks.store(bank, "k", &1.into()).is_err(), "{bank:?}");
            assert!(banks.flush(bank, None).is_err(), "{bank:?}");
            assert!(banks.list(bank).is_err(), "{bank:?}");
        }
        for key in ["", "..", "../k", "a/b", ".k", "k\0"] {
            assert!(banks.store("a", key, &1.into()).is_err(), "{key:?}");
        }
        for own in ["tokens", "sessions", "jobs", "minions/web1/files"] {
            assert!(matches!(banks.list(own), Err(BankError::Own(_))), "{own}");
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
