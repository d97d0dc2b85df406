//! Jobs in batches that run without a waiting program.
//!
//! The progress of each is kept beside the job in Salt's form, so that Salt's
//! programs can read it and a restarted master continues.
//!
//! In a cluster another master continues what one that is away has begun.
//!
//! Invariant: a job that was accepted ends with one event, `complete` or `halted`,
//! under `salt/batch/<jid>`.

mod adopt;
mod drive;
mod driven;
mod parts;
mod record;
mod tell;

pub(crate) use adopt::adopt;

use std::collections::VecDeque;
use std::io;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use halite_gather::batch::BatchSize;
use halite_proto::clear::PublishRequest;
use halite_proto::{Jid, Map, MinionId, Value};
use halite_store::StoreError;
use tokio::runtime::Handle;

use self::driven::Driven;
use crate::clock::now_micros;
use crate::events::bus::Bus;
use crate::fleet::Fleet;
use crate::jobs::Jobs;
use crate::jobs::stop::{Stop, Why};
use crate::limits::{BATCHES_KEPT_MAX, BATCHES_MAX};
use crate::publishing::Publishing;
use crate::settings::General;
use crate::under_way::UnderWay;

/// The plan of a job in batches.
pub(crate) struct Plan {
    /// The job, judged.
    pub(crate) request: PublishRequest,
    /// Whom it means.
    pub(crate) minions: Vec<MinionId>,
    /// How many at a time.
    pub(crate) size: BatchSize,
    /// How long a place is kept free behind a return.
    pub(crate) wait: Duration,
    /// A failure ends it.
    pub(crate) failhard: bool,
    /// How far others have come with it.
    pub(crate) begun: Option<Begun>,
}

/// A job that was begun: by the same thread, by a program of Salt's that left it
/// to the master, or by a master that was stopped.
pub(crate) struct Begun {
    /// The minions that got the job and were no longer waited for.
    active: Vec<String>,
    /// The minions that have not got the job yet.
    pending: Vec<String>,
    /// The state stored with the job, to be kept up to date.
    state: Map,
}

impl Plan {
    /// For a job that nobody has begun.
    pub(crate) fn new(request: PublishRequest, minions: Vec<MinionId>, size: BatchSize) -> Self {
        Self {
            request,
            minions,
            size,
            wait: Duration::ZERO,
            failhard: false,
            begun: None,
        }
    }
}

/// Why a job in batches was not started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BatchError {
    /// Too many run.
    #[error(
        "{BATCHES_MAX} jobs run in batches already; list them with `salt-run batch.list_active`, \
         end one with `salt-run batch.stop <jid>`"
    )]
    TooMany,
    /// The master does not run yet, or not any more.
    #[error("the master is starting or stopping")]
    Closed,
    /// No job id could be allocated.
    #[error("could not allocate a job id")]
    Jid(#[source] StoreError),
    /// No thread could be started.
    #[error("could not start a thread")]
    Thread(#[source] io::Error),
}

/// How far a job is.
#[derive(Clone, Debug, Default)]
struct Course {
    total: usize,
    completed: usize,
    active: usize,
    pending: usize,
    failed: usize,
    batch_size: usize,
    halted: Option<&'static str>,
    last_progress_s: f64,
    is_over: bool,
}

/// A job.
pub(crate) struct Job {
    pub(crate) jid: Jid,
    request: PublishRequest,
    created_s: f64,
    stop: Stop,
    course: Mutex<Course>,
}

/// The jobs in batches.
pub(crate) struct Batches {
    known: Mutex<VecDeque<Arc<Job>>>,
    /// One change at a time to the list on disk.
    listing: Mutex<()>,
    driven: Driven,
    /// The runtime whose timers jobs wait with, once the master runs.
    runtime: OnceLock<Handle>,
    parts: BatchesParts,
}

/// The parts of the master that jobs in batches need.
pub(crate) struct BatchesParts {
    pub(crate) general: Arc<General>,
    pub(crate) bus: Arc<Bus>,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) publishing: Arc<Publishing>,
    /// Of any cluster.
    pub(crate) under_way: Option<Arc<UnderWay>>,
}

impl Deref for Batches {
    type Target = BatchesParts;

    fn deref(&self) -> &BatchesParts {
        &self.parts
    }
}

