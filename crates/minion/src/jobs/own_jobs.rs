//! Jobs that no master has published: those of the schedule, and the states that
//! are applied at the start. They run like all others and also return to masters,
//! under a job id that each master allocates.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use halite_call::{Cancel, Job, Over, run_function};
use halite_proto::returns::{JobReturn, OWN_JOB, ReturnJid};
use halite_proto::{Jid, Map, Value};
use tracing::{debug, info};

use crate::context::{JobContext, Route};
use crate::core::origin::{JobName, Origin};
use crate::courier::{Parcel, mark_own_job};
use crate::jobs::executor::{Executor, Record};
use crate::jobs::stuck::unless_given_up;
use crate::minion::{Minion, RunningJob};
use crate::returners::ChosenReturners;

/// A job of the minion's own.
#[derive(Clone, Debug)]
pub(crate) struct OwnJob {
    /// The id it runs under here.
    pub jid: Jid,
    /// The function.
    pub fun: String,
    /// Its arguments.
    pub args: Vec<Value>,
    /// Its keyword arguments.
    pub kwargs: Map,
    /// The name of the schedule's job.
    pub schedule: Option<String>,
    /// Data that goes along with the return.
    pub metadata: Option<Value>,
    /// Whether `saltutil.running` shows it.
    pub is_shown: bool,
    /// The masters that get the result.
    pub returns: Returns,
    /// The returners that get it besides.
    pub returners: ChosenReturners,
    /// What their records have besides.
    pub returner_options: Map,
}

/// The masters that get the result of a job of the minion's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Returns {
    /// Nobody.
    Nobody,
    /// This master; another, if it stays away.
    To(usize),
    /// Every master that is connected when the job ends, each once, and a cluster of them
    /// once; if none is connected, the first that connects. Under this id.
    ToAll(ReturnJid),
}

impl Returns {
    /// The id under which masters get the result, if they do.
    fn jid(&self) -> Option<ReturnJid> {
        match self {
            Self::Nobody => None,
            Self::To(_) => Some(ReturnJid::Req),
            Self::ToAll(jid) => Some(jid.clone()),
        }
    }
}

/// The tag under which the result of a scheduled job is fired on the minion's bus.
const SCHEDULE_RETURN: &str = "__schedule_return";

impl Executor {
    /// Runs a job of the minion's own to its end, and sees its returns off.
    pub(crate) async fn run_own_job(self: Arc<Self>, own: OwnJob) {
        let minion = Arc::clone(self.minion());
        let ticket = minion.jobs().add(&JobName {
            jid: own.jid.clone(),
            origin: Origin::Own,
        });
        minion.outstanding.fetch_add(1, Ordering::Relaxed);
        let cancel = Cancel::default();
        let load = load(&minion, &own);
        let proc_load = Minion::proc_load(&load);
        if own.is_shown {
            let running = RunningJob {
                load: proc_load.clone(),
                cancel: cancel.clone(),
            };
            minion.jobs().start(&own.jid, ticket, running);
        }
        let jid = own.jid.clone();
        info!(%jid, fun = own.fun, "executing a job of the minion's own");
        let route = route(&minion, &own.returns);
        let (parcels, record) = self.run_in_place(own, route, load, proc_load, cancel).await;
        minion.jobs().finish(&jid, ticket);
        minion.job_ended.notify_waiters();
        let returned = record.map(|record| self.give(route, record));
        let carried = parcels.into_iter().map(|parcel| {
            let courier = Arc::clone(self.courier());
            tokio::spawn(async move { courier.carry(parcel).await })
        });
        for carried in carried.collect::<Vec<_>>() {
            // One that died is still in the spool.
            let _ = carried.await;
        }
        if let Some(returned) = returned {
            // What went wrong is in the log.
            let _ = returned.await;
        }
        minion.outstanding.fetch_sub(1, Ordering::Relaxed);
        minion.job_ended.notify_waiters();
    }

