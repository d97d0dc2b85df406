//! Banks of any data, in the layout of Salt's `localfs` (`<bank>/<key>.p`).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use halite_proto::Value;
use halite_proto::msgpack::pack_modern;

use super::atomic::{entries, load, put_making_dir, remove};
use crate::error::StoreError;
use crate::kept::{BankName, KeyName};

/// The banks of a cache directory.
#[derive(Debug)]
pub(crate) struct Banks {
    dir: PathBuf,
}

impl Banks {
    pub(super) fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    pub(crate) fn fetch(
        &self,
        bank: &BankName,
        key: KeyName<'_>,
    ) -> Result<Option<Value>, StoreError> {
        load(&self.file(bank, key))
    }

    pub(crate) fn store(
        &self,
        bank: &BankName,
        key: KeyName<'_>,
        value: &Value,
    ) -> Result<(), StoreError> {
        let path = self.file(bank, key);
        let packed =
            pack_modern(value).map_err(|source| StoreError::pack(path.display(), source))?;
        put_making_dir(&path, &packed)
    }

    pub(crate) fn flush_key(&self, bank: &BankName, key: KeyName<'_>) -> Result<bool, StoreError> {
        remove(&self.file(bank, key))
    }

    pub(crate) fn flush_bank(&self, bank: &BankName) -> Result<bool, StoreError> {
        let dir = self.bank(bank);
        match fs::remove_dir_all(&dir) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(StoreError::remove(&dir, source)),
        }
    }

    pub(crate) fn list(&self, bank: &BankName) -> Result<Vec<String>, StoreError> {
        let mut names: Vec<String> = entries(&self.bank(bank))?
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

    fn bank(&self, bank: &BankName) -> PathBuf {
        let parts = bank.parts().iter();
        parts.fold(self.dir.clone(), |dir, part| below(&dir, part))
    }

    fn file(&self, bank: &BankName, key: KeyName<'_>) -> PathBuf {
        below(&self.bank(bank), &format!("{}.p", key.as_str()))
    }
}

/// Only for names that were checked.
fn below(dir: &Path, name: &str) -> PathBuf {
    dir.join(name)
}