fn seconds_now() -> f64 {
    const MICROS: f64 = 1e6;
    #[expect(clippy::cast_precision_loss, reason = "microseconds of our time fit")]
    let micros = now_micros() as f64;
    micros / MICROS
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Batches {
    /// No jobs yet.
    pub(crate) fn new(parts: BatchesParts) -> Self {
        Self {
            known: Mutex::default(),
            listing: Mutex::default(),
            driven: Driven::below(parts.general.own_cachedir.clone()),
            runtime: OnceLock::new(),
            parts,
        }
    }

    /// Lets jobs begin.
    pub(crate) fn open(&self, runtime: Handle) {
        let _ = self.runtime.set(runtime);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Job>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The jobs that run.
    pub(crate) fn active(&self) -> Vec<Arc<Job>> {
        let known = self.lock();
        known
            .iter()
            .filter(|job| !job.is_over())
            .map(Arc::clone)
            .collect()
    }

    /// A job, also after its end for a while.
    pub(crate) fn find(&self, jid: &Jid) -> Option<Arc<Job>> {
        let known = self.lock();
        // One that another master has given back is there twice.
        known.iter().rfind(|job| job.jid == *jid).map(Arc::clone)
    }

    /// Stops all running jobs.
    pub(crate) fn close(&self) {
        for job in self.active() {
            job.stop.stop(Why::Closing);
        }
    }

    /// Another master continues a job from now on.
    fn leave(&self, jid: &Jid) {
        self.driven.forget(jid);
        if let Some(job) = self.find(jid) {
            job.stop.stop(Why::Elsewhere);
        }
    }

    /// Holds off other changes to the list on disk.
    fn listing(&self) -> MutexGuard<'_, ()> {
        self.listing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, job: &Arc<Job>) -> Result<(), BatchError> {
        let mut known = self.lock();
        if known.iter().filter(|job| !job.is_over()).count() >= BATCHES_MAX {
            return Err(BatchError::TooMany);
        }
        known.push_back(Arc::clone(job));
        while known.len() > BATCHES_KEPT_MAX {
            let Some(at) = known.iter().position(|job| job.is_over()) else {
                break;
            };
            known.remove(at);
        }
        Ok(())
    }
}

impl Job {
    fn course(&self) -> MutexGuard<'_, Course> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.course().is_over
    }

    /// Stops the job: no further minion gets it. False if it has ended.
    pub(crate) fn stop(&self) -> bool {
        let is_over = self.is_over();
        self.stop.stop(Why::Asked);
        !is_over
    }

    /// Whether it goes on elsewhere, or later.
    fn is_left(&self) -> bool {
        matches!(self.stop.why(), Some(Why::Closing | Why::Elsewhere))
    }

    /// The fields about the job with which all its events begin.
    fn about(&self) -> Map {
        let request = &self.request;
        Map::from([
            ("jid", Value::from(&self.jid)),
            ("fun", request.fun.to_value()),
            ("tgt", request.tgt.clone()),
            ("tgt_type", request.tgt_type.as_str().into()),
        ])
    }

    fn user(&self) -> Value {
        self.request.user.as_deref().unwrap_or_default().into()
    }

    /// How far it is, in Salt's form.
    pub(crate) fn summary(&self) -> Map {
        let course = self.course().clone();
        let mut summary = self.about();
        for (name, number) in [
            ("total", course.total),
            ("completed", course.completed),
            ("active", course.active),
            ("pending", course.pending),
            ("failed", course.failed),
            ("batch_size", course.batch_size),
        ] {
            summary.insert(name, count(number));
        }
        summary.insert("halted", course.halted.is_some());
        summary.insert(
            "halted_reason",
            course.halted.map_or(Value::Nil, Value::from),
        );
        summary.insert("driver", "master");
        summary.insert("user", self.user());
        summary.insert("created", self.created_s);
        summary.insert("last_progress", course.last_progress_s);
        summary.insert("age_seconds", (seconds_now() - self.created_s).max(0.0));
        summary
    }
}

/// Starts a job; it goes on by itself.
pub(crate) fn start(batches: &Arc<Batches>, plan: Plan) -> Result<Jid, BatchError> {
    let runtime = batches.runtime.get().cloned().ok_or(BatchError::Closed)?;
    let jid = match &plan.request.jid {
        Some(jid) if plan.begun.is_some() => jid.clone(),
        Some(jid) => {
            let prepared = batches.jobs.cache.prepare(jid, false);
            prepared.map_err(BatchError::Jid)?;
            jid.clone()
        }
        None => batches.jobs.allocate(false),
    };
    let now = seconds_now();
    let job = Arc::new(Job {
        jid: jid.clone(),
        request: plan.request.clone(),
        created_s: now,
        stop: Stop::new(),
        course: Mutex::new(Course {
            total: plan.minions.len(),
            pending: plan.minions.len(),
            batch_size: plan.size.count(plan.minions.len()),
            last_progress_s: now,
            ..Course::default()
        }),
    });
    batches.add(&job)?;
    tracing::info!(user = plan.request.user, %jid, "{} in batches", plan.request.fun.to_text());
    let batches = Arc::clone(batches);
    let driven = Arc::clone(&job);
    let spawned = thread::Builder::new()
        .name("batch".to_owned())
        .spawn(move || drive::drive(&batches, &runtime, &driven, plan));
    if let Err(error) = spawned {
        job.course().is_over = true;
        return Err(BatchError::Thread(error));
    }
    Ok(jid)
}
