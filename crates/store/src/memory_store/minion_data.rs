//! Data of minions, in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use halite_proto::msgpack::{Packing, pack_map};
use halite_proto::{Map, MinionId};

use super::{PLACE, lock};
use crate::error::StoreError;
use crate::kept::{Bank, Parts};
use crate::limits::{FILE_NAME_BYTES_MAX, MINION_DATA_BYTES_MAX, PILLAR_ENVS_MAX};

/// Data by bank and minion, and pillars by minion and environment.
#[derive(Debug, Default)]
pub(crate) struct MinionData(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    data: BTreeMap<(Bank, MinionId), Map>,
    pillars: BTreeMap<(MinionId, String), Map>,
}

impl MinionData {
    pub(crate) fn parts(
        &self,
        bank: Bank,
        ids: &[MinionId],
        keys: &BTreeSet<String>,
    ) -> Result<Parts, StoreError> {
        let state = lock(&self.0);
        let part = |id: &MinionId| {
            let mut map = state.data.get(&(bank, id.clone()))?.clone();
            map.retain(|key, _| key.as_str().is_some_and(|key| keys.contains(key)));
            Some((id.clone(), map))
        };
        Ok(Arc::new(ids.iter().filter_map(part).collect()))
    }

    pub(crate) fn get(&self, bank: Bank, id: &MinionId) -> Result<Option<Map>, StoreError> {
        Ok(lock(&self.0).data.get(&(bank, id.clone())).cloned())
    }

    pub(crate) fn put(&self, bank: Bank, id: &MinionId, data: &Map) -> Result<(), StoreError> {
        if bank != Bank::Pillar {
            check_size(data)?;
        }
        lock(&self.0).data.insert((bank, id.clone()), data.clone());
        Ok(())
    }

    pub(crate) fn put_pillar(
        &self,
        id: &MinionId,
        env: &str,
        pillar: &Map,
    ) -> Result<bool, StoreError> {
        let mut state = lock(&self.0);
        let key = (id.clone(), env.to_owned());
        let envs = state
            .pillars
            .keys()
            .filter(|(owner, _)| owner == id)
            .count();
        let is_room = id.as_str().len() + 1 + env.len() <= FILE_NAME_BYTES_MAX
            && (state.pillars.contains_key(&key) || envs < PILLAR_ENVS_MAX);
        if is_room {
            state.pillars.insert(key, pillar.clone());
        }
        Ok(is_room)
    }

    pub(crate) fn ids(&self, bank: Bank) -> Result<Vec<MinionId>, StoreError> {
        let state = lock(&self.0);
        let of_bank = state.data.keys().filter(|(of, _)| *of == bank);
        Ok(of_bank.map(|(_, id)| id.clone()).collect())
    }

    pub(crate) fn update_mine(
        &self,
        id: &MinionId,
        data: Map,
        clear: bool,
    ) -> Result<(), StoreError> {
        let mut state = lock(&self.0);
        let key = (Bank::Mine, id.clone());
        let mut mine = match clear {
            true => Map::new(),
            false => state.data.get(&key).cloned().unwrap_or_default(),
        };
        mine.extend(data);
        check_size(&mine)?;
        state.data.insert(key, mine);
        Ok(())
    }

    pub(crate) fn delete_from_mine(&self, id: &MinionId, fun: &str) -> Result<bool, StoreError> {
        let mut state = lock(&self.0);
        let mine = state.data.get_mut(&(Bank::Mine, id.clone()));
        Ok(mine.is_some_and(|mine| mine.remove(fun).is_some()))
    }

    pub(crate) fn forget(&self, bank: Bank, id: &MinionId) -> Result<bool, StoreError> {
        Ok(lock(&self.0).data.remove(&(bank, id.clone())).is_some())
    }

    pub(crate) fn retain(&self, is_known: impl Fn(&MinionId) -> bool) -> Result<usize, StoreError> {
        let mut state = lock(&self.0);
        let before = state.data.len() + state.pillars.len();
        let stays = |bank: Bank, id: &MinionId| bank == Bank::Mine || is_known(id);
        state.data.retain(|(bank, id), _| stays(*bank, id));
        state.pillars.retain(|(id, _), _| is_known(id));
        Ok(before - state.data.len() - state.pillars.len())
    }
}

fn check_size(data: &Map) -> Result<(), StoreError> {
    let packed =
        pack_map(data, Packing::Modern).map_err(|source| StoreError::pack(PLACE, source))?;
    if packed.len() > MINION_DATA_BYTES_MAX {
        return Err(StoreError::TooLarge {
            place: PLACE.to_owned(),
            bytes: packed.len(),
            max: MINION_DATA_BYTES_MAX,
        });
    }
    Ok(())
}
