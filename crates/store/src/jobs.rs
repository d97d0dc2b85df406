//! Jobs: what was published, to which minions, and the returns.

mod begin;
mod packed;
mod while_away;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use halite_proto::returns::JobReturn;
use halite_proto::{Jid, Map, MinionId};
use halite_spool::SpoolError;

pub use self::begin::Begun;
use crate::backend::{Backend, on};
use crate::backlog::Waits;
use crate::error::StoreError;
use crate::job_filter::JobFilter;
use crate::kept::{Cleaned, Saved, StoredReturn};
use crate::packing::without_secrets;
use crate::waiting::{Waiting, Write};

/// The jobs of a store.
#[derive(Clone, Debug)]
pub struct Jobs {
    backend: Arc<Backend>,
    /// What its server has not taken, where that is kept.
    waiting: Option<Arc<Waiting>>,
}

impl Jobs {
    pub(crate) fn new(backend: Arc<Backend>) -> Self {
        Self {
            backend,
            waiting: None,
        }
    }

    /// Keeps writes that the server does not accept in a directory until it does.
    pub(crate) fn with_spool(mut self, dir: &Path, place: String) -> Result<Self, SpoolError> {
        let waiting = Waiting::open(dir, place, Arc::clone(&self.backend))?;
        self.waiting = Some(Arc::new(waiting));
        Ok(self)
    }

    /// The writes that wait until the server accepts them; `None` if writes never wait.
    pub fn waits(&self) -> Option<Waits> {
        self.waiting.as_ref().map(|waiting| waiting.waits())
    }

    /// Takes a new job id that nobody else has, other masters on the same store included.
    /// `next` returns one id after the other. If the server cannot be reached, the next
    /// one is taken and the server is told later.
    ///
    /// # Errors
    /// When the store cannot be written, or too many ids are taken.
    pub fn allocate(
        &self,
        nocache: bool,
        mut next: impl FnMut() -> Jid,
    ) -> Result<Jid, StoreError> {
        let allocated = self.allocate_now(nocache, &mut next);
        match (allocated, &self.waiting) {
            (Err(error), Some(waiting)) if error.is_of_server() => {
                let jid = next();
                let write = || Write::Prepare {
                    jid: jid.clone(),
                    nocache,
                };
                waiting.write(write, || Err(error))?;
                Ok(jid)
            }
            (allocated, _) => allocated,
        }
    }

    /// Takes a new job id for a job that is sent again until it is stored: nothing is
    /// queued if the server cannot be reached.
    ///
    /// # Errors
    /// When the store cannot be written, or too many ids are taken.
    pub fn allocate_now(
        &self,
        nocache: bool,
        mut next: impl FnMut() -> Jid,
    ) -> Result<Jid, StoreError> {
        on!(self.backend, jobs.allocate(nocache, &mut next))
    }

    /// Allocates the id that a minion has given to a job of its own, or the next free
    /// one. A repeated call with the same `mark` returns the same id.
    ///
    /// # Errors
    /// When the store cannot be written, or too many ids are taken.
    pub fn allocate_own(&self, id: &MinionId, mark: &Jid) -> Result<Jid, StoreError> {
        on!(self.backend, jobs.allocate_own(id, mark))
    }

