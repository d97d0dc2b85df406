//! Banks of any data, on a server.

use halite_proto::Value;

use super::{Cache, pack};
use crate::error::StoreError;
use crate::kept::{BankName, KeyName};

/// The banks of a server.
#[derive(Debug)]
pub(crate) struct Banks(Cache);

impl Banks {
    pub(crate) fn new(cache: Cache) -> Self {
        Self(cache)
    }

    pub(crate) fn fetch(
        &self,
        bank: &BankName,
        key: KeyName<'_>,
    ) -> Result<Option<Value>, StoreError> {
        self.0.value(&name(bank), key.as_str())
    }

    pub(crate) fn store(
        &self,
        bank: &BankName,
        key: KeyName<'_>,
        value: &Value,
    ) -> Result<(), StoreError> {
        let bank = name(bank);
        let packed = pack(self.0.place(&bank, key.as_str()), value)?;
        self.0.store(&bank, key.as_str(), packed)
    }

    pub(crate) fn flush_key(&self, bank: &BankName, key: KeyName<'_>) -> Result<bool, StoreError> {
        self.0.flush_key(&name(bank), key.as_str())
    }

    pub(crate) fn flush_bank(&self, bank: &BankName) -> Result<bool, StoreError> {
        self.0.flush_bank(&name(bank))
    }

    pub(crate) fn list(&self, bank: &BankName) -> Result<Vec<String>, StoreError> {
        let bank = name(bank);
        let mut names = self.0.keys(&bank)?;
        names.extend(self.0.banks_below(&bank)?);
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }
}

fn name(bank: &BankName) -> String {
    bank.parts().join("/")
}
