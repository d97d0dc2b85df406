//! `pillar_cache`: pillars as they were compiled, without what was laid over them, in
//! memory and, with `pillar_cache_backend: disk`, in files that outlive the master.
//!
//! Invariants: a path is made of hashes alone, since a minion names its environment;
//! a pillar has secrets, so its file is the master's own.

use std::collections::HashMap;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use halite_crypto::files::{MODE_SECRET, WriteOptions, read_limited, write_atomic};
use halite_crypto::{HashType, hash_hex};
use halite_proto::msgpack::{Packing, pack_map, unpack_modern};
use halite_proto::{Map, Value};

use crate::clock::now_s;
use crate::limits::{PILLAR_FILE_BYTES_MAX, PILLAR_FILES_MAX, PILLARS_CACHED_MAX};

/// The directory below `cachedir`.
const DIR: &str = "pillar_cache";

/// Whose pillar it is, and of which environment.
type Key = (String, Option<String>);

/// The pillars.
pub(super) struct PillarCache {
    ttl: Duration,
    kept: Mutex<HashMap<Key, Kept>>,
    dir: Option<PathBuf>,
}

#[derive(Clone)]
struct Kept {
    /// When it was compiled.
    at_s: i64,
    pillar: Map,
}

impl PillarCache {
    /// As the options of a master say: none unless `pillar_cache` is on.
    ///
    /// # Errors
    /// When `pillar_cache_backend` is neither `disk` nor `memory`; the error is its
    /// value.
    pub(super) fn from_opts(opts: &Map, cachedir: &Path) -> Result<Option<Self>, String> {
        let backend = opts.get("pillar_cache_backend").and_then(Value::as_str);
        let dir = match backend.unwrap_or("disk") {
            "disk" => Some(cachedir.join(DIR)),
            "memory" => None,
            other => return Err(other.to_owned()),
        };
        let ttl = opts.get("pillar_cache_ttl").and_then(Value::as_i64);
        let ttl = ttl.and_then(|seconds| u64::try_from(seconds).ok());
        let is_on = opts.get("pillar_cache").is_some_and(Value::is_true);
        Ok(is_on.then(|| Self {
            ttl: Duration::from_secs(ttl.unwrap_or(3600)),
            kept: Mutex::default(),
            dir,
        }))
    }

    /// The pillar of a minion, unless it is too old.
    pub(super) fn get(&self, id: &str, env: Option<&str>) -> Option<Map> {
        let key = (id.to_owned(), env.map(str::to_owned));
        let known = self.lock().get(&key).cloned();
        if let Some(known) = known.filter(|known| self.is_fresh(known)) {
            return Some(known.pillar);
        }
        let found = self.read(&key).filter(|found| self.is_fresh(found))?;
        self.keep(key, found.clone());
        Some(found.pillar)
    }

    /// Keeps a pillar that was compiled now.
    pub(super) fn put(&self, id: &str, env: Option<&str>, pillar: &Map) {
        let key = (id.to_owned(), env.map(str::to_owned));
        let kept = Kept {
            at_s: now_s(),
            pillar: pillar.clone(),
        };
        self.write(&key, &kept);
        self.keep(key, kept);
    }

    /// Forgets the pillar of one environment.
    pub(super) fn remove(&self, id: &str, env: Option<&str>) {
        let key = (id.to_owned(), env.map(str::to_owned));
        self.lock().remove(&key);
        if let Some(path) = self.path(&key) {
            // There may be none.
            let _ = fs::remove_file(path);
        }
    }

    /// Forgets all pillars of a minion.
    pub(super) fn forget(&self, id: &str) {
        self.lock().retain(|(known, _), _| known != id);
        if let Some(dir) = self.minion_dir(id) {
            let _ = fs::remove_dir_all(dir);
        }
    }

    /// A clock that was set back makes nothing fresh.
    fn is_fresh(&self, kept: &Kept) -> bool {
        let age = u64::try_from(now_s().saturating_sub(kept.at_s));
        age.is_ok_and(|age| age < self.ttl.as_secs())
    }

    fn keep(&self, key: Key, kept: Kept) {
        let mut all = self.lock();
        if all.len() >= PILLARS_CACHED_MAX {
            all.clear();
        }
        all.insert(key, kept);
    }

    fn minion_dir(&self, id: &str) -> Option<PathBuf> {
        let dir = self.dir.as_ref()?;
        Some(dir.join(hash_hex(HashType::Sha256, id.as_bytes())))
    }

