//! Copying jobs with their returns.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use halite_proto::request::COMMITS;
use halite_proto::returns::JobReturn;
use halite_proto::{Jid, Map, MinionId, Value};

use super::{DIFFERENT_MAX, Hashes, Outcome, STEP, hash_of};
use crate::error::{StoreError, chain};
use crate::job_filter::JobFilter;
use crate::jobs::Jobs;
use crate::kept::StoredReturn;
use crate::limits::JOBS_LISTED_MAX;

/// Jobs that are copied at once.
const THREADS: usize = 8;

/// What became of jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobsCopied {
    /// Jobs of the source.
    pub jobs: usize,
    /// Their returns.
    pub returns: usize,
    /// Jobs that were copied, wholly or in part.
    pub copied: usize,
    /// Jobs that were there already.
    pub known: usize,
    /// The hash over all jobs of the source, the newest first.
    pub hash: String,
    /// The hash over the same jobs where they were copied to.
    pub hash_there: String,
    /// Jobs that are not the same there, or cannot be copied, at most `DIFFERENT_MAX`.
    pub different: Vec<Jid>,
    /// Why the first of those that cannot be copied cannot.
    pub reason: Option<String>,
}

impl JobsCopied {
    /// Counts what became of one.
    fn count(&mut self, jid: Jid, job: Done) {
        self.jobs += 1;
        self.returns += job.returns;
        if self.reason.is_none() {
            self.reason = job.reason;
        }
        match job.outcome {
            Outcome::Copied => self.copied += 1,
            Outcome::Known => self.known += 1,
            Outcome::Different if self.different.len() < DIFFERENT_MAX => self.different.push(jid),
            Outcome::Different => {}
        }
    }
}

/// The stored data of a job.
struct Job {
    load: Map,
    minions: Vec<MinionId>,
    returns: Vec<(MinionId, StoredReturn)>,
    endtime: Option<String>,
    publisher: Option<MinionId>,
}

/// What became of one job: its hash on both sides, and its returns.
struct Done {
    outcome: Outcome,
    hash: String,
    hash_there: String,
    returns: usize,
    /// Why it cannot be copied.
    reason: Option<String>,
}

impl Done {
    /// A job that one of the places does not read or take, although it does others.
    fn refused(jid: &Jid, error: &StoreError) -> Self {
        Self {
            outcome: Outcome::Different,
            // It is the same nowhere.
            hash: jid.to_string(),
            hash_there: String::new(),
            returns: 0,
            reason: Some(chain(error)),
        }
    }
}

/// How jobs are copied.
#[derive(Clone, Copy, Debug)]
pub struct JobsCopy {
    /// Nothing is written, only counted.
    pub is_dry: bool,
    /// Jobs that are listed at once. Their ids are in memory.
    pub listed_max: usize,
}

impl JobsCopy {
    /// The usual way.
    pub fn new(is_dry: bool) -> Self {
        Self {
            is_dry,
            listed_max: JOBS_LISTED_MAX,
        }
    }
}

/// Copies all jobs that have been published or returned, the newest first. After every
/// few, `go_on` is called with the number done and the number listed so far, and returns
/// whether to continue.
///
/// # Errors
/// When one of the places cannot be used. What is copied by then is not copied again.
/// A job that cannot be read, or that the other place refuses, is one that differs.
pub fn copy_jobs(
    from: &Jobs,
    to: &Jobs,
    how: JobsCopy,
    mut go_on: impl FnMut(usize, usize) -> bool,
) -> Result<JobsCopied, StoreError> {
    // A place that refuses everything is not one that refuses each job.
    to.newest(1)?;
    let mut copied = JobsCopied::default();
    let mut hashes = Hashes::default();
    let (mut before, mut done, mut listed) = (None, 0, 0);
    'pages: loop {
        let jids = listed_before(from, before.as_ref(), how.listed_max)?;
        listed += jids.len();
        for step in jids.chunks(STEP) {
            if !go_on(done, listed) {
                break 'pages;
            }
            for (jid, job) in together(from, to, step, how.is_dry)? {
                hashes.add(&job.hash, &job.hash_there);
                copied.count(jid, job);
            }
            done += step.len();
        }
        match jids.into_iter().next_back() {
            Some(oldest) => before = Some(oldest),
            None => break,
        }
    }
    copied.hash = hashes.here;
    copied.hash_there = hashes.there;
    Ok(copied)
}

/// The newest jobs that come after another in the list, which begins with the newest.
fn listed_before(from: &Jobs, jid: Option<&Jid>, max: usize) -> Result<Vec<Jid>, StoreError> {
    let filter = JobFilter {
        until: jid.map(Jid::to_string),
        ..JobFilter::default()
    };
    from.newest_picked(max.max(1), &filter, |found, _| {
        (Some(&found) != jid).then_some(found)
    })
}

