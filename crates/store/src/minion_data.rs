//! The minion data cache: the data that the master received last from each minion.

use std::collections::BTreeSet;
use std::sync::Arc;

use halite_proto::{Map, MinionId};

use crate::backend::{Backend, on};
use crate::error::StoreError;
use crate::kept::{Bank, Parts};
use crate::limits::INDEX_KEYS_MAX;

/// The data of minions in a store.
#[derive(Clone, Debug)]
pub struct MinionData {
    backend: Arc<Backend>,
}

impl MinionData {
    pub(crate) fn new(backend: Arc<Backend>) -> Self {
        Self { backend }
    }

    /// The entries with these keys in the data of these minions; minions without data are
    /// left out. `None` for too many keys, and for the mine, whose entries are read one
    /// by one.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn parts(
        &self,
        bank: Bank,
        ids: &[MinionId],
        keys: &BTreeSet<String>,
    ) -> Result<Option<Parts>, StoreError> {
        if bank == Bank::Mine || keys.len() > INDEX_KEYS_MAX {
            return Ok(None);
        }
        on!(self.backend, data.parts(bank, ids, keys)).map(Some)
    }

    /// The data of a minion, or `None`. Damaged data counts as missing, with a warning:
    /// the minion's next message replaces it.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn get(&self, bank: Bank, id: &MinionId) -> Result<Option<Map>, StoreError> {
        on!(self.backend, data.get(bank, id))
    }

    /// Stores what is known about a minion.
    ///
    /// # Errors
    /// When it cannot be packed, when a minion tells more of itself than is
    /// kept, or when the store cannot be written.
    pub fn put(&self, bank: Bank, id: &MinionId, data: &Map) -> Result<(), StoreError> {
        on!(self.backend, data.put(bank, id, data))
    }

    /// Stores the pillar that was compiled for one environment; false if it is not stored
    /// because the minion has named too many environments.
    ///
    /// # Errors
    /// When it cannot be packed or the store cannot be written.
    pub fn put_pillar(
        &self,
        id: &MinionId,
        pillarenv: Option<&str>,
        pillar: &Map,
    ) -> Result<bool, StoreError> {
        // The environment comes from the minion and becomes a part of a name.
        match pillarenv.filter(|env| !env.contains(['/', '\0'])) {
            None => self.put(Bank::Pillar, id, pillar).map(|()| true),
            Some(env) => on!(self.backend, data.put_pillar(id, env, pillar)),
        }
    }

    /// The minions that a bank has something about, sorted.
    ///
    /// # Errors
    /// When the store cannot be listed.
    pub fn ids(&self, bank: Bank) -> Result<Vec<MinionId>, StoreError> {
        on!(self.backend, data.ids(bank))
    }

    /// Stores what a minion publishes about itself: instead of everything
    /// there was (`clear`), or over it.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn update_mine(&self, id: &MinionId, data: Map, clear: bool) -> Result<(), StoreError> {
        on!(self.backend, data.update_mine(id, data, clear))
    }

    /// Removes one function from a mine; false if it was not there.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn delete_from_mine(&self, id: &MinionId, fun: &str) -> Result<bool, StoreError> {
        on!(self.backend, data.delete_from_mine(id, fun))
    }

    /// Removes what a bank has about one minion; false if there was nothing.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn forget(&self, bank: Bank, id: &MinionId) -> Result<bool, StoreError> {
        on!(self.backend, data.forget(bank, id))
    }

    /// Removes grains and pillars of minions that are no longer known; a mine stays, as
    /// with Salt. Returns the number of removed entries.
    ///
    /// # Errors
    /// When the store cannot be listed or written.
    pub fn retain(&self, is_known: impl Fn(&MinionId) -> bool) -> Result<usize, StoreError> {
        on!(self.backend, data.retain(is_known))
    }
}