    fn path(&self, (id, env): &Key) -> Option<PathBuf> {
        let name = match env {
            Some(env) => hash_hex(HashType::Sha256, env.as_bytes()),
            None => "default".to_owned(),
        };
        Some(self.minion_dir(id)?.join(name))
    }

    /// What is damaged or too large is compiled anew.
    fn read(&self, key: &Key) -> Option<Kept> {
        let bytes = read_limited(&self.path(key)?, PILLAR_FILE_BYTES_MAX).ok()?;
        let Ok(Value::Map(mut stored)) = unpack_modern(&bytes) else {
            return None;
        };
        match (stored.get("at")?.as_i64()?, stored.remove("pillar")?) {
            (at_s, Value::Map(pillar)) => Some(Kept { at_s, pillar }),
            _ => None,
        }
    }

    fn write(&self, key: &Key, kept: &Kept) {
        let (Some(path), Some(dir)) = (self.path(key), self.minion_dir(&key.0)) else {
            return;
        };
        let is_new = fs::symlink_metadata(&path).is_err();
        let files = fs::read_dir(&dir).map_or(0, Iterator::count);
        if is_new && files >= PILLAR_FILES_MAX {
            return;
        }
        let stored = Map::from([
            ("at", Value::from(kept.at_s)),
            ("pillar", kept.pillar.clone().into()),
        ]);
        let options = WriteOptions {
            durable: false,
            ..WriteOptions::new(MODE_SECRET)
        };
        let Ok(bytes) = pack_map(&stored, Packing::Modern) else {
            return;
        };
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&dir);
        let written = made
            .map_err(|error| error.to_string())
            .and_then(|()| write_atomic(&path, options, &bytes).map_err(|error| error.to_string()));
        if let Err(error) = written {
            tracing::warn!(minion = %key.0, error, "could not write the cached pillar");
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn cache(dir: &Path, backend: &str, ttl: i64) -> PillarCache {
        let opts = Map::from([
            ("pillar_cache", Value::from(true)),
            ("pillar_cache_backend", backend.into()),
            ("pillar_cache_ttl", ttl.into()),
        ]);
        PillarCache::from_opts(&opts, dir).unwrap().unwrap()
    }

    #[test]
    fn what_is_on_disk_outlives_the_master() {
        let dir = tempfile::tempdir().unwrap();
        let pillar = Map::from([("a", 1)]);
        let one = cache(dir.path(), "disk", 60);
        one.put("web1", None, &pillar);
        one.put("web1", Some("../../dev"), &pillar);
        one.put("web2", None, &pillar);
        let next = cache(dir.path(), "disk", 60);
        assert_eq!(next.get("web1", None), Some(pillar.clone()));
        assert_eq!(next.get("web1", Some("../../dev")), Some(pillar.clone()));
        assert_eq!(next.get("web1", Some("dev")), None);
        next.remove("web1", None);
        next.forget("web2");
        let last = cache(dir.path(), "disk", 60);
        assert_eq!(last.get("web1", None), None);
        assert_eq!(last.get("web2", None), None);
        assert!(last.get("web1", Some("../../dev")).is_some());
        // What is too old is none.
        assert_eq!(
            cache(dir.path(), "disk", 0).get("web1", Some("../../dev")),
            None
        );
        let path = last.path(&("web1".to_owned(), Some("../../dev".to_owned())));
        let path = path.unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        fs::write(&path, "damaged").unwrap();
        let again = cache(dir.path(), "disk", 60);
        assert_eq!(again.get("web1", Some("../../dev")), None);
    }

    #[test]
    fn what_is_in_memory_leaves_nothing_on_disk() {
        let dir = tempfile::tempdir().unwrap();
        let one = cache(dir.path(), "memory", 60);
        one.put("web1", None, &Map::from([("a", 1)]));
        assert!(one.get("web1", None).is_some());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_minion_has_so_many_files() {
        let dir = tempfile::tempdir().unwrap();
        let one = cache(dir.path(), "disk", 60);
        for number in 0..PILLAR_FILES_MAX + 5 {
            one.put("web1", Some(&number.to_string()), &Map::from([("a", 1)]));
        }
        let files = fs::read_dir(one.minion_dir("web1").unwrap()).unwrap();
        assert_eq!(files.count(), PILLAR_FILES_MAX);
    }

    #[test]
    fn another_backend_is_refused() {
        let opts = Map::from([("pillar_cache_backend", "redis")]);
        let refused = PillarCache::from_opts(&opts, Path::new("/nowhere"));
        assert_eq!(refused.err().as_deref(), Some("redis"));
    }
}
