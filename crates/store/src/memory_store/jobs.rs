//! Jobs, in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use halite_proto::msgpack::unpack_modern;
use halite_proto::returns::JobReturn;
use halite_proto::{Jid, Map, MinionId, Value, time};

use super::{PLACE, lock};
use crate::error::StoreError;
use crate::job_filter::JobFilter;
use crate::kept::{Cleaned, Saved, StoredReturn};
use crate::limits::{JID_TRIES_MAX, OWN_JID_TRIES_MAX};
use crate::packing::{load_of_return, pack_own_return};

/// All jobs.
#[derive(Debug, Default)]
pub(crate) struct Jobs(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    jobs: BTreeMap<Jid, Job>,
    publishers: BTreeMap<Jid, (MinionId, SystemTime)>,
    active: Vec<Jid>,
}

#[derive(Debug)]
struct Job {
    prepared: SystemTime,
    nocache: bool,
    owner: Option<(MinionId, Jid)>,
    load: Option<Map>,
    from_returns: bool,
    minions: BTreeSet<String>,
    returns: BTreeMap<MinionId, (Vec<u8>, Option<String>)>,
    endtime: Option<String>,
    batch: Option<Map>,
}

impl Job {
    fn new(nocache: bool) -> Self {
        Self {
            prepared: SystemTime::now(),
            nocache,
            owner: None,
            load: None,
            from_returns: false,
            minions: BTreeSet::new(),
            returns: BTreeMap::new(),
            endtime: None,
            batch: None,
        }
    }
}

impl Jobs {
    pub(crate) fn allocate(
        &self,
        nocache: bool,
        mut next: impl FnMut() -> Jid,
    ) -> Result<Jid, StoreError> {
        let mut state = lock(&self.0);
        for _ in 0..JID_TRIES_MAX {
            let jid = next();
            if !state.jobs.contains_key(&jid) {
                state.jobs.insert(jid.clone(), Job::new(nocache));
                return Ok(jid);
            }
        }
        Err(taken(JID_TRIES_MAX))
    }

    pub(crate) fn allocate_own(&self, id: &MinionId, mark: &Jid) -> Result<Jid, StoreError> {
        let mut state = lock(&self.0);
        let owner = Some((id.clone(), mark.clone()));
        let first = time::jid_to_micros(mark);
        for number in 0..OWN_JID_TRIES_MAX {
            let later = first.and_then(|first| first.checked_add(number));
            let jid = match (number, later) {
                (0, _) => mark.clone(),
                (_, Some(micros)) => time::jid_from_micros(micros),
                (_, None) => break,
            };
            match state.jobs.get(&jid) {
                Some(job) if job.owner == owner => return Ok(jid),
                Some(_) => {}
                None => {
                    let mut job = Job::new(false);
                    job.owner = owner;
                    state.jobs.insert(jid.clone(), job);
                    return Ok(jid);
                }
            }
        }
        Err(taken(
            usize::try_from(OWN_JID_TRIES_MAX).unwrap_or(usize::MAX),
        ))
    }

    pub(crate) fn prepare(&self, jid: &Jid, nocache: bool) -> Result<(), StoreError> {
        self.with(jid, |job| {
            job.prepared = SystemTime::now();
            job.nocache |= nocache;
            Ok(())
        })
    }

    pub(crate) fn knows(&self, jid: &Jid) -> Result<bool, StoreError> {
        Ok(lock(&self.0).jobs.contains_key(jid))
    }

    pub(crate) fn has_load(&self, jid: &Jid) -> Result<bool, StoreError> {
        Ok(self
            .look(jid, |job| job.load.as_ref().map(|_| ()))
            .is_some())
    }

    pub(crate) fn save_load(
        &self,
        jid: &Jid,
        load: &Map,
        minions: Option<&[MinionId]>,
    ) -> Result<(), StoreError> {
        self.with(jid, |job| {
            job.load = Some(load.clone());
            job.minions.extend(names(minions.unwrap_or_default()));
            Ok(())
        })
    }

    pub(crate) fn save_minions(
        &self,
        jid: &Jid,
        minions: &[MinionId],
        _syndic: Option<&MinionId>,
    ) -> Result<(), StoreError> {
        self.with(jid, |job| {
            job.minions.extend(names(minions));
            Ok(())
        })
    }

    pub(crate) fn save_return(
        &self,
        jid: &Jid,
        id: &MinionId,
        ret: &JobReturn,
    ) -> Result<Saved, StoreError> {
        let packed = pack_own_return(PLACE, ret)?;
        self.with(jid, |job| {
            if job.nocache {
                return Ok(Saved::NoCache);
            }
            if job.load.is_none() {
                job.load = Some(load_of_return(jid, id, ret));
                job.from_returns = true;
            }
            if let Some((stored, _)) = job.returns.get(id) {
                let differs = *stored != packed;
                return Ok(Saved::Duplicate { differs });
            }
            job.returns.insert(id.clone(), (packed, ret.out.clone()));
            if job.from_returns {
                job.minions.insert(id.to_string());
            }
            Ok(Saved::Stored)
        })
    }

    pub(crate) fn save_endtime(&self, jid: &Jid, endtime: &str) -> Result<(), StoreError> {
        self.with(jid, |job| {
            job.endtime = Some(endtime.to_owned());
            Ok(())
        })
    }

