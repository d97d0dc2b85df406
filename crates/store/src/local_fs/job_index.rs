//! The jobs of a cache directory in memory, for listing them.
//!
//! A list of 100,000 jobs would open 200,000 small files each time. Invariant: a
//! list shows the jobs that are on disk at that time, whoever wrote them. A
//! directory of jobs that has changed is read again. So is a load that was missing,
//! that is new, or that one of our programs has reported as rewritten, as for each
//! part of a batch ([`Rewrites`]). A load that is rewritten [`SETTLED_LOAD`](super::held_load::SETTLED_LOAD) after
//! the first version without a report (by a Python master, or by a program that was
//! killed before its report) is noticed after this program has next removed old
//! jobs, or has restarted.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use halite_proto::{Jid, Map};

use super::atomic::entries;
use super::held_load::Load;
use super::jobs::Jobs;
use super::lookup::{is_hidden, jid_of};
use super::rewrites::{Rewrites, Rewritten, Seen};
use super::stamp::Stamp;
use crate::error::{StoreError, chain};
use crate::job_filter::JobFilter;
use crate::kept::FoundLoad;
use crate::limits::{INDEXED_JOBS_MAX, LOADS_READ_AT_ONCE};

/// The index of one cache directory.
#[derive(Debug)]
pub(super) struct JobIndex {
    state: Mutex<State>,
    /// The loads that were rewritten. Writing one does not wait for a running list of
    /// jobs.
    rewrites: Rewrites,
}

#[derive(Debug, Default)]
struct State {
    /// The directories below that of all jobs.
    shards: HashMap<OsString, Shard>,
    jobs: BTreeMap<Jid, Load>,
    /// Bytes of the loads that are held.
    load_bytes: usize,
    /// Which loads are known to have been written anew.
    seen: Seen,
}

/// One of the directories that contain those of jobs.
#[derive(Debug, Default)]
struct Shard {
    /// The directory before it was read, if a further change would show.
    stamp: Option<Stamp>,
    /// The id of each job; `None` for one that is not where its id belongs.
    jobs: HashMap<Box<OsStr>, Option<Jid>>,
    /// Directories whose job id is not known yet.
    without_id: HashSet<Box<OsStr>>,
}

/// A directory of jobs that has changed.
struct ChangedShard {
    name: OsString,
    stamp: Option<Stamp>,
    jobs: Vec<OsString>,
}

impl Jobs {
    /// Updates the index, so that the next list need not. A list meanwhile waits for the
    /// ids, or for some of the loads.
    pub(crate) fn read_index(&self) -> Result<(), StoreError> {
        if !self.index.lock().update(self)? {
            return Ok(());
        }
        let mut before = None;
        loop {
            before = self.index.lock().read_loads(self, before);
            if before.is_none() {
                return Ok(());
            }
        }
    }

    /// As `newest_picked`, out of the index; `None` if there are too many jobs for it.
    pub(super) fn newest_indexed<T>(
        &self,
        max: usize,
        filter: &JobFilter,
        pick: &mut impl FnMut(Jid, Map) -> Option<T>,
    ) -> Result<Option<Vec<T>>, StoreError> {
        let mut state = self.index.lock();
        if !state.update(self)? {
            return Ok(None);
        }
        let now = SystemTime::now();
        let State {
            jobs, load_bytes, ..
        } = &mut *state;
        let picked = jobs
            .iter_mut()
            .rev()
            .filter(|(jid, _)| filter.fits_time(jid))
            .filter_map(|(jid, load)| {
                let packed = load.packed(self, jid, load_bytes, now)?;
                let map = self.unpacked_load(jid, &packed)?;
                filter.fits_load(&map).then(|| pick(jid.clone(), map))?
            });
        Ok(Some(picked.take(max).collect()))
    }
}

impl Jobs {
    /// As `newest_indexed` of all jobs, by the loads as they are packed. What `pick` makes
    /// nothing of, it is given again unpacked.
    pub(crate) fn newest_packed<T>(
        &self,
        max: usize,
        mut pick: impl FnMut(&Jid, FoundLoad<'_>) -> Option<T>,
    ) -> Result<Option<Vec<T>>, StoreError> {
        let mut state = self.index.lock();
        if !state.update(self)? {
            return Ok(None);
        }
        let now = SystemTime::now();
        let State {
            jobs, load_bytes, ..
        } = &mut *state;
        let picked = jobs.iter_mut().rev().filter_map(|(jid, load)| {
            let packed = load.packed(self, jid, load_bytes, now)?;
            pick(jid, FoundLoad::Packed(&packed)).or_else(|| {
                let map = self.unpacked_load(jid, &packed)?;
                pick(jid, FoundLoad::Unpacked(map))
            })
        });
        Ok(Some(picked.take(max).collect()))
    }
}

impl JobIndex {
    /// `rewrites` is where programs say which loads they have written anew.
    pub(super) fn new(rewrites: PathBuf) -> Self {
        Self {
            state: Mutex::default(),
            rewrites: Rewrites::new(rewrites),
        }
    }

    /// Records that the load of a job was rewritten.
    pub(super) fn rewritten(&self, jid: &Jid) {
        if let Err(error) = self.rewrites.record(jid) {
            let error = chain(&error);
            tracing::warn!(
                %jid, error,
                "could not record that a job was rewritten: lists of jobs may show its earlier load"
            );
        }
    }

