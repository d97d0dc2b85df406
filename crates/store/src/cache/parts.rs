//! The parts of minions' data that targets ask for, kept in memory.
//!
//! Invariant: what is kept is used only while the server says that it was not
//! stored anew. Its times are whole seconds, so what was stored just before it
//! was read is read again.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use halite_proto::msgpack::unpack_modern;
use halite_proto::{Map, MinionId, Value};

use super::Cache;
use crate::error::StoreError;
use crate::kept::Parts;
use crate::limits::{FETCHED_AT_ONCE_MAX, INDEX_PACKED_BYTES_MAX, STAMP_SETTLED_S};

/// What is kept of one bank.
#[derive(Debug, Default)]
pub(crate) struct Index(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    keys: BTreeSet<String>,
    minions: HashMap<MinionId, Part>,
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
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_s = now_s.map_or(0, |age| i64::try_from(age.as_secs()).unwrap_or(i64::MAX));
        let stamps: HashMap<String, i64> = cache.stamps(bank)?.into_iter().collect();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !keys.is_subset(&kept.keys) {
            kept.keys = keys.clone();
            kept.minions.clear();
        }
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
            for (id, bytes) in ids.iter().zip(cache.fetch_many(bank, &names)?) {
                let part = Part {
                    stamp: stamps.get(id.as_str()).copied().unwrap_or_default(),
                    read_s: now_s,
                    data: bytes.and_then(|bytes| wanted_of(&bytes, &kept.keys)),
                };
                kept.minions.insert(id.clone(), part);
            }
        }
        let part = |id: &MinionId| {
            let data = kept.minions.get(id)?.data.clone()?;
            Some((id.clone(), data))
        };
        Ok(Arc::new(ids.iter().filter_map(part).collect()))
    }
}

/// The entries that are asked for; what is damaged or too large has none.
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
