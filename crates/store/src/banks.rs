//! Banks of anything: values that runners and templates keep under a name of
//! their choice.
//!
//! Invariant: names come from users. Each part is checked before a backend
//! sees it, and the banks that the master keeps for itself (tokens, sessions,
//! jobs) are out of reach.

use std::sync::Arc;

use halite_proto::Value;
use thiserror::Error;

use crate::backend::{Backend, on};
use crate::error::StoreError;

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

/// Most bytes of one part of a name, so that `.p` fits into a file name.
const NAME_BYTES_MAX: usize = 250;

/// Most parts of the name of a bank.
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
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The banks of a store.
#[derive(Clone, Debug)]
pub struct Banks {
    backend: Arc<Backend>,
}

impl Banks {
    pub(crate) fn new(backend: Arc<Backend>) -> Self {
        Self { backend }
    }

    /// What is kept under a key, none if nothing is.
    ///
    /// # Errors
    /// When a name is not allowed, or the value cannot be read.
    pub fn fetch(&self, bank: &str, key: &str) -> Result<Option<Value>, BankError> {
        let (bank, key) = (&BankName::parse(bank)?, KeyName::parse(key)?);
        Ok(on!(self.backend, banks.fetch(bank, key))?)
    }

    /// Keeps a value.
    ///
    /// # Errors
    /// When a name is not allowed, or the value cannot be written.
    pub fn store(&self, bank: &str, key: &str, value: &Value) -> Result<(), BankError> {
        let (bank, key) = (&BankName::parse(bank)?, KeyName::parse(key)?);
        Ok(on!(self.backend, banks.store(bank, key, value))?)
    }

    /// Removes a key, or a whole bank with the banks below it; false if there
    /// was nothing.
    ///
    /// # Errors
    /// When a name is not allowed, or something cannot be removed.
    pub fn flush(&self, bank: &str, key: Option<&str>) -> Result<bool, BankError> {
        let bank = &BankName::parse(bank)?;
        Ok(match key {
            Some(key) => {
                let key = KeyName::parse(key)?;
                on!(self.backend, banks.flush_key(bank, key))?
            }
            None => on!(self.backend, banks.flush_bank(bank))?,
        })
    }

    /// The keys of a bank and the banks below it, sorted.
    ///
    /// # Errors
    /// When the name is not allowed, or the bank cannot be listed.
    pub fn list(&self, bank: &str) -> Result<Vec<String>, BankError> {
        let bank = &BankName::parse(bank)?;
        Ok(on!(self.backend, banks.list(bank))?)
    }
}

/// The checked name of a bank that users may have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BankName(Vec<String>);

impl BankName {
    fn parse(text: &str) -> Result<Self, BankError> {
        let parts: Vec<&str> = text.split('/').collect();
        if parts.len() > PARTS_MAX || !parts.iter().all(|part| is_name(part)) {
            return Err(BankError::Bank(text.to_owned()));
        }
        if parts.first().is_some_and(|first| OWN.contains(first)) {
            return Err(BankError::Own(text.to_owned()));
        }
        Ok(Self(parts.into_iter().map(str::to_owned).collect()))
    }

    pub(crate) fn parts(&self) -> &[String] {
        &self.0
    }
}

/// The checked name of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyName<'a>(&'a str);

impl<'a> KeyName<'a> {
    fn parse(text: &'a str) -> Result<Self, BankError> {
        match is_name(text) {
            true => Ok(Self(text)),
            false => Err(BankError::Key(text.to_owned())),
        }
    }

    pub(crate) fn as_str(self) -> &'a str {
        self.0
    }
}

/// Whether a text is one part of a path, and not a hidden one.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= NAME_BYTES_MAX
        && !text.starts_with('.')
        && !text.contains(['/', '\0'])
}

#[cfg(test)]
mod tests {
    use std::fs;

    use halite_crypto::HashType;

    use super::*;
    use crate::backend::{StoreOptions, open};

    fn banks(cachedir: std::path::PathBuf) -> Banks {
        open(&StoreOptions::local_fs(cachedir, HashType::Sha256)).banks
    }

    #[test]
    fn names_do_not_leave_the_cache() {
        let dir = tempfile::tempdir().unwrap();
        let banks = banks(dir.path().join("cache"));
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