    /// Has all loads compared with their files once more.
    pub(super) fn unsettle(&self) {
        let mut state = self.lock();
        state.jobs.values_mut().for_each(Load::unsettle);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic of who lists leaves it whole.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State {
            jobs,
            load_bytes,
            seen,
            ..
        } = &mut *state;
        match self.rewrites.since(seen) {
            Rewritten::Loads(jids) => {
                for jid in &jids {
                    if let Some(load) = jobs.get_mut(jid) {
                        load.let_go(load_bytes);
                    }
                }
            }
            Rewritten::Any => jobs.values_mut().for_each(Load::unsettle),
        }
        state
    }
}

impl State {
    /// Reads the directories that have changed; false if there are too many jobs.
    fn update(&mut self, all: &Jobs) -> Result<bool, StoreError> {
        let mut changed = Vec::new();
        let mut there = HashSet::new();
        let mut count = 0;
        for shard in entries(&all.dir)? {
            let (name, path) = (shard.file_name(), shard.path());
            let stamp = Stamp::of(&path).filter(|stamp| stamp.is_settled());
            match self.shards.get(&name) {
                Some(known) if stamp.is_some() && known.stamp == stamp => {
                    count += known.jobs.len() + known.without_id.len();
                }
                _ => {
                    let jobs = match entries(&path) {
                        Ok(jobs) => jobs.into_iter().map(|job| job.file_name()),
                        // A file, which has none.
                        Err(_) if fs::symlink_metadata(&path).is_ok_and(|at| !at.is_dir()) => {
                            continue;
                        }
                        Err(error) => {
                            tracing::warn!(
                                %error,
                                "could not read a directory of jobs: listing the jobs known from \
                                 before"
                            );
                            if let Some(known) = self.shards.get_mut(&name) {
                                known.stamp = None;
                                count += known.jobs.len() + known.without_id.len();
                            }
                            there.insert(name);
                            continue;
                        }
                    };
                    let jobs: Vec<OsString> = jobs.filter(|name| !is_hidden(name)).collect();
                    count += jobs.len();
                    let name = name.clone();
                    changed.push(ChangedShard { name, stamp, jobs });
                }
            }
            there.insert(name);
        }
        if count > INDEXED_JOBS_MAX {
            *self = Self::default();
            return Ok(false);
        }
        let gone: Vec<Shard> = self
            .shards
            .extract_if(|name, _| !there.contains(name))
            .map(|(_, shard)| shard)
            .collect();
        for shard in gone {
            self.forget(shard.jobs);
        }
        for shard in changed {
            self.compare(shard);
        }
        self.find_ids(all);
        Ok(true)
    }

    /// Records which jobs a directory contains.
    fn compare(&mut self, changed: ChangedShard) {
        let mut old = self.shards.remove(&changed.name).unwrap_or_default();
        let mut shard = Shard {
            stamp: changed.stamp,
            ..Shard::default()
        };
        for name in changed.jobs {
            match old.jobs.remove_entry(name.as_os_str()) {
                Some((name, jid)) => drop(shard.jobs.insert(name, jid)),
                None => drop(shard.without_id.insert(name.into())),
            }
        }
        self.forget(old.jobs);
        self.shards.insert(changed.name, shard);
    }

    fn forget(&mut self, jobs: HashMap<Box<OsStr>, Option<Jid>>) {
        for jid in jobs.into_values().flatten() {
            if let Some(mut load) = self.jobs.remove(&jid) {
                load.let_go(&mut self.load_bytes);
            }
        }
    }

    /// Reads the ids of jobs that had none: they may just have been created. Most loads
    /// hold the id, too: then one file is read and not two.
    fn find_ids(&mut self, all: &Jobs) {
        let now = SystemTime::now();
        for (shard_name, shard) in &mut self.shards {
            let dir = all.dir.join(shard_name);
            let known = shard.without_id.extract_if(|name| {
                let dir = dir.join(&**name);
                // A load is read from where its id belongs.
                let is_there = |jid: &Jid| all.job_dir(jid) == dir;
                let found = Load::with_id(&dir, &mut self.load_bytes, now, is_there);
                let (jid, load) = match found {
                    Some((jid, load)) => (Some(jid), load),
                    None => match jid_of(&dir) {
                        Some(jid) => (Some(jid).filter(is_there), Load::NotHeld),
                        None => return false,
                    },
                };
                if let Some(jid) = &jid {
                    self.jobs.insert(jid.clone(), load);
                }
                shard.jobs.insert(name.clone(), jid);
                true
            });
            known.for_each(drop);
        }
    }

    /// Reads loads of jobs before this one, the newest first; the last one that was
    /// read.
    fn read_loads(&mut self, all: &Jobs, before: Option<Jid>) -> Option<Jid> {
        let now = SystemTime::now();
        let end = before.map_or(Bound::Unbounded, Bound::Excluded);
        let jobs = self.jobs.range_mut((Bound::Unbounded, end));
        let mut last = None;
        for (jid, load) in jobs.rev().take(LOADS_READ_AT_ONCE) {
            load.refresh(all, jid, &mut self.load_bytes, now);
            last = Some(jid);
        }
        last.cloned()
    }
}
