//! `pillar_cache`: compiled pillars, without overrides, in memory and, with
//! `pillar_cache_backend: disk`, in files that survive a restart of the master.
//!
//! Invariants: a path is made of hashes only, since a minion names its environment.
//! A pillar holds secrets, so its file is private, is removed when the pillar is
//! too old or its minion has lost its key, and is never given to another key.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::fs::{self, DirBuilder, DirEntry};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use halite_crypto::files::{MODE_SECRET, WriteOptions, read_limited, write_atomic};
use halite_crypto::{HashType, hash_hex};
use halite_proto::msgpack::{Packing, pack_map, unpack_modern};
use halite_proto::{Map, MinionId, Value};

use crate::clock::now_s;
use crate::limits::{PILLAR_FILE_BYTES_MAX, PILLAR_FILES_MAX, PILLARS_CACHED_MAX};

/// The directory below `cachedir`.
const DIR: &str = "pillar_cache";

/// Whose pillar it is, and of which environment.
type Key = (String, Option<String>);

/// The pillars.
pub(crate) struct PillarCache {
    ttl: Duration,
    kept: Mutex<HashMap<Key, Kept>>,
    dir: Option<PathBuf>,
}

#[derive(Clone)]
struct Kept {
    /// When it was compiled.
    at_s: i64,
    /// The mark of the key that its minion had then.
    key: String,
    pillar: Map,
}

impl PillarCache {
    /// Reads the options of a master: `None` unless `pillar_cache` is on. Pillars that an
    /// earlier run has left on disk are removed if the disk is no longer used.
    ///
    /// # Errors
    /// When `pillar_cache_backend` is neither `disk` nor `memory`; the error is its
    /// value.
    pub(crate) fn from_opts(opts: &Map, cachedir: &Path) -> Result<Option<Self>, String> {
        let backend = opts.get("pillar_cache_backend").and_then(Value::as_str);
        let dir = match backend.unwrap_or("disk") {
            "disk" => Some(cachedir.join(DIR)),
            "memory" => None,
            other => return Err(other.to_owned()),
        };
        let ttl = opts.get("pillar_cache_ttl").and_then(Value::as_i64);
        let ttl = ttl.and_then(|seconds| u64::try_from(seconds).ok());
        let is_on = opts.get("pillar_cache").is_some_and(Value::is_true);
        if !is_on || dir.is_none() {
            remove(&cachedir.join(DIR));
        }
        Ok(is_on.then(|| Self {
            ttl: Duration::from_secs(ttl.unwrap_or(3600)),
            kept: Mutex::default(),
            dir,
        }))
    }

    /// The pillar that a minion with this key got, unless it is too old.
    pub(crate) fn get(&self, id: &str, env: Option<&str>, key: &str) -> Option<Map> {
        let kept = self.fresh(id, env)?;
        (kept.key == key).then_some(kept.pillar)
    }

    /// The same for the administrator, whatever key it was for.
    pub(crate) fn show(&self, id: &str, env: Option<&str>) -> Option<Map> {
        Some(self.fresh(id, env)?.pillar)
    }

    fn fresh(&self, id: &str, env: Option<&str>) -> Option<Kept> {
        let of = (id.to_owned(), env.map(str::to_owned));
        let known = self.lock().get(&of).cloned();
        if let Some(known) = known.filter(|known| self.is_fresh(known)) {
            return Some(known);
        }
        let found = self.read(&of).filter(|found| self.is_fresh(found))?;
        self.keep(of, found.clone());
        Some(found)
    }

    /// Caches a newly compiled pillar, for a minion with this key.
    pub(crate) fn put(&self, id: &str, env: Option<&str>, key: &str, pillar: &Map) {
        let of = (id.to_owned(), env.map(str::to_owned));
        let kept = Kept {
            at_s: now_s(),
            key: key.to_owned(),
            pillar: pillar.clone(),
        };
        self.write(&of, &kept);
        self.keep(of, kept);
    }

