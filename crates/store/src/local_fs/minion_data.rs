//! The minion data that the master received last, in files.
//!
//! The layout is that of 3008 (`<bank>/<id>.p`); what lies in that of 3006
//! (`old_layout`) is read where the new file is missing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use halite_proto::msgpack::{Packing, pack_map};
use halite_proto::{Map, MinionId, Value};

use super::atomic::{entries, load, put_making_dir, remove};
use super::index::{Files, Index};
use super::old_layout::OldLayout;
use crate::error::StoreError;
use crate::kept::{Bank, Parts};
use crate::limits::{FILE_NAME_BYTES_MAX, MINION_DATA_BYTES_MAX, PILLAR_ENVS_MAX};

/// The minion data cache of a master.
#[derive(Debug)]
pub(crate) struct MinionData {
    dir: PathBuf,
    old: OldLayout,
    /// One change to a mine at a time: it is read and written back.
    mine: Mutex<()>,
    /// What targets have asked for.
    grains_index: Index,
    pillar_index: Index,
}

impl MinionData {
    /// The cache in the master's `cachedir`.
    pub(crate) fn new(cachedir: &Path, copies_for_3006: bool) -> Self {
        Self {
            dir: cachedir.to_owned(),
            old: OldLayout::new(cachedir, copies_for_3006),
            mine: Mutex::new(()),
            grains_index: Index::default(),
            pillar_index: Index::default(),
        }
    }

    /// The entries are kept in memory, as long as nothing changes on disk: who
    /// asks for the same keys again does not wait for ten thousand files.
    pub(crate) fn parts(
        &self,
        bank: Bank,
        ids: &[MinionId],
        keys: &BTreeSet<String>,
    ) -> Result<Parts, StoreError> {
        let dir = self.dir.join(bank.name());
        let files = Files {
            dir: &dir,
            old: &|id| self.old.get(bank, id).ok().flatten(),
            has_old: self.old.is_there(),
        };
        let index = match bank {
            Bank::Grains => &self.grains_index,
            Bank::Pillar => &self.pillar_index,
            Bank::Mine => return Ok(Parts::default()),
        };
        // A file that cannot be read is left out with a warning.
        Ok(index.parts(&files, ids, keys))
    }

    pub(crate) fn get(&self, bank: Bank, id: &MinionId) -> Result<Option<Map>, StoreError> {
        match read(&self.path(bank, id.as_str()))? {
            Some(map) => Ok(Some(map)),
            None => self.old.get(bank, id),
        }
    }

    pub(crate) fn put(&self, bank: Bank, id: &MinionId, data: &Map) -> Result<(), StoreError> {
        let max = match bank {
            Bank::Grains | Bank::Mine => MINION_DATA_BYTES_MAX,
            // That is the master's own.
            Bank::Pillar => usize::MAX,
        };
        write(&self.path(bank, id.as_str()), data, max)?;
        self.old.copy(bank, id, data)
    }

    pub(crate) fn put_pillar(
        &self,
        id: &MinionId,
        env: &str,
        pillar: &Map,
    ) -> Result<bool, StoreError> {
        let key = format!("{id}:{env}");
        let path = self.path(Bank::Pillar, &key);
        let is_room = key.len() <= FILE_NAME_BYTES_MAX
            && (path.exists() || self.pillar_envs(id)? < PILLAR_ENVS_MAX);
        if is_room {
            write(&path, pillar, usize::MAX)?;
            // The older layout has room for one pillar.
            if !self.path(Bank::Pillar, id.as_str()).exists() {
                self.old.copy(Bank::Pillar, id, pillar)?;
            }
        }
        Ok(is_room)
    }

    /// The environments that a pillar of a minion is kept for.
    fn pillar_envs(&self, id: &MinionId) -> Result<usize, StoreError> {
        let beginning = format!("{id}:");
        let files = entries(&self.dir.join(Bank::Pillar.name()))?;
        let is_one = |name: &std::ffi::OsStr| {
            name.to_str()
                .is_some_and(|name| name.starts_with(&beginning))
        };
        Ok(files
            .iter()
            .filter(|entry| is_one(&entry.file_name()))
            .count())
    }