    async fn run_in_place(
        &self,
        own: OwnJob,
        route: Route,
        load: Map,
        proc_load: Map,
        cancel: Cancel,
    ) -> (Vec<Parcel>, Option<Record>) {
        // The semaphore is never closed.
        let _place = self.place().await;
        let minion = Arc::clone(self.minion());
        let courier = Arc::clone(self.courier());
        let send_returns = self.sends_returns();
        let context = JobContext::new(Arc::clone(&minion), route);
        let (jid, watched) = (own.jid.clone(), cancel.clone());
        let ran = tokio::task::spawn_blocking(move || {
            let returned = own.returns.jid().filter(|_| send_returns);
            let _proc_file = own.is_shown.then(|| {
                minion
                    .proc
                    .enter_own(&own.jid, &proc_load, returned.as_ref())
            });
            let job = Job {
                load,
                cancel,
                ..Job::default()
            };
            let result = run(&context, &own, &job);
            if !job.cancel.close(Over::Returned) {
                return (Vec::new(), None);
            }
            let record = record(&minion, &own, &result);
            if !send_returns {
                return (Vec::new(), record);
            }
            if own.schedule.is_some() && !matches!(own.returns, Returns::Nobody) {
                announce(&minion, &result);
            }
            let parcels = match own.returns {
                Returns::Nobody => Vec::new(),
                Returns::To(master) => vec![courier.accept(master, result)],
                Returns::ToAll(_) => {
                    let masters = minion.masters.iter().enumerate();
                    let there = masters.filter(|(_, master)| master.is_ready());
                    let there = minion.one_of_each_cluster(there.map(|(at, _)| at));
                    let there: Vec<usize> = there.collect();
                    match there.as_slice() {
                        [] if minion.masters.is_empty() => Vec::new(),
                        [] => vec![courier.accept(0, result)],
                        some => some
                            .iter()
                            .map(|master| courier.accept_for_one(*master, result.clone()))
                            .collect(),
                    }
                }
            };
            (parcels, record)
        });
        let Some(ended) = unless_given_up(ran, &watched).await else {
            self.minion().proc.give_up(&jid, None);
            return (Vec::new(), None);
        };
        ended.unwrap_or_default()
    }
}

/// Fires the result of a scheduled job on the minion's bus, in the form of Salt's
/// minions.
fn announce(minion: &Minion, result: &JobReturn) {
    let mut told = Map::from([("cmd", Value::from("_return")), ("id", (&minion.id).into())]);
    told.extend(result.to_map());
    told.remove(OWN_JOB);
    if let Err(error) = minion.fire_local(SCHEDULE_RETURN, told) {
        debug!(error, "could not fire an event on the local bus");
    }
}

/// The record for the job's returners: under its id here, as masters have their own.
fn record(minion: &Minion, own: &OwnJob, result: &JobReturn) -> Option<Record> {
    if own.returners.is_empty() {
        return None;
    }
    let mut fields = result.to_map();
    fields.remove("out");
    fields.insert("jid", &own.jid);
    fields.insert("pid", std::process::id());
    fields.insert("id", &minion.id);
    fields.extend(own.returner_options.clone());
    Some(Record {
        wanted: own.returners.clone(),
        fields,
    })
}

fn run(context: &JobContext, own: &OwnJob, job: &Job) -> JobReturn {
    let mut args = own.args.clone();
    let mut fun_args = args.clone();
    if !own.kwargs.is_empty() {
        fun_args.push(own.kwargs.clone().into());
        let mut marked = own.kwargs.clone();
        marked.insert("__kwarg__", true);
        args.push(marked.into());
    }
    let outcome = run_function(context, &own.fun, &args, job);
    debug!(fun = own.fun, retcode = outcome.retcode, "done");
    let jid = own.returns.jid().unwrap_or(ReturnJid::Req);
    let mut result = JobReturn::new(
        jid,
        own.fun.as_str().into(),
        fun_args,
        outcome.ret,
        outcome.retcode,
    );
    result.success = outcome.success;
    result.out = outcome.out.map(str::to_owned);
    result.schedule.clone_from(&own.schedule);
    if own.schedule.is_some() {
        result.extra.insert("pid", std::process::id());
    }
    result.metadata.clone_from(&own.metadata);
    mark_own_job(&mut result, &own.jid);
    result
}

/// One master for the whole job, so that its files fit together, and another only if that
/// one is lost.
fn route(minion: &Minion, returns: &Returns) -> Route {
    match returns {
        Returns::To(master) => Route::Prefer(*master),
        Returns::Nobody | Returns::ToAll(_) => match minion.turn().first() {
            Some(first) => Route::Prefer(*first),
            None => Route::Any,
        },
    }
}

/// The content of the job's proc file, which functions see too.
fn load(minion: &Minion, own: &OwnJob) -> Map {
    let mut fun_args = own.args.clone();
    if !own.kwargs.is_empty() {
        fun_args.push(own.kwargs.clone().into());
    }
    let mut load = Map::from([
        ("id", Value::from(&minion.id)),
        ("fun", own.fun.as_str().into()),
        ("fun_args", fun_args.into()),
        ("jid", (&own.jid).into()),
    ]);
    if let Some(name) = &own.schedule {
        load.insert("schedule", name.as_str());
    }
    if let Some(metadata) = &own.metadata {
        load.insert("metadata", metadata.clone());
    }
    load
}

/// What `startup_states` asks for: the function and its argument.
pub(crate) fn startup_states(opts: &Map) -> Option<(&'static str, Vec<Value>)> {
    let option = |name: &str| opts.get(name).cloned().unwrap_or(Value::Nil);
    match opts.get("startup_states").and_then(Value::as_str)? {
        "" => None,
        "sls" => Some(("state.sls", vec![option("sls_list")])),
        "top" => Some(("state.top", vec![option("top_file")])),
        _ => Some(("state.highstate", Vec::new())),
    }
}
