//! The jobs of a cache directory in memory, for listing them.
//!
//! A list of 100,000 jobs would open 200,000 small files each time. Invariant: a
//! list shows the jobs that are on disk at that time, whoever wrote them. A
//! directory of jobs that has changed is read again. So is a load that was missing,
//! that is new, or that one of our programs has reported as rewritten, as for each
//! part of a batch ([`Rewrites`]). A load that is rewritten [`SETTLED_LOAD`] after
//! the first version without a report (by a Python master, or by a program that was
//! killed before its report) is noticed after this program has next removed old
//! jobs, or has restarted.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use halite_proto::msgpack::unpack_modern;
use halite_proto::{Jid, Map, Value};

use super::atomic::{entries, read};
use super::jobs::{Jobs, LOAD};
use super::lookup::{is_hidden, jid_of, load_as_map};
use super::rewrites::{Rewrites, Rewritten, Seen};
use super::stamp::Stamp;
use crate::error::{StoreError, chain};
use crate::job_filter::JobFilter;
use crate::limits::{
    INDEXED_JOBS_MAX, INDEXED_LOAD_BYTES_MAX, INDEXED_LOADS_BYTES_MAX, LOADS_READ_AT_ONCE,
};

/// A load of this age is no longer expected to change.
const SETTLED_LOAD: Duration = Duration::from_secs(300);

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

/// The state of a job's load in the index.
#[derive(Debug)]
enum Load {
    /// It does not exist, or is read each time.
    NotHeld,
    /// The file's content, packed.
    Held {
        packed: Box<[u8]>,
        stamp: Stamp,
        /// Whether the file was seen to be the same when it had been there for long.
        is_settled: bool,
    },
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
                let map = load.current(self, jid, load_bytes, now)?;
                filter.fits_load(&map).then(|| pick(jid.clone(), map))?
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
        if let Err(error) = self.rewrites.note(jid) {
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

    /// Reads the ids of jobs that had none: they may just have been created.
    fn find_ids(&mut self, all: &Jobs) {
        for (shard_name, shard) in &mut self.shards {
            let dir = all.dir.join(shard_name);
            let known = shard.without_id.extract_if(|name| {
                let dir = dir.join(&**name);
                let Some(jid) = jid_of(&dir) else {
                    return false;
                };
                // Its load is read from where its id belongs.
                let jid = (all.job_dir(&jid) == dir).then_some(jid);
                if let Some(jid) = &jid {
                    self.jobs.insert(jid.clone(), Load::NotHeld);
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

impl Load {
    /// The load; `None` if it is missing or damaged.
    fn current(
        &mut self,
        all: &Jobs,
        jid: &Jid,
        bytes_held: &mut usize,
        now: SystemTime,
    ) -> Option<Map> {
        let read = self.refresh(all, jid, bytes_held, now);
        let packed = match (&read, &*self) {
            (Some(packed), _) => packed,
            (None, Self::Held { packed, .. }) => packed,
            (None, Self::NotHeld) => return None,
        };
        let unpacked = unpack_modern(packed);
        if let Ok(Value::Map(map)) = unpacked {
            return Some(map);
        }
        let path = all.job_dir(jid).join(LOAD);
        let unpacked = unpacked.map(Some);
        let unpacked = unpacked.map_err(|source| StoreError::damaged(path.display(), source));
        load_as_map(&path, unpacked).ok()?
    }

    /// Compares it with the file. A load that is not held is returned.
    fn refresh(
        &mut self,
        all: &Jobs,
        jid: &Jid,
        bytes_held: &mut usize,
        now: SystemTime,
    ) -> Option<Box<[u8]>> {
        if let Self::Held {
            is_settled: true, ..
        } = self
        {
            return None;
        }
        let path = all.job_dir(jid).join(LOAD);
        let found = Stamp::of(&path);
        let is_old = found.is_some_and(|stamp| stamp.is_older_than(SETTLED_LOAD, now));
        if let Self::Held {
            stamp, is_settled, ..
        } = self
            && found == Some(*stamp)
        {
            *is_settled = is_old;
            return None;
        }
        self.let_go(bytes_held);
        let stamp = found?;
        let packed: Box<[u8]> = read(&path).ok()??.into();
        // Salt writes it in its place: it may not be whole yet.
        let is_kept = stamp.is_settled()
            && packed.len() <= INDEXED_LOAD_BYTES_MAX
            && *bytes_held + packed.len() <= INDEXED_LOADS_BYTES_MAX;
        if !is_kept {
            return Some(packed);
        }
        *bytes_held += packed.len();
        *self = Self::Held {
            packed,
            stamp,
            is_settled: is_old,
        };
        None
    }

    /// Has it compared with the file once more.
    fn unsettle(&mut self) {
        if let Self::Held { is_settled, .. } = self {
            *is_settled = false;
        }
    }

    fn let_go(&mut self, bytes_held: &mut usize) {
        if let Self::Held { packed, .. } = std::mem::replace(self, Self::NotHeld) {
            *bytes_held -= packed.len();
        }
    }
}
