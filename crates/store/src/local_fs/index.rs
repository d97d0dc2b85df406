//! The parts of minion data that targets ask for, in memory.
//!
//! A fleet of ten thousand has a hundred megabytes of grains, and targets use a few
//! names of them again and again. Invariant: the result is what was on disk at the
//! time of the request, whoever wrote it: a file that is replaced is another file,
//! and a directory without changes holds the same files.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halite_proto::msgpack::{Reading, pick};
use halite_proto::{Map, MinionId};

use super::atomic::read;
use super::stamp::Stamp;
use crate::kept::Parts;
use crate::limits::{INDEX_KEYS_MAX, INDEX_PACKED_BYTES_MAX};

/// Where the data is.
pub(crate) struct Files<'a> {
    pub(crate) dir: &'a Path,
    /// What an older master has left of a minion.
    pub(crate) old: &'a dyn Fn(&MinionId) -> Option<Map>,
    /// Whether there is anything of an older master.
    pub(crate) has_old: bool,
}

/// The index of one bank.
#[derive(Debug, Default)]
pub(crate) struct Index(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    keys: BTreeSet<String>,
    rows: Parts,
    /// The files that the rows are from; `None` where there was none.
    stamps: HashMap<MinionId, Option<Stamp>>,
    /// The stamp of the directory when all stamps were compared.
    dir: Option<Stamp>,
}

