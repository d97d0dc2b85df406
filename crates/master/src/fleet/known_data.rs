//! Grains, pillar and mine of minions, and who is notified of changes.

use std::collections::BTreeSet;
use std::sync::{Arc, MutexGuard, OnceLock};

use halite_proto::{Map, MinionId};
use halite_store::{Bank, MinionData, Parts, StoreError};

/// Hears what is known of minions anew.
pub(crate) trait DataListener: Send + Sync {
    /// Waits until nobody else changes what is known of a minion.
    fn turn(&self, id: &MinionId) -> MutexGuard<'_, ()>;

    /// What is known now; `None` if it was removed. In that minion's turn.
    fn changed(&self, bank: Bank, id: &MinionId, data: Option<&Map>);
}

/// What is known of minions. Where nobody listens, it is the store and nothing else.
pub(crate) struct KnownData {
    store: MinionData,
    listener: OnceLock<Arc<dyn DataListener>>,
}

impl KnownData {
    /// What is in a store.
    pub(crate) fn new(store: MinionData) -> Self {
        Self {
            store,
            listener: OnceLock::new(),
        }
    }

    /// Has somebody hear of every change from now on; only once.
    pub(crate) fn listen(&self, listener: Arc<dyn DataListener>) {
        let _ = self.listener.set(listener);
    }

    /// The store. What is changed in it directly, nobody hears of.
    pub(crate) fn store(&self) -> &MinionData {
        &self.store
    }

    /// See [`MinionData::get`].
    pub(crate) fn get(&self, bank: Bank, id: &MinionId) -> Result<Option<Map>, StoreError> {
        self.store.get(bank, id)
    }

    /// See [`MinionData::parts`].
    pub(crate) fn parts(
        &self,
        bank: Bank,
        ids: &[MinionId],
        names: &BTreeSet<String>,
    ) -> Result<Option<Parts>, StoreError> {
        self.store.parts(bank, ids, names)
    }

    /// See [`MinionData::ids`].
    pub(crate) fn ids(&self, bank: Bank) -> Result<Vec<MinionId>, StoreError> {
        self.store.ids(bank)
    }

    /// See [`MinionData::put`].
    pub(crate) fn put(&self, bank: Bank, id: &MinionId, data: &Map) -> Result<(), StoreError> {
        self.change(bank, id, || {
            self.store.put(bank, id, data)?;
            Ok(((), Now::Is(data)))
        })
    }

    /// See [`MinionData::put_pillar`]. That of an environment is this master's own.
    pub(crate) fn put_pillar(
        &self,
        id: &MinionId,
        pillarenv: Option<&str>,
        pillar: &Map,
    ) -> Result<bool, StoreError> {
        match pillarenv {
            None => self.put(Bank::Pillar, id, pillar).map(|()| true),
            Some(_) => self.store.put_pillar(id, pillarenv, pillar),
        }
    }

    /// See [`MinionData::update_mine`].
    pub(crate) fn update_mine(
        &self,
        id: &MinionId,
        data: Map,
        clear: bool,
    ) -> Result<(), StoreError> {
        self.change(Bank::Mine, id, || {
            self.store.update_mine(id, data, clear)?;
            Ok(((), Now::Stored))
        })
    }

    /// See [`MinionData::delete_from_mine`].
    pub(crate) fn delete_from_mine(&self, id: &MinionId, fun: &str) -> Result<bool, StoreError> {
        self.change(Bank::Mine, id, || {
            let deleted = self.store.delete_from_mine(id, fun)?;
            Ok((deleted, Now::Stored))
        })
    }

    /// See [`MinionData::forget`].
    pub(crate) fn forget(&self, bank: Bank, id: &MinionId) -> Result<bool, StoreError> {
        self.change(bank, id, || {
            Ok((self.store.forget(bank, id)?, Now::Removed))
        })
    }

    fn change<'a, T>(
        &self,
        bank: Bank,
        id: &MinionId,
        change: impl FnOnce() -> Result<(T, Now<'a>), StoreError>,
    ) -> Result<T, StoreError> {
        let Some(listener) = self.listener.get() else {
            return change().map(|(done, _)| done);
        };
        let _turn = listener.turn(id);
        let (done, now) = change()?;
        match now {
            Now::Is(data) => listener.changed(bank, id, Some(data)),
            Now::Stored => listener.changed(bank, id, self.store.get(bank, id)?.as_ref()),
            Now::Removed => listener.changed(bank, id, None),
        }
        Ok(done)
    }
}

/// What is known after a change.
enum Now<'a> {
    Is(&'a Map),
    /// What the store says.
    Stored,
    Removed,
}
