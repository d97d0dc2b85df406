//! Banks of any data, in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use halite_proto::Value;

use super::lock;
use crate::error::StoreError;
use crate::kept::{BankName, KeyName};

/// Values by bank and key.
#[derive(Debug, Default)]
pub(crate) struct Banks(Mutex<BTreeMap<BankName, BTreeMap<String, Value>>>);

impl Banks {
    pub(crate) fn fetch(
        &self,
        bank: &BankName,
        key: KeyName<'_>,
    ) -> Result<Option<Value>, StoreError> {
        let banks = lock(&self.0);
        Ok(banks
            .get(bank)
            .and_then(|keys| keys.get(key.as_str()).cloned()))
    }

    pub(crate) fn store(
        &self,
        bank: &BankName,
        key: KeyName<'_>,
        value: &Value,
    ) -> Result<(), StoreError> {
        let mut banks = lock(&self.0);
        let keys = banks.entry(bank.clone()).or_default();
        keys.insert(key.as_str().to_owned(), value.clone());
        Ok(())
    }

    pub(crate) fn flush_key(&self, bank: &BankName, key: KeyName<'_>) -> Result<bool, StoreError> {
        let mut banks = lock(&self.0);
        let keys = banks.get_mut(bank);
        Ok(keys.is_some_and(|keys| keys.remove(key.as_str()).is_some()))
    }

    pub(crate) fn flush_bank(&self, bank: &BankName) -> Result<bool, StoreError> {
        let mut banks = lock(&self.0);
        let before = banks.len();
        banks.retain(|name, _| !name.parts().starts_with(bank.parts()));
        Ok(banks.len() < before)
    }

    pub(crate) fn list(&self, bank: &BankName) -> Result<Vec<String>, StoreError> {
        let banks = lock(&self.0);
        let mut names: BTreeSet<String> = BTreeSet::new();
        names.extend(
            banks
                .get(bank)
                .into_iter()
                .flat_map(|keys| keys.keys().cloned()),
        );
        for name in banks.keys() {
            if let Some([next, ..]) = name.parts().strip_prefix(bank.parts()) {
                names.insert(next.clone());
            }
        }
        Ok(names.into_iter().collect())
    }
}
