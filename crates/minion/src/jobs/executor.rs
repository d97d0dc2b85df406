//! Runs jobs: each on a thread of its own, so that one that hangs or panics does
//! not affect the others, with a limit on how many run at once.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use halite_call::{Cancel, Job, Over, run_function};
use halite_proto::publish::PublishLoad;
use halite_proto::returns::JobReturn;
use halite_proto::{Jid, Map, Value};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::JoinHandle;
use tracing::{Instrument, debug, error, info, info_span, warn};

use crate::context::{JobContext, Round, Route};
use crate::core::jobs::Ticket;
use crate::core::origin::JobKey;
use crate::core::publication::Verified;
use crate::courier::{Courier, Parcel};
use crate::jobs::beginning;
use crate::jobs::load::{self, refused, run_load};
use crate::jobs::stuck::unless_given_up;
use crate::limits::JOBS_WAITING_MAX;
use crate::minion::{Minion, RunningJob};
use crate::returners::ChosenReturners;

/// The result of a job that has ended.
struct Ended {
    /// On its way to the master.
    parcel: Option<Parcel>,
    /// For returners.
    record: Option<Record>,
}

/// A result for returners.
pub(crate) struct Record {
    /// Which.
    pub(crate) wanted: ChosenReturners,
    /// The fields for them.
    pub(crate) fields: Map,
}

/// Where jobs wait for their turn.
pub(crate) struct Executor {
    minion: Arc<Minion>,
    courier: Arc<Courier>,
    places: Semaphore,
    waiting: Semaphore,
    send_returns: bool,
    functions_ordered: bool,
}

impl Executor {
    /// An executor with `places` jobs at once.
    pub(crate) fn new(minion: Arc<Minion>, courier: Arc<Courier>, places: usize) -> Arc<Self> {
        let flag = |name: &str, default| minion.opts.get(name).map_or(default, Value::is_true);
        Arc::new(Self {
            places: Semaphore::new(places),
            waiting: Semaphore::new(JOBS_WAITING_MAX),
            send_returns: flag("pub_ret", true),
            functions_ordered: flag("multifunc_ordered", false),
            courier,
            minion,
        })
    }

    /// Whose jobs it runs.
    pub(crate) fn minion(&self) -> &Arc<Minion> {
        &self.minion
    }

    /// The courier of the returns.
    pub(crate) fn courier(&self) -> &Arc<Courier> {
        &self.courier
    }

    /// `pub_ret`.
    pub(crate) fn sends_returns(&self) -> bool {
        self.send_returns
    }

