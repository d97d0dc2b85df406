//! Minion keys in memory, with faults on demand: a second backend for tests.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use halite_proto::MinionId;

use crate::error::KeyStoreError;
use crate::state::KeyState;

/// Keys in memory.
#[derive(Debug, Default)]
pub struct MemoryKeys(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    keys: BTreeMap<(KeyState, MinionId), (u64, String)>,
    /// Counts the changes of each state.
    listings: BTreeMap<KeyState, u64>,
    changes: u64,
    /// How many more operations succeed; `None` means all.
    works: Option<u32>,
}

impl MemoryKeys {
    /// Lets `operations` more of them work; those after them fail.
    pub fn fail_after(&self, operations: u32) {
        self.with(|kept| kept.works = Some(operations));
    }

    /// Lets all operations work again.
    pub fn mend(&self) {
        self.with(|kept| kept.works = None);
    }

    pub(crate) fn write(
        &self,
        state: KeyState,
        id: &MinionId,
        pem: &str,
    ) -> Result<(), KeyStoreError> {
        self.operation(|kept| {
            kept.changes += 1;
            kept.listings.insert(state, kept.changes);
            let entry = (kept.changes, pem.to_owned());
            kept.keys.insert((state, id.clone()), entry);
        })
    }

    pub(crate) fn read(
        &self,
        state: KeyState,
        id: &MinionId,
    ) -> Result<Option<String>, KeyStoreError> {
        self.operation(|kept| {
            let key = kept.keys.get(&(state, id.clone()));
            key.map(|(_, pem)| pem.clone())
        })
    }

    pub(crate) fn remove(&self, state: KeyState, id: &MinionId) -> Result<bool, KeyStoreError> {
        self.operation(|kept| {
            let was_there = kept.keys.remove(&(state, id.clone())).is_some();
            if was_there {
                kept.changes += 1;
                kept.listings.insert(state, kept.changes);
            }
            was_there
        })
    }

    pub(crate) fn list(&self, state: KeyState) -> Result<Vec<MinionId>, KeyStoreError> {
        self.operation(|kept| {
            let keys = kept.keys.keys();
            let of_state = keys.filter(|(of, _)| *of == state);
            of_state.map(|(_, id)| id.clone()).collect()
        })
    }

    pub(crate) fn version(
        &self,
        state: KeyState,
        id: &MinionId,
    ) -> Result<Option<u64>, KeyStoreError> {
        self.operation(|kept| {
            let key = kept.keys.get(&(state, id.clone()));
            key.map(|(version, _)| *version)
        })
    }

    pub(crate) fn listing_version(&self, state: KeyState) -> Option<u64> {
        let version = self.operation(|kept| kept.listings.get(&state).copied().unwrap_or(0));
        version.ok()
    }

    fn operation<T>(&self, run: impl FnOnce(&mut Kept) -> T) -> Result<T, KeyStoreError> {
        self.with(|kept| match &mut kept.works {
            Some(0) => Err(KeyStoreError::Away),
            Some(left) => {
                *left -= 1;
                Ok(run(kept))
            }
            None => Ok(run(kept)),
        })
    }

    fn with<T>(&self, run: impl FnOnce(&mut Kept) -> T) -> T {
        run(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
