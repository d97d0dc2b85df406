//! Runs jobs: each on a thread of its own, so that one that hangs or panics
//! takes nothing with it, with a bound on how many run at once.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use halite_call::{Cancel, Job, MinionContext, Outcome, Over, run_function};
use halite_proto::publish::{FunSpec, PublishLoad};
use halite_proto::request::COMMITS;
use halite_proto::returns::{JobReturn, NOTES, ReturnJid, Several};
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
use crate::jobs::executors;
use crate::jobs::stuck::unless_given_up;
use crate::limits::{FUNCTIONS_PER_JOB_MAX, JOBS_WAITING_MAX};
use crate::minion::{Minion, RunningJob};
use crate::returners::ChosenReturners;

/// Functions that look after jobs: they run at once even when every place is
/// taken, or nobody could find out why.
const ABOUT_JOBS: &[&str] = &[
    "saltutil.find_job",
    "saltutil.is_running",
    "saltutil.kill_all_jobs",
    "saltutil.kill_job",
    "saltutil.running",
    "saltutil.signal_job",
    "saltutil.term_all_jobs",
    "saltutil.term_job",
];

/// Functions that cost nothing and whose answer somebody waits for: whether a
/// minion is there, and how it is. They run at once too.
const COST_NOTHING: &[&str] = &[
    "grains.get",
    "grains.item",
    "status.loadavg",
    "status.meminfo",
    "status.uptime",
    "test.ping",
    "test.version",
];

/// What a killed job returns, above the number of the signal, as a shell does.
const KILLED: i64 = 128;

/// What a job leaves behind.
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
    /// What they get.
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

    /// Who carries the returns.
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

    /// Takes a claimed job of the numbered master; returns at once.
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

    /// Gives a record to its returners, on a thread of its own.
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
        let urgent = load
            .fun
            .one()
            .is_some_and(|fun| ABOUT_JOBS.contains(&fun) || COST_NOTHING.contains(&fun));
        let _place = if urgent {
            None
        } else {
            let Ok(_waits) = self.waiting.try_acquire() else {
                let result = refused(&load, "ERROR: too many jobs wait on this minion");
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
                warn!("a job that was given up has ended");
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

    /// Says that a job goes on although it was killed. It has a return, and
    /// nothing waits for it any longer.
    fn give_up(&self, master: usize, load: &PublishLoad, key: JobKey) -> Ended {
        self.minion.proc.give_up(&load.jid, Some(&key));
        let why = "ERROR: the job was killed and goes on all the same, most likely stuck in the \
                   kernel: it was given up";
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

/// Runs what a publication asks for and builds its return.
fn run_load(
    context: &dyn MinionContext,
    load: &PublishLoad,
    job: &Job,
    ordered: bool,
) -> JobReturn {
    let started = Instant::now();
    let mut result = match &load.fun {
        FunSpec::One(fun) => {
            let outcome = run_through(context, load, fun, &load.arg, job);
            let outcome = executors::with_alike(context, job, fun, outcome);
            let mut result = empty_return(load, outcome.ret, outcome.retcode);
            result.success = outcome.success;
            result.out = outcome.out.map(str::to_owned);
            result
        }
        FunSpec::Many(funs) if funs.len() > FUNCTIONS_PER_JOB_MAX => {
            let why = format!("ERROR: a job has at most {FUNCTIONS_PER_JOB_MAX} functions");
            return refused(load, &why);
        }
        FunSpec::Many(funs) => run_many(context, funs, load, job, ordered),
    };
    if let Some(signal) = job.cancel.ended_by() {
        result.success = false;
        if result.retcode == 0 {
            result.retcode = KILLED + i64::from(signal);
        }
    }
    result.user.clone_from(&load.user);
    result.master_id.clone_from(&load.master_id);
    result.metadata = load
        .metadata
        .clone()
        .filter(|metadata| metadata.as_map().is_some());
    let notes = job.notes.take();
    if !notes.is_empty() {
        let notes = notes.into_iter().map(Value::from).collect();
        result.extra.insert(NOTES, Value::List(notes));
    }
    let commits = job.commits.all();
    if !commits.is_empty() {
        result.extra.insert(COMMITS, commits.to_value());
    }
    debug!(elapsed = ?started.elapsed(), retcode = result.retcode, "done");
    result
}

/// Runs one function of a job through the executors that are asked for.
fn run_through(
    context: &dyn MinionContext,
    load: &PublishLoad,
    fun: &str,
    args: &[Value],
    job: &Job,
) -> Outcome {
    if ABOUT_JOBS.contains(&fun) {
        return run_function(context, fun, args, job);
    }
    let asked = executors::Asked {
        executors: load.module_executors.as_ref(),
        options: load.executor_opts.as_ref(),
    };
    executors::run(context, asked, fun, args, job)
}

/// Several functions in one job, one after the other, each with its arguments.
fn run_many(
    context: &dyn MinionContext,
    funs: &[String],
    load: &PublishLoad,
    job: &Job,
    ordered: bool,
) -> JobReturn {
    let run = |(at, fun): (usize, &String)| {
        let args = match load.arg.get(at) {
            Some(Value::List(args)) => args.clone(),
            Some(single) => vec![single.clone()],
            None => Vec::new(),
        };
        run_through(context, load, fun, &args, job)
    };
    let outcomes: Vec<Outcome> = funs.iter().enumerate().map(run).collect();
    let collect = |value: fn(&Outcome) -> Value| -> Value {
        if ordered {
            Value::List(outcomes.iter().map(value).collect())
        } else {
            let values = outcomes.iter().map(value);
            Value::Map(funs.iter().map(String::as_str).zip(values).collect())
        }
    };
    let worst = outcomes
        .iter()
        .map(|outcome| outcome.retcode)
        .max()
        .unwrap_or(0);
    let mut result = empty_return(load, collect(|outcome| outcome.ret.clone()), worst);
    result.several = Some(Several {
        retcodes: collect(|outcome| outcome.retcode.into()),
        successes: collect(|outcome| outcome.success.into()),
    });
    result
}

fn empty_return(load: &PublishLoad, ret: Value, retcode: i64) -> JobReturn {
    let jid = ReturnJid::Jid(load.jid.clone());
    let mut result = JobReturn::new(jid, load.fun.clone(), load.arg.clone(), ret, retcode);
    result.user.clone_from(&load.user);
    result
}

fn refused(load: &PublishLoad, why: &str) -> JobReturn {
    let mut result = empty_return(load, why.into(), 1);
    result.out = Some("nested".to_owned());
    result
}

/// Runs a function of the minion's own accord (`mine.update`); nothing is
/// returned to anyone.
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
        Err(cause) => error!(fun, %cause, "its thread died"),
    }
}