impl Index {
    pub(crate) fn parts(
        &self,
        files: &Files<'_>,
        ids: &[MinionId],
        keys: &BTreeSet<String>,
    ) -> Parts {
        let mut state = self.lock();
        state.make_room(keys);
        let dir = Stamp::of(files.dir);
        let settled = dir.filter(|dir| dir.is_settled());
        let is_same = dir.is_some() && state.dir == dir;
        for id in ids {
            // What lies elsewhere counts where there is no file, and changes unnoticed.
            let is_counted = |stamp: &Option<Stamp>| stamp.is_some() || !files.has_old;
            if is_same && state.stamps.get(id).is_some_and(is_counted) {
                continue;
            }
            state.renew(files, id);
        }
        if state.rows.len() > ids.len() {
            let known: HashSet<&MinionId> = ids.iter().collect();
            Arc::make_mut(&mut state.rows).retain(|id, _| known.contains(id));
            state.stamps.retain(|id, _| known.contains(id));
        }
        if !is_same {
            state.dir = settled;
        }
        Arc::clone(&state.rows)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Makes these keys part of all rows.
    fn make_room(&mut self, keys: &BTreeSet<String>) {
        if keys.is_subset(&self.keys) && !self.keys.is_empty() {
            return;
        }
        let mut all = std::mem::take(&mut self.keys);
        all.extend(keys.iter().cloned());
        if all.len() > INDEX_KEYS_MAX {
            all.clone_from(keys);
        }
        *self = Self {
            keys: all,
            ..Self::default()
        };
    }

    fn renew(&mut self, files: &Files<'_>, id: &MinionId) {
        let path = files.dir.join(format!("{id}.p"));
        let stamp = Stamp::of(&path);
        if stamp.is_some() && self.stamps.get(id) == Some(&stamp) {
            return;
        }
        let row = match stamp {
            Some(_) => self.read(&path),
            None if files.has_old => (files.old)(id).map(|map| self.only_keys(map)),
            None => None,
        };
        let rows = Arc::make_mut(&mut self.rows);
        match row {
            Some(row) => rows.insert(id.clone(), row),
            None => rows.remove(id),
        };
        self.stamps.insert(id.clone(), stamp);
    }

    fn read(&self, path: &Path) -> Option<Map> {
        let bytes = match read(path) {
            Ok(bytes) => bytes?,
            Err(error) => {
                tracing::warn!(
                    path = %path.display(), %error,
                    "ignored an entry of the index that cannot be read"
                );
                return None;
            }
        };
        if bytes.len() > INDEX_PACKED_BYTES_MAX {
            tracing::warn!(path = %path.display(), "too large to be targeted by");
            return None;
        }
        match pick(&bytes, &self.keys, Reading::Modern) {
            Ok(row) => row,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "damaged, it is ignored");
                None
            }
        }
    }

    fn only_keys(&self, mut map: Map) -> Map {
        map.retain(|key, _| key.as_str().is_some_and(|key| self.keys.contains(key)));
        map
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{Bank, MinionData, StoreOptions};

    fn id(text: &str) -> MinionId {
        MinionId::parse(text).unwrap()
    }

    fn data_in(dir: &Path) -> MinionData {
        let options = StoreOptions::local_fs(dir, halite_crypto::HashType::Sha256);
        crate::open(&options).data
    }

    fn keys(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn parts_follow_what_this_and_other_programs_write() {
        let dir = tempfile::tempdir().unwrap();
        let cache = data_in(dir.path());
        let other = data_in(dir.path());
        let ids = [id("web1"), id("web2"), id("gone")];
        let put = |cache: &MinionData, id: &MinionId, os: &str| {
            let grains = Map::from([("os", os), ("more", "x")]);
            cache.put(Bank::Grains, id, &grains).unwrap();
        };
        let os = |id: &MinionId| {
            let parts = cache
                .parts(Bank::Grains, &ids, &keys(&["os"]))
                .unwrap()
                .unwrap();
            let os = parts.get(id).and_then(|row| row.get("os").cloned());
            os.map(|os| halite_proto::Value::as_str(&os).unwrap().to_owned())
        };
        assert_eq!(os(&ids[0]), None);
        put(&cache, &ids[0], "Debian");
        put(&other, &ids[1], "Alpine");
        assert_eq!(os(&ids[0]).as_deref(), Some("Debian"));
        assert_eq!(os(&ids[1]).as_deref(), Some("Alpine"));
        for round in 0..20 {
            let (one, two) = (format!("a{round}"), format!("b{round}"));
            put(&cache, &ids[0], &one);
            put(&other, &ids[1], &two);
            assert_eq!(os(&ids[0]), Some(one));
            assert_eq!(os(&ids[1]), Some(two));
        }
        let parts = cache
            .parts(Bank::Grains, &ids, &keys(&["more", "none"]))
            .unwrap()
            .unwrap();
        assert_eq!(
            parts.len(),
            2,
            "of a minion without a file nothing is known"
        );
        assert_eq!(parts[&ids[0]].get("more"), Some(&"x".into()));
        cache.forget(Bank::Grains, &ids[0]).unwrap();
        assert_eq!(os(&ids[0]), None);
        let few = [id("web2")];
        let parts = cache
            .parts(Bank::Grains, &few, &keys(&["os"]))
            .unwrap()
            .unwrap();
        assert_eq!(parts.len(), 1);
    }

    #[test]
    fn what_an_older_master_left_counts_too() {
        let dir = tempfile::tempdir().unwrap();
        let old = dir.path().join("minions/web1");
        fs::create_dir_all(&old).unwrap();
        let data = Map::from([("grains", Map::from([("os", "Debian"), ("a", "b")]))]);
        let packed = halite_proto::msgpack::pack_modern(&data.into()).unwrap();
        fs::write(old.join("data.p"), packed).unwrap();
        let cache = data_in(dir.path());
        let parts = cache.parts(Bank::Grains, &[id("web1")], &keys(&["os"]));
        let expect = Map::from([("os", "Debian")]);
        assert_eq!(parts.unwrap().unwrap().get(&id("web1")), Some(&expect));
    }

    #[test]
    fn other_keys_are_added_and_too_many_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let cache = data_in(dir.path());
        let grains: Map = (0..200).map(|n| (format!("k{n}"), n)).collect();
        cache.put(Bank::Grains, &id("a"), &grains).unwrap();
        for number in 0..200 {
            let wanted = keys(&[&format!("k{number}")]);
            let parts = cache
                .parts(Bank::Grains, &[id("a")], &wanted)
                .unwrap()
                .unwrap();
            assert_eq!(
                parts[&id("a")].get(&format!("k{number}")),
                Some(&number.into())
            );
            assert!(parts[&id("a")].len() <= INDEX_KEYS_MAX);
        }
        let many: BTreeSet<String> = (0..200).map(|n| format!("k{n}")).collect();
        let parts = cache.parts(Bank::Grains, &[id("a")], &many);
        assert!(parts.unwrap().is_none());
    }
}
