//! Data of minions on a server: one bank for each kind, one key for each minion,
//! as Salt 3008 has it.

use std::collections::BTreeSet;

use halite_proto::msgpack::{Packing, pack_map, unpack_modern};
use halite_proto::{Map, MinionId, Value};

use super::Cache;
use super::parts::Index;
use crate::error::StoreError;
use crate::kept::{Bank, Parts};
use crate::limits::{FILE_NAME_BYTES_MAX, MINE_TRIES_MAX, MINION_DATA_BYTES_MAX, PILLAR_ENVS_MAX};

/// The data of minions on a server.
#[derive(Debug)]
pub(crate) struct MinionData {
    cache: Cache,
    grains: Index,
    pillars: Index,
}

impl MinionData {
    pub(crate) fn new(cache: Cache) -> Self {
        Self {
            cache,
            grains: Index::default(),
            pillars: Index::default(),
        }
    }

    pub(crate) fn parts(
        &self,
        bank: Bank,
        ids: &[MinionId],
        keys: &BTreeSet<String>,
    ) -> Result<Parts, StoreError> {
        let index = match bank {
            Bank::Grains => &self.grains,
            Bank::Pillar => &self.pillars,
            Bank::Mine => return Ok(Parts::default()),
        };
        index.parts(&self.cache, bank.name(), ids, keys)
    }

    pub(crate) fn get(&self, bank: Bank, id: &MinionId) -> Result<Option<Map>, StoreError> {
        let bytes = self.cache.fetch(bank.name(), id.as_str())?;
        Ok(bytes.and_then(|bytes| self.unpacked(bank, id, &bytes)))
    }

    pub(crate) fn put(&self, bank: Bank, id: &MinionId, data: &Map) -> Result<(), StoreError> {
        let packed = self.packed(bank, id.as_str(), data, limit_of(bank))?;
        self.cache.store(bank.name(), id.as_str(), packed)
    }

    pub(crate) fn put_pillar(
        &self,
        id: &MinionId,
        env: &str,
        pillar: &Map,
    ) -> Result<bool, StoreError> {
        let bank = Bank::Pillar;
        let key = format!("{id}:{env}");
        if key.len() > FILE_NAME_BYTES_MAX {
            return Ok(false);
        }
        let beginning = format!("{id}:");
        let known = self.cache.keys(bank.name())?;
        let envs = known.iter().filter(|key| key.starts_with(&beginning));
        if !known.contains(&key) && envs.count() >= PILLAR_ENVS_MAX {
            return Ok(false);
        }
        let packed = self.packed(bank, &key, pillar, usize::MAX)?;
        self.cache.store(bank.name(), &key, packed)?;
        Ok(true)
    }

    pub(crate) fn ids(&self, bank: Bank) -> Result<Vec<MinionId>, StoreError> {
        let keys = self.cache.keys(bank.name())?.into_iter();
        let is_id = |key: &String| bank != Bank::Pillar || !key.contains(':');
        let mut ids: Vec<MinionId> = keys
            .filter(is_id)
            .filter_map(|key| MinionId::parse(key).ok())
            .collect();
        ids.sort_unstable();
        Ok(ids)
    }

    pub(crate) fn update_mine(
        &self,
        id: &MinionId,
        data: Map,
        clear: bool,
    ) -> Result<(), StoreError> {
        if clear {
            return self.put(Bank::Mine, id, &data);
        }
        self.change_mine(id, |known| {
            let mut mine = known.unwrap_or_default();
            mine.extend(data.clone());
            Some((mine, MINION_DATA_BYTES_MAX))
        })
        .map(drop)
    }

    pub(crate) fn delete_from_mine(&self, id: &MinionId, fun: &str) -> Result<bool, StoreError> {
        self.change_mine(id, |known| {
            let mut mine = known?;
            // Less than there was, however much that is.
            mine.remove(fun).map(|_| (mine, usize::MAX))
        })
    }

    /// Changes a mine that another master may be changing too; false if there is
    /// nothing to change.
    fn change_mine(
        &self,
        id: &MinionId,
        change: impl Fn(Option<Map>) -> Option<(Map, usize)>,
    ) -> Result<bool, StoreError> {
        let (bank, name) = (Bank::Mine, Bank::Mine.name());
        for _ in 0..MINE_TRIES_MAX {
            let stored = self.cache.fetch(name, id.as_str())?;
            let known = stored.as_deref();
            let known = known.and_then(|bytes| self.unpacked(bank, id, bytes));
            let Some((changed, max)) = change(known) else {
                return Ok(false);
            };
            let packed = self.packed(bank, id.as_str(), &changed, max)?;
            if self.cache.replace(name, id.as_str(), stored, packed)? {
                return Ok(true);
            }
        }
        Err(StoreError::Contested {
            place: self.cache.place(name, id.as_str()),
            tries: MINE_TRIES_MAX,
        })
    }

    pub(crate) fn forget(&self, bank: Bank, id: &MinionId) -> Result<bool, StoreError> {
        self.cache.flush_key(bank.name(), id.as_str())
    }

    pub(crate) fn retain(&self, is_known: impl Fn(&MinionId) -> bool) -> Result<usize, StoreError> {
        let known = |text: &str| MinionId::parse(text).is_ok_and(|id| is_known(&id));
        let mut removed = 0;
        for bank in [Bank::Grains, Bank::Pillar] {
            for key in self.cache.keys(bank.name())? {
                let is_env_of_known = || key.rsplit_once(':').is_some_and(|(id, _)| known(id));
                if !known(&key) && !is_env_of_known() && self.cache.flush_key(bank.name(), &key)? {
                    removed += 1;
                }
            }
        }
        Ok(removed)
    }

    fn packed(&self, bank: Bank, key: &str, data: &Map, max: usize) -> Result<Vec<u8>, StoreError> {
        let place = || self.cache.place(bank.name(), key);
        let packed =
            pack_map(data, Packing::Modern).map_err(|source| StoreError::pack(place(), source))?;
        match packed.len() > max {
            false => Ok(packed),
            true => Err(StoreError::TooLarge {
                place: place(),
                bytes: packed.len(),
                max,
            }),
        }
    }

    /// The data; damaged data counts as missing, with a warning.
    fn unpacked(&self, bank: Bank, id: &MinionId, bytes: &[u8]) -> Option<Map> {
        let place = || self.cache.place(bank.name(), id.as_str());
        match unpack_modern(bytes) {
            Ok(Value::Map(map)) => Some(map),
            Ok(Value::Nil) => None,
            Ok(other) => {
                tracing::warn!(
                    place = place(),
                    found = other.type_name(),
                    "not a dict, it is ignored"
                );
                None
            }
            Err(error) => {
                tracing::warn!(place = place(), %error, "damaged, it is ignored");
                None
            }
        }
    }
}

fn limit_of(bank: Bank) -> usize {
    match bank {
        Bank::Grains | Bank::Mine => MINION_DATA_BYTES_MAX,
        // That is the master's own.
        Bank::Pillar => usize::MAX,
    }
}
