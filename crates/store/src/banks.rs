//! Banks of any data: values that runners and templates keep under a name of their
//! choice.
//!
//! Invariant: names come from users, and each part is checked before a backend sees
//! it. The master's own banks (keys, tokens, pillar, jobs) are out of reach; grains
//! and mine can be read, not changed.

use std::sync::Arc;

use halite_proto::Value;

use crate::backend::{Backend, on};
use crate::kept::{BankError, BankName, KeyName};

/// The banks of a store.
#[derive(Clone, Debug)]
pub struct Banks {
    backend: Arc<Backend>,
}

impl Banks {
    pub(crate) fn new(backend: Arc<Backend>) -> Self {
        Self { backend }
    }

    /// The value under a key, or `None`.
    ///
    /// # Errors
    /// When a name is not allowed, or the value cannot be read.
    pub fn fetch(&self, bank: &str, key: &str) -> Result<Option<Value>, BankError> {
        let (bank, key) = (&BankName::parse(bank)?, KeyName::parse(key)?);
        Ok(on!(self.backend, banks.fetch(bank, key))?)
    }

    /// Stores a value.
    ///
    /// # Errors
    /// When a name is not allowed, or the value cannot be written.
    pub fn store(&self, bank: &str, key: &str, value: &Value) -> Result<(), BankError> {
        let (bank, key) = (&BankName::parse_writable(bank)?, KeyName::parse(key)?);
        Ok(on!(self.backend, banks.store(bank, key, value))?)
    }

    /// Removes a key, or a whole bank with the banks below it; false if there
    /// was nothing.
    ///
    /// # Errors
    /// When a name is not allowed, or something cannot be removed.
    pub fn flush(&self, bank: &str, key: Option<&str>) -> Result<bool, BankError> {
        let bank = &BankName::parse_writable(bank)?;
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

#[cfg(test)]
mod tests {
    use std::fs;

    use halite_crypto::HashType;

    use super::*;
    use crate::backend::StoreOptions;
    use crate::open::open;

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
        for own in [
            "tokens",
            "sessions",
            "jobs",
            "minions/web1/files",
            "keys",
            "denied_keys",
            "master_keys/peers",
            "pillar",
            "Keys",
            "keys ",
        ] {
            assert!(matches!(banks.list(own), Err(BankError::Own(_))), "{own}");
            let stored = banks.store(own, "k", &1.into());
            assert!(matches!(stored, Err(BankError::Own(_))), "{own}");
        }
        for known in ["grains", "mine"] {
            assert_eq!(banks.fetch(known, "web1").unwrap(), None);
            let stored = banks.store(known, "web1", &1.into());
            assert!(matches!(stored, Err(BankError::ReadOnly(_))), "{known}");
            let flushed = banks.flush(known, None);
            assert!(matches!(flushed, Err(BankError::ReadOnly(_))), "{known}");
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