    /// A place for a job; it is free again when this is dropped.
    pub(crate) async fn place(&self) -> Option<SemaphorePermit<'_>> {
        self.places.acquire().await.ok()
    }

    /// Starts a claimed job of the numbered master; returns at once.
    pub(crate) fn submit(self: &Arc<Self>, master: usize, job: Verified, ticket: Ticket) {
        let this = Arc::clone(self);
        let span = info_span!("job", jid = %job.load().jid, fun = job.load().fun.to_text());
        tokio::spawn(async move { this.run(master, job, ticket).await }.instrument(span));
    }

    async fn run(self: Arc<Self>, master: usize, job: Verified, ticket: Ticket) {
        let key = job.key();
        let load = job.into_load();
        let jid = load.jid.clone();
        info!("executing");
        self.minion.outstanding.fetch_add(1, Ordering::Relaxed);
        // What functions and proc files see of the load is written once.
        let claimed = Job {
            load: load.to_map(),
            cancel: Cancel::default(),
            ..Job::default()
        };
        let proc_load = Minion::proc_load(&claimed.load);
        let running = RunningJob {
            load: proc_load.clone(),
            cancel: claimed.cancel.clone(),
        };
        self.minion.jobs().start(&jid, ticket, running);
        self.minion.pause_before(&load).await;
        let begins = beginning::tell(&self.minion, master, &load);
        let ran = self.run_in_turn(master, load, key, proc_load, claimed);
        let ((), ended) = tokio::join!(begins, ran);
        self.minion.jobs().finish(&jid, ticket);
        self.minion.job_ended.notify_waiters();
        if let Some(Ended { parcel, record }) = ended {
            let returned = record.map(|record| self.give(Route::Bound(master), record));
            if let Some(parcel) = parcel {
                let acknowledged = self.courier.carry(parcel).await;
                self.minion.is_through(acknowledged);
            }
            if let Some(returned) = returned {
                // What went wrong is in the log.
                let _ = returned.await;
            }
        }
        self.minion.outstanding.fetch_sub(1, Ordering::Relaxed);
        self.minion.job_ended.notify_waiters();
    }

    /// Passes a record to its returners, on a thread of its own.
    pub(crate) fn give(&self, route: Route, record: Record) -> JoinHandle<()> {
        let minion = Arc::clone(&self.minion);
        tokio::task::spawn_blocking(move || {
            let context = JobContext::new(minion, route);
            record.wanted.deliver(&context, &record.fields);
        })
    }

    async fn run_in_turn(
        &self,
        master: usize,
        load: PublishLoad,
        key: JobKey,
        proc_load: Map,
        job: Job,
    ) -> Option<Ended> {
        let _place = if load::runs_at_once(&load) {
            None
        } else {
            let Ok(_waits) = self.waiting.try_acquire() else {
                let result = refused(&load, "ERROR: too many jobs are waiting on this minion");
                let parcel = self
                    .send_returns
                    .then(|| self.courier.accept_published(master, result, key));
                return Some(Ended {
                    parcel,
                    record: None,
                });
            };
            // The semaphore is never closed.
            self.places.acquire().await.ok()
        };
        let context = JobContext::new(Arc::clone(&self.minion), Route::Bound(master));
        let (minion, courier) = (Arc::clone(&self.minion), Arc::clone(&self.courier));
        let (ordered, send_returns) = (self.functions_ordered, self.send_returns);
        let (watched, cancel) = (Arc::new(load), job.cancel.clone());
        let load = Arc::clone(&watched);
        let watched_key = key.clone();
        let ran = tokio::task::spawn_blocking(move || {
            // In this order: a job that a crash cuts off here is reported.
            let _proc_file = minion.proc.enter(&load.jid, &proc_load, Some(&key));
            if minion
                .opts
                .get("grains_refresh_pre_exec")
                .is_some_and(Value::is_true)
            {
                minion.refresh_grains();
            }
            let name = minion.masters.get(master).map(|m| m.name.as_str());
            minion
                .claims
                .record(&load.jid, name.unwrap_or_default(), &key);
            let began = Instant::now();
            let result = run_load(&context, &load, &job, ordered);
            if let Some(meters) = minion.meters.get() {
                meters.ran(&load.fun, result.success, began.elapsed());
            }
            if !job.cancel.close(Over::Returned) {
                warn!("a killed job that was no longer waited for has ended");
                return None;
            }
            let record = record(&minion, &load, &result);
            let parcel = send_returns.then(|| courier.accept_published(master, result, key));
            Some(Ended { parcel, record })
        });
        match unless_given_up(ran, &cancel).await {
            Some(ended) => ended.flatten(),
            None => Some(self.give_up(master, &watched, watched_key)),
        }
    }

    /// Records that a job continues although it was killed. It has a return, and is no
    /// longer waited for.
    fn give_up(&self, master: usize, load: &PublishLoad, key: JobKey) -> Ended {
        self.minion.proc.give_up(&load.jid, Some(&key));
        let why = "ERROR: the job was killed but does not end, most likely because it is stuck in \
                   the kernel; the minion no longer waits for it";
        let result = refused(load, why);
        let record = record(&self.minion, load, &result);
        let parcel = self
            .send_returns
            .then(|| self.courier.accept_published(master, result, key));
        Ended { parcel, record }
    }
}

/// What returners get of a published job, if it or the minion names any.
fn record(minion: &Minion, load: &PublishLoad, result: &JobReturn) -> Option<Record> {
    let wanted = ChosenReturners::with_option([load.ret.as_str()], &minion.opts);
    if wanted.is_empty() {
        return None;
    }
    let mut fields = result.to_map();
    // As in Salt, the outputter of a function is only for who asked; that of a
    // failure is part of the result.
    if result.success || result.out.as_deref() != Some("nested") {
        fields.remove("out");
    }
    let more = [
        ("ret_config", &load.ret_config),
        ("ret_kwargs", &load.ret_kwargs),
    ];
    for (name, value) in more {
        if let Some(value) = value {
            fields.insert(name, value.clone());
        }
    }
    fields.insert("id", &minion.id);
    Some(Record { wanted, fields })
}

/// Runs a function for the minion itself (`mine.update`); no return is sent.
pub(crate) async fn run_own(minion: &Arc<Minion>, jid: Jid, fun: &'static str, round: &Arc<Round>) {
    let context = JobContext::new(Arc::clone(minion), Route::Any).within(round);
    let load = Map::from([("fun", Value::from(fun)), ("jid", Value::from(&jid))]);
    let ran = tokio::task::spawn_blocking(move || {
        run_function(&context, fun, &[], &Job::published(load))
    });
    match ran.await {
        Ok(outcome) if outcome.success => debug!(fun, "done"),
        Ok(outcome) => debug!(
            fun,
            ret = halite_proto::python::repr(&outcome.ret),
            "failed"
        ),
        Err(cause) => error!(fun, %cause, "the thread of the function panicked"),
    }
}
