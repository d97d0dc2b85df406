//! The recent jobs, also kept on disk, so that a master that was killed can still
//! send its minions what they have missed.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use halite_proto::publish::PublishLoad;
use halite_proto::{Jid, Map, MinionId, Value, msgpack};
use halite_spool::{Limits, Moment, Pending, Spool, SpoolError};
use halite_store::Jobs;

use crate::core::missed::{AgainMax, Decisions, Job, Missed, OpenJob};
use crate::error::chain;
use crate::limits::{MISSED_BYTES_MAX, RESEND_JOBS_MAX, RESEND_ROUND_JOBS_MAX};

/// The jobs that minions can ask for after a reconnect.
pub(crate) struct MissedJobs {
    memory: Mutex<Memory>,
}

struct Memory {
    missed: Missed,
    spool: Option<Spool>,
    /// When this process began to count seconds, [`BEGIN_S`] of them.
    begun: Moment,
}

/// The value at which the count of seconds starts, so that earlier times can be
/// represented. It is not the wall clock, which may be set: a job that is too old must
/// not be sent because of that.
const BEGIN_S: u64 = 1 << 40;

impl MissedJobs {
    /// Opens the memory in `dir`, with what an earlier run of this master has
    /// published within the window and `jobs` shows as open. What it cannot show now is
    /// left to [`decide`](Self::decide).
    ///
    /// # Errors
    /// When the directory cannot be used.
    pub(crate) fn open(dir: &Path, window_s: u64, jobs: &Jobs) -> Result<Self, SpoolError> {
        let mut missed = Missed::new(window_s, MISSED_BYTES_MAX);
        let mut spool = None;
        let now = Moment::now();
        if missed.is_on() {
            let limits = Limits {
                bytes_max: MISSED_BYTES_MAX as u64,
                age_max: Duration::from_secs(window_s),
            };
            let mut opened = Spool::open_window(dir, limits, now)?;
            opened.expire(now)?;
            let mut lookup = Lookup {
                jobs,
                failed: false,
            };
            for kept in opened.pending(now, 0, usize::MAX) {
                if let Some(job) = restored(&kept, &mut lookup) {
                    missed.record(BEGIN_S, job);
                }
            }
            spool = Some(opened);
        }
        let begun = now;
        let memory = Mutex::new(Memory {
            missed,
            spool,
            begun,
        });
        Ok(Self { memory })
    }

    /// Whether minions may ask what they have missed.
    pub(crate) fn is_on(&self) -> bool {
        self.lock().missed.is_on()
    }

    /// Remembers a job that is about to be published to `minions`.
    pub(crate) fn record(&self, load: &PublishLoad, minions: &[MinionId]) {
        self.record_told(load, minions, &[], Duration::ZERO);
    }

    /// Remembers a job that another master has published so long ago, and who has not
    /// returned it, and who has: those have seen it.
    pub(crate) fn record_told(
        &self,
        load: &PublishLoad,
        open: &[MinionId],
        returned: &[MinionId],
        age: Duration,
    ) {
        let mut memory = self.lock();
        let now = Moment::now();
        if !memory.missed.is_on() {
            return;
        }
        let map = load.to_map();
        let packed = match pack(&map, open.iter().chain(returned), age) {
            Ok(packed) => packed,
            Err(error) => {
                tracing::warn!(jid = %load.jid, "could not keep the job for replay: {error}");
                return;
            }
        };
        if let Some(spool) = &mut memory.spool
            && let Err(error) = spool.append(now, &packed)
        {
            tracing::warn!(
                jid = %load.jid,
                "kept the job for replay in memory only: {}",
                chain(&error)
            );
        }
        let now_s = memory.seconds(now);
        let job = Job {
            jid: load.jid.clone(),
            published_s: now_s.saturating_sub(age.as_secs()),
            heard_s: now_s,
            load: map,
            bytes: packed.len(),
            open: open.iter().cloned().collect(),
            returned: returned.iter().cloned().collect(),
            undecided: HashSet::new(),
        };
        memory.missed.record(now_s, job);
    }

