//! The parts of minion data that targets ask for, kept in memory.
//!
//! Invariant: a kept value is used only while the server says that it was not
//! stored again, or while the server is away. Its times are whole seconds, so a
//! value stored just before it was read is read again.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use halite_process::clock::unix_timestamp;
use halite_proto::msgpack::unpack_modern;
use halite_proto::{Map, MinionId, Value};

use super::Cache;
use crate::error::StoreError;
use crate::kept::Parts;
use crate::limits::{FETCHED_AT_ONCE_MAX, INDEX_KEYS_MAX, INDEX_PACKED_BYTES_MAX, STAMP_SETTLED_S};

/// The index of one bank.
#[derive(Debug, Default)]
pub(crate) struct Index(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    keys: BTreeSet<String>,
    minions: HashMap<MinionId, Part>,
    answer: Option<Answer>,
}

/// The last answer, valid for as long as nothing is stored.
#[derive(Debug)]
struct Answer {
    stamps: Vec<(String, i64)>,
    ids: Vec<MinionId>,
    parts: Parts,
}

#[derive(Debug)]
struct Part {
    stamp: i64,
    read_s: i64,
    data: Option<Map>,
}

impl Part {
    fn is_of(&self, stamp: i64) -> bool {
        self.stamp == stamp && self.read_s >= stamp.saturating_add(STAMP_SETTLED_S)
    }
}

impl Index {
    pub(super) fn parts(
        &self,
        cache: &Cache,
        bank: &str,
        ids: &[MinionId],
        keys: &BTreeSet<String>,
    ) -> Result<Parts, StoreError> {
        let now_s = unix_timestamp();
        let stamps = cache.stamps(bank);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let listed = match stamps {
            Err(error) if !error.is_answer() && kept.knows(keys) => return Ok(kept.parts(ids)),
            stamps => stamps?,
        };
        if let Some(answer) = &kept.answer
            && keys.is_subset(&kept.keys)
            && answer.stamps == listed
            && answer.ids == ids
        {
            return Ok(Arc::clone(&answer.parts));
        }
        kept.answer = None;
        let stamps: HashMap<&str, i64> = listed
            .iter()
            .map(|(name, stamp)| (name.as_str(), *stamp))
            .collect();
        kept.ask_for(keys);
        kept.minions
            .retain(|id, _| stamps.contains_key(id.as_str()));
        let is_kept = |id: &&MinionId| {
            let stamp = stamps.get(id.as_str());
            let part = kept.minions.get(*id);
            stamp.is_some_and(|stamp| part.is_some_and(|part| part.is_of(*stamp)))
        };
        let wanted = ids.iter().filter(|id| stamps.contains_key(id.as_str()));
        let missing: Vec<MinionId> = wanted.filter(|id| !is_kept(id)).cloned().collect();
        for ids in missing.chunks(FETCHED_AT_ONCE_MAX) {
            let names: Vec<String> = ids.iter().map(ToString::to_string).collect();
            cache.fetch_each(bank, &names, &mut |number, bytes| {
                let Some(id) = ids.get(number) else { return };
                let part = Part {
                    stamp: stamps.get(id.as_str()).copied().unwrap_or_default(),
                    read_s: now_s,
                    data: bytes.and_then(|bytes| wanted_of(&bytes, &kept.keys)),
                };
                kept.minions.insert(id.clone(), part);
            })?;
        }
        let parts = kept.parts(ids);
        let is_settled = |part: &Part| part.is_of(part.stamp);
        if kept.minions.values().all(is_settled) {
            kept.answer = Some(Answer {
                stamps: listed,
                ids: ids.to_vec(),
                parts: Arc::clone(&parts),
            });
        }
        Ok(parts)
    }
}

impl Kept {
    /// Whether it can answer while the server is away: with what was known last.
    fn knows(&self, keys: &BTreeSet<String>) -> bool {
        keys.is_subset(&self.keys) && !self.minions.is_empty()
    }

    /// Keeps these keys in memory from now on, beside those requested before.
    fn ask_for(&mut self, keys: &BTreeSet<String>) {
        if keys.is_subset(&self.keys) {
            return;
        }
        self.minions.clear();
        self.answer = None;
        self.keys.extend(keys.iter().cloned());
        if self.keys.len() > INDEX_KEYS_MAX {
            self.keys.clone_from(keys);
        }
    }

    fn parts(&self, ids: &[MinionId]) -> Parts {
        let part = |id: &MinionId| {
            let data = self.minions.get(id)?.data.clone()?;
            Some((id.clone(), data))
        };
        Arc::new(ids.iter().filter_map(part).collect())
    }
}

/// The requested entries; damaged or too large data has none.
fn wanted_of(bytes: &[u8], keys: &BTreeSet<String>) -> Option<Map> {
    if bytes.len() > INDEX_PACKED_BYTES_MAX {
        return None;
    }
    let Ok(Value::Map(mut map)) = unpack_modern(bytes) else {
        return None;
    };
    map.retain(|key, _| key.as_str().is_some_and(|key| keys.contains(key)));
    Some(map)
}