    /// Forgets the pillar of one environment.
    pub(crate) fn remove(&self, id: &str, env: Option<&str>) {
        let key = (id.to_owned(), env.map(str::to_owned));
        self.lock().remove(&key);
        if let Some(path) = self.path(&key) {
            // There may be none.
            let _ = fs::remove_file(path);
        }
    }

    /// Forgets all pillars of a minion.
    pub(crate) fn forget(&self, id: &str) {
        self.lock().retain(|(known, _), _| known != id);
        if let Some(dir) = self.minion_dir(id) {
            remove(&dir);
        }
    }

    /// Forgets what is too old, and what is of minions that are not `accepted`.
    pub(crate) fn sweep(&self, accepted: &[MinionId]) {
        let ids: HashSet<&str> = accepted.iter().map(MinionId::as_str).collect();
        self.lock()
            .retain(|(id, _), kept| ids.contains(id.as_str()) && self.is_fresh(kept));
        let Some(dir) = &self.dir else { return };
        let names: HashSet<String> = ids.into_iter().map(dir_name).collect();
        for entry in entries(dir) {
            let is_accepted = entry
                .file_name()
                .to_str()
                .is_some_and(|name| names.contains(name));
            match is_accepted {
                true => {
                    self.sweep_minion(&entry.path());
                }
                false => remove(&entry.path()),
            }
        }
    }

    /// Removes the files of one minion that are too old, and counts the others.
    fn sweep_minion(&self, dir: &Path) -> usize {
        let (old, fresh): (Vec<_>, Vec<_>) = entries(dir).partition(|entry| self.is_old(entry));
        for entry in old {
            remove(&entry.path());
        }
        fresh.len()
    }

    /// A file is written when its pillar is compiled.
    fn is_old(&self, entry: &DirEntry) -> bool {
        let written = entry.metadata().and_then(|data| data.modified());
        let age = written.map(|at| SystemTime::now().duration_since(at).unwrap_or_default());
        age.map_or(true, |age| age >= self.ttl)
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
        Some(dir.join(dir_name(id)))
    }

    fn path(&self, (id, env): &Key) -> Option<PathBuf> {
        let name = match env {
            Some(env) => hash_hex(HashType::Sha256, env.as_bytes()),
            None => "default".to_owned(),
        };
        Some(self.minion_dir(id)?.join(name))
    }

    /// Reads a cached pillar; `None` if it is damaged or too large, so that it is
    /// compiled again.
    fn read(&self, key: &Key) -> Option<Kept> {
        let bytes = read_limited(&self.path(key)?, PILLAR_FILE_BYTES_MAX).ok()?;
        let Ok(Value::Map(mut stored)) = unpack_modern(&bytes) else {
            return None;
        };
        let (at_s, key) = (stored.get("at")?.as_i64()?, stored.get("key")?.as_str()?);
        let key = key.to_owned();
        match stored.remove("pillar")? {
            Value::Map(pillar) => Some(Kept { at_s, key, pillar }),
            _ => None,
        }
    }

    fn write(&self, key: &Key, kept: &Kept) {
        let (Some(path), Some(dir)) = (self.path(key), self.minion_dir(&key.0)) else {
            return;
        };
        let is_new = fs::symlink_metadata(&path).is_err();
        if is_new && self.sweep_minion(&dir) >= PILLAR_FILES_MAX {
            return;
        }
        let stored = Map::from([
            ("at", Value::from(kept.at_s)),
            ("key", kept.key.as_str().into()),
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

/// The directory name of a minion.
fn dir_name(id: &str) -> String {
    hash_hex(HashType::Sha256, id.as_bytes())
}

/// The entries of a directory, or nothing if it does not exist.
fn entries(dir: &Path) -> impl Iterator<Item = DirEntry> {
    fs::read_dir(dir).into_iter().flatten().flatten()
}

/// Removes a file, or a directory with what is in it.
fn remove(path: &Path) {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::error!(path = %path.display(), %error, "cached pillars stay on disk");
        }
        _ => {}
    }
}