    /// The size of the spool on disk and its losses; `None` if the spool is off.
    pub(crate) fn on_disk(&self) -> OnDisk {
        let memory = self.lock();
        let spool = memory.spool.as_ref();
        let dropped = spool.map(Spool::dropped).unwrap_or_default();
        OnDisk {
            jobs: spool.map_or(0, Spool::len),
            bytes: spool.map_or(0, Spool::bytes),
            // The window ends for each of them.
            dropped: dropped.too_much + dropped.unreadable,
        }
    }

    /// Whether all of these minions can ask for a job, and have not returned it.
    pub(crate) fn is_open(&self, jid: &Jid, minions: &[MinionId]) -> bool {
        self.lock().missed.is_open(jid, minions)
    }

    /// So long ago, as [`again_since`](Self::again_since) takes it.
    pub(crate) fn seconds_ago(&self, ago: Duration) -> u64 {
        self.lock()
            .seconds(Moment::now())
            .saturating_sub(ago.as_secs())
    }

    /// The jobs that this master has heard of since, each with the minions that have not
    /// returned it and know its id if they have run it; and how many are left out.
    pub(crate) fn again_since(&self, since_s: u64) -> (Vec<OpenJob>, usize) {
        const MAX: AgainMax = AgainMax {
            jobs: RESEND_ROUND_JOBS_MAX,
            newer: RESEND_JOBS_MAX,
        };
        let mut memory = self.lock();
        let now_s = memory.seconds(Moment::now());
        memory.missed.again_since(now_s, since_s, MAX)
    }

    /// Of the last `max` jobs, those that were published since and not returned by all,
    /// and how many older ones are left out.
    pub(crate) fn last_open(&self, since_s: u64, max: usize) -> (Vec<OpenJob>, usize) {
        let mut memory = self.lock();
        let now_s = memory.seconds(Moment::now());
        memory.missed.last_open(now_s, since_s, max)
    }

    /// The jobs of an earlier run of this master with a minion that may have returned them.
    pub(crate) fn undecided(&self) -> Vec<(Jid, MinionId)> {
        let mut memory = self.lock();
        let now_s = memory.seconds(Moment::now());
        memory.missed.undecided(now_s)
    }

    /// Looks the undecided ones up again. The jobs that were missed, each with the minions
    /// that have missed it, and what is left undecided.
    pub(crate) fn decide(
        &self,
        undecided: Vec<(Jid, MinionId)>,
        jobs: &Jobs,
    ) -> (Vec<OpenJob>, Vec<(Jid, MinionId)>) {
        let mut lookup = Lookup {
            jobs,
            failed: false,
        };
        let (mut decisions, mut left) = (Decisions::new(), Vec::new());
        // The lock is not held while a server is asked.
        for (jid, id) in undecided {
            match lookup.has_returned(&jid, &id) {
                Some(has_returned) => {
                    let decided = decisions.entry(jid).or_default();
                    decided.insert(id, has_returned);
                }
                None => left.push((jid, id)),
            }
        }
        let mut memory = self.lock();
        let now_s = memory.seconds(Moment::now());
        (memory.missed.decide(now_s, &decisions), left)
    }

    /// Whether a job is still remembered.
    pub(crate) fn remembers(&self, jid: &Jid) -> bool {
        self.lock().missed.remembers(jid)
    }

    /// Whether a minion has returned a job that is remembered.
    pub(crate) fn has_returned(&self, jid: &Jid, id: &MinionId) -> bool {
        self.lock().missed.has_returned(jid, id)
    }

    /// Records that a minion has returned a job.
    pub(crate) fn returned(&self, jid: &Jid, id: &MinionId) {
        self.lock().missed.returned(jid, id);
    }

    /// The jobs that a minion may have missed, in order.
    pub(crate) fn missed_by(&self, id: &MinionId) -> Vec<Map> {
        let mut memory = self.lock();
        let now_s = memory.seconds(Moment::now());
        memory.missed.missed_by(now_s, id)
    }