    pub(crate) fn ids(&self, bank: Bank) -> Result<Vec<MinionId>, StoreError> {
        let mut ids: Vec<MinionId> = entries(&self.dir.join(bank.name()))?
            .iter()
            .filter_map(|entry| bank_id(bank, entry.file_name().to_str()?))
            .collect();
        ids.extend(self.old.ids(bank)?);
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    pub(crate) fn update_mine(
        &self,
        id: &MinionId,
        data: Map,
        clear: bool,
    ) -> Result<(), StoreError> {
        let _one = self.mine.lock().unwrap_or_else(PoisonError::into_inner);
        if clear {
            return self.put(Bank::Mine, id, &data);
        }
        let mut mine = self.get(Bank::Mine, id)?.unwrap_or_default();
        mine.extend(data);
        self.put(Bank::Mine, id, &mine)
    }

    pub(crate) fn delete_from_mine(&self, id: &MinionId, fun: &str) -> Result<bool, StoreError> {
        let _one = self.mine.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut mine) = self.get(Bank::Mine, id)? else {
            return Ok(false);
        };
        if mine.remove(fun).is_none() {
            return Ok(false);
        }
        // Less than there was, however much that is.
        write(&self.path(Bank::Mine, id.as_str()), &mine, usize::MAX)?;
        self.old.copy(Bank::Mine, id, &mine)?;
        Ok(true)
    }

    pub(crate) fn forget(&self, bank: Bank, id: &MinionId) -> Result<bool, StoreError> {
        let _one =
            (bank == Bank::Mine).then(|| self.mine.lock().unwrap_or_else(PoisonError::into_inner));
        let new = remove(&self.path(bank, id.as_str()))?;
        let old = self.old.forget(bank, id)?;
        Ok(new || old)
    }

    pub(crate) fn retain(&self, is_known: impl Fn(&MinionId) -> bool) -> Result<usize, StoreError> {
        let mut removed = 0;
        for bank in [Bank::Grains, Bank::Pillar] {
            for entry in entries(&self.dir.join(bank.name()))? {
                let name = entry.file_name();
                let Some(stem) = name.to_str().and_then(|name| name.strip_suffix(".p")) else {
                    continue;
                };
                // `<id>:<env>` belongs to `<id>`, unless that is an id itself.
                let known = |text: &str| MinionId::parse(text).is_ok_and(|id| is_known(&id));
                let is_env_of_known = || stem.rsplit_once(':').is_some_and(|(id, _)| known(id));
                if !known(stem) && !is_env_of_known() && remove(&entry.path())? {
                    removed += 1;
                }
            }
        }
        Ok(removed + self.old.retain(is_known)?)
    }

    fn path(&self, bank: Bank, key: &str) -> PathBuf {
        self.dir.join(bank.name()).join(format!("{key}.p"))
    }
}

/// The content of a file; nothing if it is damaged.
pub(super) fn read(path: &Path) -> Result<Option<Map>, StoreError> {
    match load(path) {
        Ok(Some(Value::Map(map))) => Ok(Some(map)),
        Ok(None | Some(Value::Nil)) => Ok(None),
        Ok(Some(other)) => {
            let found = other.type_name();
            tracing::warn!(path = %path.display(), found, "not a dict, it is ignored");
            Ok(None)
        }
        Err(StoreError::Damaged { place, source }) => {
            tracing::warn!(path = place, error = %source, "damaged, it is ignored");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Puts it into a file, unless it is larger than `max`.
pub(super) fn write(path: &Path, data: &Map, max: usize) -> Result<(), StoreError> {
    let packed = pack_map(data, Packing::Modern)
        .map_err(|source| StoreError::pack(path.display(), source))?;
    if packed.len() > max {
        return Err(StoreError::TooLarge {
            place: path.display().to_string(),
            bytes: packed.len(),
            max,
        });
    }
    put_making_dir(path, &packed)
}

/// The minion of a bank's file; none for temporary files, and for a pillar of
/// one environment (`<id>:<env>`).
fn bank_id(bank: Bank, name: &str) -> Option<MinionId> {
    let id = name.strip_suffix(".p")?;
    if id.starts_with('.') || (bank == Bank::Pillar && id.contains(':')) {
        return None;
    }
    MinionId::parse(id).ok()
}
