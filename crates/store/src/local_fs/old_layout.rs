//! Minions' data as Salt's releases before 3008 have it in files: grains and pillar in
//! one `minions/<id>/data.p`, the mine in `mine.p` beside it.
//!
//! Invariant: it is written only where older programs are to be served, and then after
//! the file of 3008's layout, which counts where both are there.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use halite_proto::{Map, MinionId, Value};

use super::atomic::{entries, remove};
use super::minion_data::{read, write};
use crate::error::StoreError;
use crate::kept::Bank;

/// The directory of all minions.
const DIR: &str = "minions";

/// The older layout in a cache directory.
#[derive(Debug)]
pub(super) struct OldLayout {
    dir: PathBuf,
    takes_copies: bool,
    /// One change at a time: grains and pillar are in one file.
    one: Mutex<()>,
}

impl OldLayout {
    /// That of a master's `cachedir`.
    pub(super) fn new(cachedir: &Path, takes_copies: bool) -> Self {
        Self {
            dir: cachedir.join(DIR),
            takes_copies,
            one: Mutex::new(()),
        }
    }

    /// Whether there may be anything.
    pub(super) fn is_there(&self) -> bool {
        self.dir.is_dir()
    }

    pub(super) fn get(&self, bank: Bank, id: &MinionId) -> Result<Option<Map>, StoreError> {
        let Some(mut map) = read(&self.path(bank, id))? else {
            return Ok(None);
        };
        match bank {
            Bank::Mine => Ok(Some(map)),
            Bank::Grains | Bank::Pillar => match map.remove(bank.name()) {
                Some(Value::Map(part)) => Ok(Some(part)),
                _ => Ok(None),
            },
        }
    }

    /// The minions with data.
    pub(super) fn ids(&self, bank: Bank) -> Result<Vec<MinionId>, StoreError> {
        let mut ids = self.minions()?;
        ids.retain(|id| self.path(bank, id).is_file());
        Ok(ids)
    }

    /// Writes what was written in the layout of 3008, if older programs are served.
    pub(super) fn copy(&self, bank: Bank, id: &MinionId, data: &Map) -> Result<(), StoreError> {
        if !self.takes_copies {
            return Ok(());
        }
        let path = self.path(bank, id);
        // That nothing is too large was seen to before.
        if bank == Bank::Mine {
            return write(&path, data, usize::MAX);
        }
        let _one = self.one.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = read(&path)?.unwrap_or_default();
        all.insert(bank.name(), data.clone());
        write(&path, &all, usize::MAX)
    }

    /// Removes what there is of one minion; false if there was nothing.
    pub(super) fn forget(&self, bank: Bank, id: &MinionId) -> Result<bool, StoreError> {
        let path = self.path(bank, id);
        if bank == Bank::Mine {
            return self.remove(&path);
        }
        let _one = self.one.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut all) = read(&path)? else {
            return Ok(false);
        };
        let was_there = all.remove(bank.name()).is_some();
        if all.is_empty() {
            self.remove(&path)?;
        } else if was_there {
            write(&path, &all, usize::MAX)?;
        }
        Ok(was_there)
    }

    /// Removes grains and pillars of minions that are not known; gives how many files
    /// went.
    pub(super) fn retain(&self, is_known: impl Fn(&MinionId) -> bool) -> Result<usize, StoreError> {
        let mut removed = 0;
        for id in self.minions()? {
            if !is_known(&id) && self.remove(&self.path(Bank::Grains, &id))? {
                removed += 1;
            }
        }
        Ok(removed)
    }

    fn minions(&self) -> Result<Vec<MinionId>, StoreError> {
        let entries = entries(&self.dir)?;
        let ids = entries
            .iter()
            .filter_map(|entry| MinionId::parse(entry.file_name().to_str()?).ok());
        Ok(ids.collect())
    }

    /// Removes a file, and a minion's directory with its last one: older programs take
    /// each directory for a minion with data.
    fn remove(&self, path: &Path) -> Result<bool, StoreError> {
        let was_there = remove(path)?;
        if let Some(dir) = path.parent() {
            let _ = fs::remove_dir(dir);
        }
        Ok(was_there)
    }

    fn path(&self, bank: Bank, id: &MinionId) -> PathBuf {
        let file = match bank {
            Bank::Grains | Bank::Pillar => "data.p",
            Bank::Mine => "mine.p",
        };
        self.dir.join(id.as_str()).join(file)
    }
}
