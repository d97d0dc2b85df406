//! The jobs of the last while, kept on disk too, so that a master that was
//! killed can still tell its minions what they have missed.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use halite_proto::publish::PublishLoad;
use halite_proto::{Jid, Map, MinionId, Value, msgpack};
use halite_spool::{Limits, Moment, Spool, SpoolError};
use halite_store::Jobs;

use crate::core::missed::Missed;
use crate::error::chain;
use crate::limits::MISSED_BYTES_MAX;

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

/// What the count of seconds begins with, so that what is older has a time too.
/// It is not that of the wall's clock: that may be set, and a job that is too
/// old is not given out for all that.
const BEGIN_S: u64 = 1 << 40;

impl MissedJobs {
    /// Opens the memory in `dir`, with what an earlier run of this master has
    /// published within the window and `jobs` shows as open.
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
            for kept in opened.pending(now, 0, usize::MAX) {
                if let Some((jid, load, minions)) = unpack(&kept.payload) {
                    let open: Vec<MinionId> = minions
                        .into_iter()
                        .filter(|id| is_open(jobs, &jid, id))
                        .collect();
                    let bytes = kept.payload.len();
                    let published_s = BEGIN_S.saturating_sub(kept.age.as_secs());
                    missed.record(published_s, jid, load, bytes, open);
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
        let mut memory = self.lock();
        let now = Moment::now();
        if !memory.missed.is_on() {
            return;
        }
        let map = load.to_map();
        let packed = match pack(&map, minions) {
            Ok(packed) => packed,
            Err(error) => {
                tracing::warn!(jid = %load.jid, "not kept for replay: {error}");
                return;
            }
        };
        if let Some(spool) = &mut memory.spool
            && let Err(error) = spool.append(now, &packed)
        {
            tracing::warn!(jid = %load.jid, "kept for replay in memory only: {}", chain(&error));
        }
        let jid = load.jid.clone();
        let published_s = memory.seconds(now);
        memory
            .missed
            .record(published_s, jid, map, packed.len(), minions.iter().cloned());
    }

    /// Whether all of these minions can ask for a job, and have not returned it.
    pub(crate) fn is_open(&self, jid: &Jid, minions: &[MinionId]) -> bool {
        self.lock().missed.is_open(jid, minions)
    }

    /// So long ago, as [`open_since`](Self::open_since) takes it.
    pub(crate) fn seconds_ago(&self, ago: Duration) -> u64 {
        self.lock()
            .seconds(Moment::now())
            .saturating_sub(ago.as_secs())
    }

    /// How many jobs were published since.
    pub(crate) fn count_since(&self, since_s: u64) -> usize {
        self.lock().missed.count_since(since_s)
    }

    /// The jobs that were published since, with the minions that have not returned
    /// them.
    pub(crate) fn open_since(&self, since_s: u64) -> Vec<(Map, Vec<MinionId>)> {
        let mut memory = self.lock();
        let now_s = memory.seconds(Moment::now());
        memory.missed.open_since(now_s, since_s)
    }

    /// The same of the last `max` jobs, and how many older ones are left out.
    pub(crate) fn last_open(&self, since_s: u64, max: usize) -> (Vec<(Map, Vec<MinionId>)>, usize) {
        let mut memory = self.lock();
        let now_s = memory.seconds(Moment::now());
        memory.missed.last_open(now_s, since_s, max)
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

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory {
    fn seconds(&self, now: Moment) -> u64 {
        let since = now.steady.saturating_duration_since(self.begun.steady);
        BEGIN_S + since.as_secs()
    }
}

fn is_open(jobs: &Jobs, jid: &Jid, id: &MinionId) -> bool {
    matches!(jobs.return_of(jid, id), Ok(None))
}

fn pack(load: &Map, minions: &[MinionId]) -> Result<Vec<u8>, halite_proto::PackError> {
    let minions: Vec<Value> = minions.iter().map(Value::from).collect();
    let kept = Map::from([
        ("load", Value::Map(load.clone())),
        ("minions", minions.into()),
    ]);
    msgpack::pack_modern(&kept.into())
}

fn unpack(packed: &[u8]) -> Option<(Jid, Map, Vec<MinionId>)> {
    let Value::Map(mut kept) = msgpack::unpack_modern(packed).ok()? else {
        return None;
    };
    let Some(Value::Map(load)) = kept.remove("load") else {
        return None;
    };
    let minions = kept.get("minions")?.as_list()?;
    let ids = minions
        .iter()
        .filter_map(|id| MinionId::parse(id.as_str()?).ok());
    let jid = Jid::parse(load.get("jid")?.as_str()?).ok()?;
    let ids = ids.collect();
    Some((jid, load, ids))
}
