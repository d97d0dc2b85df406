//! Jobs: what was published, to whom, and what came of it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use halite_proto::returns::JobReturn;
use halite_proto::{Jid, Map, MinionId};

use crate::backend::{Backend, on};
use crate::error::StoreError;
use crate::job_filter::JobFilter;
use crate::kept::{Cleaned, Saved, StoredReturn};
use crate::packing::without_secrets;

/// The jobs of a store.
#[derive(Clone, Debug)]
pub struct Jobs {
    backend: Arc<Backend>,
}

impl Jobs {
    pub(crate) fn new(backend: Arc<Backend>) -> Self {
        Self { backend }
    }

    /// Takes a new job id that nobody else has, other masters on the same
    /// store included. `next` gives one id after the other.
    ///
    /// # Errors
    /// When the store cannot be written, or too many ids are taken.
    pub fn allocate(&self, nocache: bool, next: impl FnMut() -> Jid) -> Result<Jid, StoreError> {
        on!(self.backend, jobs.allocate(nocache, next))
    }

    /// Takes the id that a minion has given to a job of its own, or the next
    /// one that nobody has. Who comes again with the same `mark` gets the same
    /// id again, whatever has happened meanwhile.
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
        on!(self.backend, jobs.prepare(jid, nocache))
    }

    /// Whether there is anything of a job here.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn knows(&self, jid: &Jid) -> Result<bool, StoreError> {
        on!(self.backend, jobs.knows(jid))
    }

    /// Whether the load of a job is there.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn has_load(&self, jid: &Jid) -> Result<bool, StoreError> {
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
        on!(self.backend, jobs.save_load(jid, &load, minions))
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
        on!(self.backend, jobs.save_minions(jid, minions, syndic))
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
        on!(self.backend, jobs.save_return(jid, id, ret))
    }

    /// Stores when the last return came (`job_cache_store_endtime`).
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn save_endtime(&self, jid: &Jid, endtime: &str) -> Result<(), StoreError> {
        on!(self.backend, jobs.save_endtime(jid, endtime))
    }

    /// What was published as a job, with the minions that were targeted under
    /// `Minions`; none for an unknown job.
    ///
    /// # Errors
    /// When it is damaged or cannot be read.
    pub fn load(&self, jid: &Jid) -> Result<Option<Map>, StoreError> {
        on!(self.backend, jobs.load(jid))
    }

    /// The returns of a job so far, by minion id in order. A damaged one is
    /// left out with a warning.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn returns(&self, jid: &Jid) -> Result<Vec<(MinionId, StoredReturn)>, StoreError> {
        on!(self.backend, jobs.returns(jid))
    }

    /// One minion's return, none if there is none.
    ///
    /// # Errors
    /// When it is damaged or cannot be read.
    pub fn return_of(&self, jid: &Jid, id: &MinionId) -> Result<Option<StoredReturn>, StoreError> {
        on!(self.backend, jobs.return_of(jid, id))
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
        self.newest_fitting(max, &JobFilter::default(), |_, _| true)
    }

    /// As `newest`, of the jobs that the filter finds and `fits` takes too. The
    /// others are not kept in memory, and no more of what the filter finds is
    /// read than it takes to find `max`.
    ///
    /// # Errors
    /// When the jobs cannot be listed.
    pub fn newest_fitting(
        &self,
        max: usize,
        filter: &JobFilter,
        fits: impl FnMut(&Jid, &Map) -> bool,
    ) -> Result<Vec<(Jid, Map)>, StoreError> {
        on!(self.backend, jobs.newest_fitting(max, filter, fits))
    }

    /// Stores which minion has published a job.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn save_publisher(&self, jid: &Jid, id: &MinionId) -> Result<(), StoreError> {
        on!(self.backend, jobs.save_publisher(jid, id))
    }

    /// The minion that has published a job, `None` for the job of a user.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn publisher(&self, jid: &Jid) -> Result<Option<MinionId>, StoreError> {
        on!(self.backend, jobs.publisher(jid))
    }

    /// Removes the jobs that were prepared more than `keep` before `now`, and
    /// broken ones, and which minions had published them. With a `keep` of zero nothing is ever removed.
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

    /// The state of a job in batches that a program of Salt's has begun and
    /// leaves to the master, none if the job has none.
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

    /// Takes a job off the list of those that are not over.
    ///
    /// # Errors
    /// When the list cannot be read or written.
    pub fn end_batch(&self, jid: &Jid) -> Result<(), StoreError> {
        on!(self.backend, jobs.end_batch(jid))
    }
}