    /// Prepares a job whose id was given.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn prepare(&self, jid: &Jid, nocache: bool) -> Result<(), StoreError> {
        let now = || on!(self.backend, jobs.prepare(jid, nocache));
        self.now_or_later(now, || Write::Prepare {
            jid: jid.clone(),
            nocache,
        })
    }

    /// Whether there is anything of a job here.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn knows(&self, jid: &Jid) -> Result<bool, StoreError> {
        let waits = self.waiting.as_ref().is_some_and(|it| it.knows(jid));
        if waits {
            return Ok(true);
        }
        on!(self.backend, jobs.knows(jid))
    }

    /// Whether the load of a job is there.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn has_load(&self, jid: &Jid) -> Result<bool, StoreError> {
        let waits = self.waiting.as_ref().is_some_and(|it| it.knows(jid));
        if waits {
            return Ok(true);
        }
        on!(self.backend, jobs.has_load(jid))
    }

    /// Stores what was published, without its secrets, and which minions were
    /// targeted.
    ///
    /// # Errors
    /// When the load cannot be packed or the store cannot be written.
    pub fn save_load(
        &self,
        jid: &Jid,
        load: &Map,
        minions: Option<&[MinionId]>,
    ) -> Result<(), StoreError> {
        let load = without_secrets(load);
        let now = || on!(self.backend, jobs.save_load(jid, &load, minions));
        self.now_or_later(now, || Write::Load {
            jid: jid.clone(),
            load: load.clone(),
            minions: minions.map(<[_]>::to_vec),
        })
    }

    /// Adds to the minions of a job; those of a syndic are kept apart.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn save_minions(
        &self,
        jid: &Jid,
        minions: &[MinionId],
        syndic: Option<&MinionId>,
    ) -> Result<(), StoreError> {
        let now = || on!(self.backend, jobs.save_minions(jid, minions, syndic));
        self.now_or_later(now, || Write::Minions {
            jid: jid.clone(),
            minions: minions.to_vec(),
            syndic: syndic.cloned(),
        })
    }

    /// Stores a minion's return, once. A job that this store does not know
    /// gets a load made from the return.
    ///
    /// # Errors
    /// When the return cannot be packed or the store cannot be written.
    pub fn save_return(
        &self,
        jid: &Jid,
        id: &MinionId,
        ret: &JobReturn,
    ) -> Result<Saved, StoreError> {
        let now = || on!(self.backend, jobs.save_return(jid, id, ret));
        match &self.waiting {
            Some(waiting) => waiting.save_return(jid, id, ret, now),
            None => now(),
        }
    }

    /// Stores when the last return came (`job_cache_store_endtime`).
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn save_endtime(&self, jid: &Jid, endtime: &str) -> Result<(), StoreError> {
        let now = || on!(self.backend, jobs.save_endtime(jid, endtime));
        self.now_or_later(now, || Write::Endtime {
            jid: jid.clone(),
            endtime: endtime.to_owned(),
        })
    }

    /// The load of a job, with the targeted minions under `Minions`; `None` for an
    /// unknown job.
    ///
    /// # Errors
    /// When it is damaged or cannot be read.
    pub fn load(&self, jid: &Jid) -> Result<Option<Map>, StoreError> {
        if let Some(load) = self.waiting.as_ref().and_then(|it| it.load(jid)) {
            return Ok(Some(load));
        }
        let stored: Result<Option<Map>, StoreError> = on!(self.backend, jobs.load(jid));
        if matches!(stored, Ok(Some(_))) {
            return stored;
        }
        match self.waiting.as_ref().and_then(|it| it.load_of_return(jid)) {
            Some(load) => Ok(Some(load)),
            None => stored,
        }
    }

    /// The returns of a job so far, by minion id in order. A damaged one is
    /// left out with a warning.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn returns(&self, jid: &Jid) -> Result<Vec<(MinionId, StoredReturn)>, StoreError> {
        let stored: Result<Vec<_>, StoreError> = on!(self.backend, jobs.returns(jid));
        let waits = self.waiting.as_ref().map(|it| it.returns(jid));
        let waits = waits.unwrap_or_default();
        let mut all = match stored {
            Err(error) if waits.is_empty() || !error.is_of_server() => return Err(error),
            stored => stored.unwrap_or_default(),
        };
        // What was stored first counts.
        all.extend(waits);
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        all.dedup_by(|(later, _), (first, _)| later == first);
        Ok(all)
    }

    /// The return of one minion, or `None`.
    ///
    /// # Errors
    /// When it is damaged or cannot be read.
    pub fn return_of(&self, jid: &Jid, id: &MinionId) -> Result<Option<StoredReturn>, StoreError> {
        let waits = self.waiting.as_ref().and_then(|it| it.return_of(jid, id));
        match waits {
            Some(stored) => Ok(Some(stored)),
            None => on!(self.backend, jobs.return_of(jid, id)),
        }
    }

    /// When the last return came, if that is stored.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn endtime(&self, jid: &Jid) -> Result<Option<String>, StoreError> {
        on!(self.backend, jobs.endtime(jid))
    }

    /// The newest jobs that have a load, newest first and at most `max`, each
    /// with what was published but without who was targeted. One that cannot
    /// be read is left out.
    ///
    /// # Errors
    /// When the jobs cannot be listed.
    pub fn newest(&self, max: usize) -> Result<Vec<(Jid, Map)>, StoreError> {
        self.newest_picked(max, &JobFilter::default(), |jid, load| Some((jid, load)))
    }

    /// Applies `pick` to the newest jobs that the filter finds, until it has picked
    /// `max`. Nothing else of them is kept in memory, and no more is read than needed.
    ///
    /// # Errors
    /// When the jobs cannot be listed.
    pub fn newest_picked<T>(
        &self,
        max: usize,
        filter: &JobFilter,
        pick: impl FnMut(Jid, Map) -> Option<T>,
    ) -> Result<Vec<T>, StoreError> {
        on!(self.backend, jobs.newest_picked(max, filter, pick))
    }

    /// Reads into memory what lists of jobs need, where that comes from many files:
    /// the first list is as fast as the next. A process that lists jobs now and then
    /// does it before somebody asks; it takes seconds with many jobs.
    ///
    /// # Errors
    /// When the jobs cannot be listed.
    pub fn prepare_lists(&self) -> Result<(), StoreError> {
        match self.backend.jobs_in_files() {
            Some(jobs) => jobs.read_index(),
            None => Ok(()),
        }
    }

    /// Stores which minion has published a job.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn save_publisher(&self, jid: &Jid, id: &MinionId) -> Result<(), StoreError> {
        let now = || on!(self.backend, jobs.save_publisher(jid, id));
        self.now_or_later(now, || Write::Publisher {
            jid: jid.clone(),
            id: id.clone(),
        })
    }

    /// The minion that has published a job, `None` for the job of a user.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn publisher(&self, jid: &Jid) -> Result<Option<MinionId>, StoreError> {
        on!(self.backend, jobs.publisher(jid))
    }

    /// Removes the jobs that were prepared more than `keep` before `now`, broken ones,
    /// and the records of the minions that had published them. With a `keep` of zero
    /// nothing is removed.
    ///
    /// # Errors
    /// When the jobs cannot be listed. A job that cannot be removed is logged
    /// and counted.
    pub fn clean(&self, keep: Duration, now: SystemTime) -> Result<Cleaned, StoreError> {
        if keep.is_zero() {
            return Ok(Cleaned::default());
        }
        on!(self.backend, jobs.clean(keep, now))
    }

    /// The state of a job in batches that one of Salt's programs has begun and left to
    /// the master, or `None`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn batch(&self, jid: &Jid) -> Result<Option<Map>, StoreError> {
        on!(self.backend, jobs.batch(jid))
    }

    /// Stores the state of a job in batches, which is prepared.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put_batch(&self, jid: &Jid, state: &Map) -> Result<(), StoreError> {
        on!(self.backend, jobs.put_batch(jid, state))
    }

    /// The jobs in batches that are not over.
    ///
    /// # Errors
    /// When the list cannot be read.
    pub fn active_batches(&self) -> Result<Vec<Jid>, StoreError> {
        on!(self.backend, jobs.active_batches())
    }

    /// Puts a job on the list of those that are not over.
    ///
    /// # Errors
    /// When the list cannot be read or written.
    pub fn begin_batch(&self, jid: &Jid) -> Result<(), StoreError> {
        on!(self.backend, jobs.begin_batch(jid))
    }

    /// Removes a job from the list of active batches.
    ///
    /// # Errors
    /// When the list cannot be read or written.
    pub fn end_batch(&self, jid: &Jid) -> Result<(), StoreError> {
        on!(self.backend, jobs.end_batch(jid))
    }

    fn now_or_later(
        &self,
        now: impl FnOnce() -> Result<(), StoreError>,
        later: impl FnOnce() -> Write,
    ) -> Result<(), StoreError> {
        match &self.waiting {
            Some(waiting) => waiting.write(later, now),
            None => now(),
        }
    }
}