    pub(crate) fn load(&self, jid: &Jid) -> Result<Option<Map>, StoreError> {
        Ok(self.look(jid, |job| {
            let mut load = job.load.clone()?;
            if !job.minions.is_empty() {
                let minions = job.minions.iter().map(|id| Value::from(id.as_str()));
                load.insert("Minions", Value::List(minions.collect()));
            }
            Some(load)
        }))
    }

    pub(crate) fn returns(&self, jid: &Jid) -> Result<Vec<(MinionId, StoredReturn)>, StoreError> {
        let state = lock(&self.0);
        let returns = state.jobs.get(jid).into_iter().flat_map(|job| &job.returns);
        returns
            .map(|(id, stored)| Ok((id.clone(), unpacked(stored)?)))
            .collect()
    }

    pub(crate) fn return_of(
        &self,
        jid: &Jid,
        id: &MinionId,
    ) -> Result<Option<StoredReturn>, StoreError> {
        self.look(jid, |job| job.returns.get(id).map(unpacked))
            .transpose()
    }

    pub(crate) fn endtime(&self, jid: &Jid) -> Result<Option<String>, StoreError> {
        Ok(self.look(jid, |job| job.endtime.clone()))
    }

    pub(crate) fn newest_picked<T>(
        &self,
        max: usize,
        filter: &JobFilter,
        mut pick: impl FnMut(Jid, Map) -> Option<T>,
    ) -> Result<Vec<T>, StoreError> {
        let state = lock(&self.0);
        let jobs = state.jobs.iter().rev();
        let jobs = jobs.filter(|(jid, _)| filter.fits_time(jid));
        let loads = jobs.filter_map(|(jid, job)| Some((jid.clone(), job.load.clone()?)));
        let fitting = loads.filter(|(_, load)| filter.fits_load(load));
        let picked = fitting.filter_map(|(jid, load)| pick(jid, load));
        Ok(picked.take(max).collect())
    }

    pub(crate) fn save_publisher(&self, jid: &Jid, id: &MinionId) -> Result<(), StoreError> {
        let entry = (id.clone(), SystemTime::now());
        lock(&self.0).publishers.insert(jid.clone(), entry);
        Ok(())
    }

    pub(crate) fn publisher(&self, jid: &Jid) -> Result<Option<MinionId>, StoreError> {
        let state = lock(&self.0);
        Ok(state.publishers.get(jid).map(|(id, _)| id.clone()))
    }

    pub(crate) fn clean(&self, keep: Duration, now: SystemTime) -> Result<Cleaned, StoreError> {
        let stays = |since: SystemTime| now.duration_since(since).is_ok_and(|age| age <= keep);
        let mut state = lock(&self.0);
        state.publishers.retain(|_, (_, since)| stays(*since));
        let seen = state.jobs.len();
        state.jobs.retain(|_, job| stays(job.prepared));
        Ok(Cleaned {
            seen,
            removed: seen - state.jobs.len(),
            failed: 0,
        })
    }

    pub(crate) fn batch(&self, jid: &Jid) -> Result<Option<Map>, StoreError> {
        Ok(self.look(jid, |job| job.batch.clone()))
    }

    pub(crate) fn put_batch(&self, jid: &Jid, batch: &Map) -> Result<(), StoreError> {
        self.with(jid, |job| {
            job.batch = Some(batch.clone());
            Ok(())
        })
    }

    pub(crate) fn active_batches(&self) -> Result<Vec<Jid>, StoreError> {
        Ok(lock(&self.0).active.clone())
    }

    pub(crate) fn begin_batch(&self, jid: &Jid) -> Result<(), StoreError> {
        let mut state = lock(&self.0);
        if !state.active.contains(jid) {
            state.active.push(jid.clone());
        }
        Ok(())
    }

    pub(crate) fn end_batch(&self, jid: &Jid) -> Result<(), StoreError> {
        lock(&self.0).active.retain(|known| known != jid);
        Ok(())
    }

    /// Changes a job, creating it if it does not exist.
    fn with<T>(
        &self,
        jid: &Jid,
        change: impl FnOnce(&mut Job) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut state = lock(&self.0);
        let job = state.jobs.entry(jid.clone());
        change(job.or_insert_with(|| Job::new(false)))
    }

    fn look<T>(&self, jid: &Jid, part: impl FnOnce(&Job) -> Option<T>) -> Option<T> {
        lock(&self.0).jobs.get(jid).and_then(part)
    }
}

fn names(minions: &[MinionId]) -> impl Iterator<Item = String> {
    minions.iter().map(ToString::to_string)
}

fn taken(tries: usize) -> StoreError {
    let place = PLACE.to_owned();
    StoreError::JidsTaken { place, tries }
}

fn unpacked((packed, out): &(Vec<u8>, Option<String>)) -> Result<StoredReturn, StoreError> {
    let value = unpack_modern(packed).map_err(|source| StoreError::damaged(PLACE, source))?;
    let data = match value {
        Value::Map(data) => data,
        other => return Err(StoreError::kind(PLACE, &other, "dict")),
    };
    let out = out.clone();
    Ok(StoredReturn::new(data, out))
}