/// Copies some jobs side by side; gives them in the order in which they are.
fn together(
    from: &Jobs,
    to: &Jobs,
    jids: &[Jid],
    is_dry: bool,
) -> Result<Vec<(Jid, Done)>, StoreError> {
    let next = AtomicUsize::new(0);
    let has_failed = AtomicBool::new(false);
    let all = Mutex::new(Vec::with_capacity(jids.len()));
    let work = || {
        while !has_failed.load(Ordering::Relaxed)
            && let Some(jid) = jids.get(next.fetch_add(1, Ordering::Relaxed))
        {
            // One that was cleaned away meanwhile is none.
            let done = match copy(from, to, jid, is_dry) {
                Err(error) if error.is_of_entry() => Ok(Some(Done::refused(jid, &error))),
                done => done.inspect_err(|_| has_failed.store(true, Ordering::Relaxed)),
            };
            if let Some(done) = done.transpose() {
                let mut all = all
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
                all.push(done.map(|done| (jid.clone(), done)));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(work);
        }
    });
    let all = all.into_inner();
    let all = all.unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut all: Vec<(Jid, Done)> = all.into_iter().collect::<Result<_, _>>()?;
    all.sort_by(|(a, _), (b, _)| b.cmp(a));
    Ok(all)
}

fn copy(from: &Jobs, to: &Jobs, jid: &Jid, is_dry: bool) -> Result<Option<Done>, StoreError> {
    let Some(job) = read(from, jid)? else {
        return Ok(None);
    };
    let hash = hash(jid, &job)?;
    let hash_of_there = || match read(to, jid)? {
        Some(job) => self::hash(jid, &job),
        None => Ok(String::new()),
    };
    let done = |outcome, hash_there| Done {
        outcome,
        hash: hash.clone(),
        hash_there,
        returns: job.returns.len(),
        reason: None,
    };
    let hash_there = hash_of_there()?;
    if hash_there == hash {
        return Ok(Some(done(Outcome::Known, hash_there)));
    }
    if is_dry {
        return Ok(Some(done(Outcome::Copied, hash_there)));
    }
    write(to, jid, &job)?;
    let hash_there = hash_of_there()?;
    let outcome = match hash_there == hash {
        true => Outcome::Copied,
        false => Outcome::Different,
    };
    Ok(Some(done(outcome, hash_there)))
}

fn read(jobs: &Jobs, jid: &Jid) -> Result<Option<Job>, StoreError> {
    let Some(mut load) = jobs.load(jid)? else {
        return Ok(None);
    };
    // Some places have it in the load, too.
    load.remove("jid");
    let minions = load.remove("Minions");
    let minions = minions
        .as_ref()
        .and_then(Value::as_list)
        .unwrap_or_default();
    let mut minions: Vec<MinionId> = minions
        .iter()
        .filter_map(|id| MinionId::parse(id.as_str()?).ok())
        .collect();
    minions.sort_unstable();
    Ok(Some(Job {
        load,
        minions,
        returns: jobs.returns(jid)?,
        endtime: jobs.endtime(jid)?,
        publisher: jobs.publisher(jid)?,
    }))
}

fn write(to: &Jobs, jid: &Jid, job: &Job) -> Result<(), StoreError> {
    to.prepare(jid, false)?;
    let mut load = job.load.clone();
    load.insert("jid", jid);
    to.save_load(jid, &load, Some(&job.minions))?;
    for (id, stored) in &job.returns {
        if let Some(ret) = as_it_came(jid, &job.load, stored) {
            to.save_return(jid, id, &ret)?;
        }
    }
    if let Some(endtime) = &job.endtime {
        to.save_endtime(jid, endtime)?;
    }
    if let Some(id) = &job.publisher {
        to.save_publisher(jid, id)?;
    }
    Ok(())
}

/// A return as its minion has sent it, as far as that is known.
fn as_it_came(jid: &Jid, load: &Map, stored: &StoredReturn) -> Option<JobReturn> {
    let mut map = complete(stored);
    if !stored.commits.is_empty() {
        map.insert(COMMITS, stored.commits.to_value());
    }
    map.insert("jid", jid);
    map.insert("fun", load.get("fun").cloned().unwrap_or_else(|| "".into()));
    if let Some(args) = load.get("arg") {
        map.insert("fun_args", args.clone());
    }
    JobReturn::from_map(map).ok()
}

/// A return with what is missing where it went well.
fn complete(stored: &StoredReturn) -> Map {
    let mut map = stored.clone().into_map();
    if map.get("return").is_none() {
        map.insert("return", Value::Nil);
    }
    if map.get("retcode").is_none() {
        map.insert("retcode", 0);
    }
    if map.get("success").is_none() {
        let is_good = map.get("retcode").and_then(Value::as_i64) == Some(0);
        map.insert("success", is_good);
    }
    map
}

/// The hash of a job's content, as some stores only know JSON.
fn hash(jid: &Jid, job: &Job) -> Result<String, StoreError> {
    let minions: Vec<Value> = job.minions.iter().map(Value::from).collect();
    let returns: Map = job
        .returns
        .iter()
        .map(|(id, stored)| (Value::from(id), Value::from(complete(stored))))
        .collect();
    let commits: Map = job
        .returns
        .iter()
        .filter(|(_, stored)| !stored.commits.is_empty())
        .map(|(id, stored)| (Value::from(id), stored.commits.to_value()))
        .collect();
    let all = Map::from([
        ("load", Value::from(job.load.clone())),
        ("minions", minions.into()),
        ("returns", returns.into()),
        ("commits", commits.into()),
        ("endtime", job.endtime.as_deref().unwrap_or_default().into()),
        ("publisher", job.publisher.as_ref().map(Value::from).into()),
    ]);
    hash_of(jid.as_str(), &all.into())
}
