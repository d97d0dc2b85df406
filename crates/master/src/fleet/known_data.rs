//! Grains, pillar and mine of minions, and who is notified of changes.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Instant, SystemTime};

use halite_proto::{Map, MinionId};
use halite_store::{Bank, MinionData, Parts, StoreError};

use crate::core::unkept_data::{Unkept, UnkeptData};
use crate::error::chain;
use crate::limits::{UNKEPT_ROUND, UNKEPT_TURNS};

/// Is notified of changed data of minions.
pub(crate) trait DataListener: Send + Sync {
    /// Waits until nobody else changes what is known of a minion.
    fn turn(&self, id: &MinionId) -> MutexGuard<'_, ()>;

    /// The data now; `None` if it was removed. Called in that minion's turn.
    fn changed(&self, bank: Bank, id: &MinionId, data: Option<&Map>);
}

/// The data of minions: the store, and what the store has not accepted yet.
pub(crate) struct KnownData {
    store: MinionData,
    listener: OnceLock<Arc<dyn DataListener>>,
    unkept: Mutex<UnkeptData>,
    /// Held while something of a minion is stored, so that what waited is not stored over
    /// what came since.
    turns: [Mutex<()>; UNKEPT_TURNS],
}

impl KnownData {
    /// The data in a store.
    pub(crate) fn new(store: MinionData) -> Self {
        Self {
            store,
            listener: OnceLock::new(),
            unkept: Mutex::default(),
            turns: std::array::from_fn(|_| Mutex::default()),
        }
    }

    /// Registers the listener for all later changes; called once.
    pub(crate) fn listen(&self, listener: Arc<dyn DataListener>) {
        let _ = self.listener.set(listener);
    }

    /// The store. Direct changes to it are not announced.
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

    /// See [`MinionData::put`]. Data that a server does not accept is stored later.
    pub(crate) fn put(&self, bank: Bank, id: &MinionId, data: &Map) -> Result<(), StoreError> {
        let _turn = self.turn(id);
        self.unkept().take(bank, id);
        let done = self.put_now(bank, id, data);
        self.settle(bank, id, &done, || (data.clone(), true));
        done
    }

    /// Has something stored later that would be refused now as what came before it.
    pub(crate) fn put_later(&self, bank: Bank, id: &MinionId, data: &Map, why: &StoreError) {
        if why.is_of_server() {
            let _turn = self.turn(id);
            let data = (data.clone(), true);
            self.unkept()
                .add(bank, id, data, (chain(why), SystemTime::now()));
        }
    }

    /// See [`MinionData::put_pillar`]. That of an environment is this master's own, and
    /// not tried again.
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

    /// See [`MinionData::update_mine`]. Data that a server does not accept is stored
    /// later.
    pub(crate) fn update_mine(
        &self,
        id: &MinionId,
        data: Map,
        clear: bool,
    ) -> Result<(), StoreError> {
        let _turn = self.turn(id);
        let waited = self.unkept().take(Bank::Mine, id);
        let (data, clear) = match waited {
            Some(mut waited) if !clear => {
                waited.data.extend(data);
                (waited.data, waited.is_whole)
            }
            _ => (data, clear),
        };
        let done = self.update_mine_now(id, data.clone(), clear);
        self.settle(Bank::Mine, id, &done, || (data, clear));
        done
    }

    /// See [`MinionData::delete_from_mine`].
    pub(crate) fn delete_from_mine(&self, id: &MinionId, fun: &str) -> Result<bool, StoreError> {
        let _turn = self.turn(id);
        self.unkept().remove_from(Bank::Mine, id, fun);
        self.change(Bank::Mine, id, || {
            let deleted = self.store.delete_from_mine(id, fun)?;
            Ok((deleted, Now::Stored))
        })
    }

    /// See [`MinionData::forget`].
    pub(crate) fn forget(&self, bank: Bank, id: &MinionId) -> Result<bool, StoreError> {
        let _turn = self.turn(id);
        self.unkept().take(bank, id);
        self.change(bank, id, || {
            Ok((self.store.forget(bank, id)?, Now::Removed))
        })
    }

    /// Stores what was not taken before, of minions that are accepted still: for a while, or
    /// until something is not taken again.
    pub(crate) fn store_unkept(&self, is_accepted: impl Fn(&MinionId) -> bool) {
        let begun = Instant::now();
        while begun.elapsed() < UNKEPT_ROUND {
            let first = self.unkept().first();
            let Some((bank, id)) = first else { return };
            if !is_accepted(&id) {
                self.unkept().take(bank, &id);
            } else if !self.store_again(bank, &id) {
                return;
            }
        }
    }

    /// Whether it is stored, or of no use any more.
    fn store_again(&self, bank: Bank, id: &MinionId) -> bool {
        let _turn = self.turn(id);
        let Some(entry) = self.unkept().take(bank, id) else {
            return true;
        };
        let done = match bank {
            Bank::Mine => self.update_mine_now(id, entry.data.clone(), entry.is_whole),
            _ => self.put_now(bank, id, &entry.data),
        };
        match done {
            Ok(()) => self.unkept().note_taken(),
            Err(error) if error.is_of_server() => {
                let why = (chain(&error), SystemTime::now());
                if !self.unkept().put_back(bank, id, entry, why) {
                    tracing::error!(minion = %id, "dropped the minion's data: {}", chain(&error));
                }
                return false;
            }
            Err(error) => {
                tracing::error!(minion = %id, "dropped the minion's data: {}", chain(&error))
            }
        }
        true
    }

    /// The amount of data that waits to be stored; `None` if none does.
    pub(crate) fn waits(&self) -> Option<Unkept> {
        self.unkept().waits()
    }

    fn put_now(&self, bank: Bank, id: &MinionId, data: &Map) -> Result<(), StoreError> {
        self.change(bank, id, || {
            self.store.put(bank, id, data)?;
            Ok(((), Now::Is(data)))
        })
    }

    fn update_mine_now(&self, id: &MinionId, data: Map, clear: bool) -> Result<(), StoreError> {
        self.change(Bank::Mine, id, || {
            self.store.update_mine(id, data, clear)?;
            Ok(((), Now::Stored))
        })
    }

    /// Remembers data that a server has not accepted.
    fn settle(
        &self,
        bank: Bank,
        id: &MinionId,
        done: &Result<(), StoreError>,
        what: impl FnOnce() -> (Map, bool),
    ) {
        match done {
            Ok(()) => self.unkept().note_taken(),
            Err(error) if error.is_of_server() => {
                let why = (chain(error), SystemTime::now());
                self.unkept().add(bank, id, what(), why);
            }
            Err(_) => {}
        }
    }

    fn turn(&self, id: &MinionId) -> MutexGuard<'_, ()> {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        let number = usize::try_from(hasher.finish() % UNKEPT_TURNS as u64).unwrap_or_default();
        let [first, ..] = &self.turns;
        let turn = self.turns.get(number).unwrap_or(first);
        turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unkept(&self) -> MutexGuard<'_, UnkeptData> {
        self.unkept.lock().unwrap_or_else(PoisonError::into_inner)
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

/// The state after a change.
enum Now<'a> {
    Is(&'a Map),
    /// As stored.
    Stored,
    Removed,
}