    /// Whether there is a job that a minion may have missed; `None` while a job is written
    /// to the disk, for which the tasks of the network must not wait.
    pub(crate) fn has_missed(&self, id: &MinionId) -> Option<bool> {
        let mut memory = match self.memory.try_lock() {
            Ok(memory) => memory,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let now_s = memory.seconds(Moment::now());
        Some(memory.missed.has_missed(now_s, id))
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The recent jobs as stored on disk.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OnDisk {
    /// How many there are.
    pub(crate) jobs: usize,
    /// Their size.
    pub(crate) bytes: u64,
    /// How many were forgotten before their time.
    pub(crate) dropped: u64,
}

impl Memory {
    fn seconds(&self, now: Moment) -> u64 {
        let since = now.steady.saturating_duration_since(self.begun.steady);
        BEGIN_S + since.as_secs()
    }
}

/// Reads who has returned jobs, until that fails: a server that hangs is not asked for
/// each of them.
struct Lookup<'j> {
    jobs: &'j Jobs,
    failed: bool,
}

impl Lookup<'_> {
    /// `None` if it cannot be known now.
    fn has_returned(&mut self, jid: &Jid, id: &MinionId) -> Option<bool> {
        if self.failed {
            return None;
        }
        let stored = self.jobs.return_of(jid, id);
        self.failed = stored.is_err();
        stored.ok().map(|stored| stored.is_some())
    }
}

/// A job of an earlier run of this master, with who has returned it by now.
fn restored(kept: &Pending, lookup: &mut Lookup<'_>) -> Option<Job> {
    let Packed {
        jid,
        load,
        minions,
        age,
    } = Packed::read(&kept.payload)?;
    let heard_s = BEGIN_S.saturating_sub(kept.age.as_secs());
    let mut job = Job {
        published_s: heard_s.saturating_sub(age.as_secs()),
        heard_s,
        jid,
        load,
        bytes: kept.payload.len(),
        open: HashSet::new(),
        returned: HashSet::new(),
        undecided: HashSet::new(),
    };
    for id in minions {
        let minions = match lookup.has_returned(&job.jid, &id) {
            Some(false) => &mut job.open,
            Some(true) => &mut job.returned,
            None => &mut job.undecided,
        };
        minions.insert(id);
    }
    Some(job)
}

fn pack<'i>(
    load: &Map,
    minions: impl Iterator<Item = &'i MinionId>,
    age: Duration,
) -> Result<Vec<u8>, halite_proto::PackError> {
    let minions: Vec<Value> = minions.map(Value::from).collect();
    let kept = Map::from([
        ("load", Value::Map(load.clone())),
        ("minions", minions.into()),
        ("age_s", age.as_secs().into()),
    ]);
    msgpack::pack_modern(&kept.into())
}

/// A job as stored on disk.
struct Packed {
    jid: Jid,
    load: Map,
    minions: Vec<MinionId>,
    /// How old it was when it was written.
    age: Duration,
}

impl Packed {
    fn read(packed: &[u8]) -> Option<Self> {
        let Value::Map(mut kept) = msgpack::unpack_modern(packed).ok()? else {
            return None;
        };
        let Some(Value::Map(load)) = kept.remove("load") else {
            return None;
        };
        let minions = kept.get("minions")?.as_list()?.iter();
        let minions = minions.filter_map(|id| MinionId::parse(id.as_str()?).ok());
        // Earlier versions do not say.
        let age_s = kept.get("age_s").and_then(Value::as_i64).unwrap_or(0);
        Some(Self {
            jid: Jid::parse(load.get("jid")?.as_str()?).ok()?,
            minions: minions.collect(),
            age: Duration::from_secs(u64::try_from(age_s).unwrap_or(0)),
            load,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_task_of_the_network_waits_for_the_disk() {
        let missed = MissedJobs {
            memory: Mutex::new(Memory {
                missed: Missed::new(60, MISSED_BYTES_MAX),
                spool: None,
                begun: Moment::now(),
            }),
        };
        let id = MinionId::parse("web1").unwrap();
        assert_eq!(missed.has_missed(&id), Some(false));
        let writing = missed.lock();
        assert_eq!(missed.has_missed(&id), None);
        drop(writing);
        assert_eq!(missed.has_missed(&id), Some(false));
    }
}
