//! Runners: functions of the master, run one to a thread.
//!
//! Programs ask for them with the clear `runner` command; what comes of them
//! is told on the event bus and kept in the job cache, like a job of a minion
//! named after the master. Invariant: a runner ends with exactly one `ret`
//! event, however it ends.

mod auth;
mod banks;
mod batch;
mod cache;
mod call;
mod cluster;
mod config;
mod error;
mod event;
mod fileserver;
mod gather;
mod git_locks;
mod git_pillar;
mod http;
mod job_source;
mod jobs;
#[cfg(test)]
mod listed;
mod manage;
mod masters;
mod matching;
mod migrate;
mod mine;
mod network;
mod orchestra;
mod pillar;
mod proc_files;
mod promotion;
mod python;
mod queue;
mod reactor;
mod registry;
mod running;
mod salt;
mod saltutil;
mod sdb;
mod search;
mod settings;
mod state;
mod store;
mod survey;
mod table;
mod test;
mod unavailable;
mod within;

use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use halite_proto::{Jid, Map, Value};
use halite_store::Banks;
use tokio::runtime::Handle;

pub(crate) use call::Call;
pub(crate) use error::RunnerError;
pub(crate) use settings::RunnerSettings;
pub(crate) use within::run_within_functions;

use crate::access::Access;
use crate::batches::Batches;
use crate::cluster::Cluster;
use crate::core::turns::Turns;
use crate::error::chain;
use crate::events::bus::Bus;
use crate::events::reactor_rules::ReactorRules;
use crate::files::Files;
use crate::fleet::Fleet;
use crate::functions::Functions;
use crate::jobs::Jobs;
use crate::jobs::stop::{Stop, Why};
use crate::keys::Keys;
use crate::limits::{PEER_RUNNERS_MAX, PEER_RUNNERS_PER_MINION_MAX, RUNNERS_MAX};
use crate::pillar::pillars::Pillars;
use crate::publishing::Publishing;
use crate::registers::KeyRegisters;
use crate::settings::General;
use crate::wheel::Wheel;
use registry::{Registry, RunnerSlot, Seat, Timer};
use table::Found;

/// The runners of a master, and the parts of it that they use.
pub(crate) struct Runners {
    pub(crate) settings: RunnerSettings,
    /// Those that run.
    pub(crate) registry: Registry,
    /// Those that run for minions (`peer_run`).
    pub(crate) peer_turns: Turns,
    groups: RunnerGroups,
}

/// The parts of the master that runners use.
#[derive(Clone)]
pub(crate) struct RunnerGroups {
    pub(crate) general: Arc<General>,
    pub(crate) functions: Arc<Functions>,
    pub(crate) bus: Arc<Bus>,
    pub(crate) keys: Arc<Keys>,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) access: Arc<Access>,
    pub(crate) publishing: Arc<Publishing>,
    pub(crate) files: Arc<Files>,
    pub(crate) pillars: Arc<Pillars>,
    pub(crate) batches: Arc<Batches>,
    pub(crate) reactor_rules: Arc<ReactorRules>,
    /// What runners and templates keep.
    pub(crate) banks: Banks,
    pub(crate) wheel: Arc<Wheel>,
    pub(crate) cluster: Option<Arc<Cluster>>,
    /// Of a cluster without shared files.
    pub(crate) registers: Option<Arc<KeyRegisters>>,
}

impl Runners {
    /// None run.
    pub(crate) fn new(settings: RunnerSettings, groups: RunnerGroups) -> Self {
        Self {
            settings,
            registry: Registry::new(),
            peer_turns: Turns::new(PEER_RUNNERS_PER_MINION_MAX, PEER_RUNNERS_MAX),
            groups,
        }
    }
}

impl Deref for Runners {
    type Target = RunnerGroups;

    fn deref(&self) -> &RunnerGroups {
        &self.groups
    }
}

/// A runner that is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The function, `jobs.active`.
    pub(crate) fun: String,
    /// Its arguments by position.
    pub(crate) args: Vec<Value>,
    /// Its arguments by name.
    pub(crate) kwargs: Map,
    /// Who asks.
    pub(crate) user: String,
    /// What its events have among the arguments by name besides.
    pub(crate) told: Map,
    /// The job id to use instead of a new one.
    pub(crate) jid: Option<Jid>,
    /// How long it waits for minions, instead of `timeout` of the
    /// configuration.
    pub(crate) timeout: Option<Duration>,
    /// Whether the job cache keeps what it returns.
    pub(crate) is_kept: bool,
    /// Whether the master's own user asks at this machine, without a login.
    pub(crate) is_owner: bool,
}

impl Asked {
    /// A function without arguments.
    pub(crate) fn new(fun: &str, user: &str) -> Self {
        Self {
            fun: fun.to_owned(),
            args: Vec::new(),
            kwargs: Map::new(),
            user: user.to_owned(),
            told: Map::new(),
            jid: None,
            timeout: None,
            is_kept: true,
            is_owner: false,
        }
    }
}

/// Why a runner was not started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotStarted {
    /// Too many run.
    #[error(
        "{RUNNERS_MAX} runners are running already; `salt-run jobs.master` lists them, \
         `salt-run jobs.kill <jid>` ends one"
    )]
    TooMany,
    /// The master does not run yet, or not any more.
    #[error("the master is starting or stopping")]
    Closed,
    /// No job id can be had.
    #[error("could not allocate a job id")]
    Jid(#[source] halite_store::StoreError),
    /// No thread can be had.
    #[error("could not start a thread")]
    Thread(#[source] std::io::Error),
}

/// How the answer of a runner begins that could not be called. To whoever asked
/// it counts as an answer, as with Salt: the documentation is in it.
const BAD_ARGUMENTS: &str = "\nPassed invalid arguments: ";

/// Runners that have places of their own: they help when all others are taken.
const RESERVED: [&str; 2] = ["jobs.kill", "jobs.master"];

/// Runners whose events name their job id among the arguments, as with Salt.
const ORCHESTRATIONS: [&str; 2] = ["state.orch", "state.orchestrate"];

/// One run of a runner.
pub(crate) struct Run {
    pub(crate) jid: Jid,
    pub(crate) tag: String,
    asked: Asked,
    stop: Stop,
    seat: Mutex<Option<Seat>>,
}

impl Run {
    fn begin(runners: &Arc<Runners>, asked: Asked, stop: Stop) -> Result<Arc<Self>, NotStarted> {
        let place = RunnerSlot::take(runners, RESERVED.contains(&asked.fun.as_str()))?;
        let jid = match &asked.jid {
            Some(jid) => runners.jobs.cache.prepare(jid, false).map(|()| jid.clone()),
            None => runners.jobs.allocate(false),
        };
        let jid = jid.map_err(NotStarted::Jid)?;
        Ok(Arc::new(Self {
            tag: format!("salt/run/{jid}"),
            jid,
            asked,
            stop,
            seat: Mutex::new(Some(Seat::of(place))),
        }))
    }

    /// The function.
    pub(super) fn fun(&self) -> &str {
        &self.asked.fun
    }

    fn seat(&self) -> MutexGuard<'_, Option<Seat>> {
        self.seat.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What its events begin with.
    fn data(&self) -> Map {
        let asked = &self.asked;
        let mut fun_args = asked.args.clone();
        let mut by_name = without_password(&asked.kwargs);
        by_name.extend(asked.told.clone());
        if ORCHESTRATIONS.contains(&asked.fun.as_str()) {
            by_name.insert("orchestration_jid", &self.jid);
        }
        if !by_name.is_empty() {
            fun_args.push(by_name.into());
        }
        Map::from([
            ("fun", Value::from(format!("runner.{}", asked.fun))),
            ("jid", (&self.jid).into()),
            ("user", asked.user.as_str().into()),
            ("fun_args", fun_args.into()),
        ])
    }

    /// Runs to the end and tells of it; what the `ret` event carries.
    fn run(self: &Arc<Self>, runners: &Arc<Runners>, runtime: &Handle) -> Map {
        let _timer = Timer::start(runners, runtime, self);
        let data = self.ran(runners, runtime);
        *self.seat() = None;
        data
    }

    fn ran(&self, runners: &Arc<Runners>, runtime: &Handle) -> Map {
        let asked = &self.asked;
        let found = match table::find(runners, &asked.fun) {
            Ok(found) => found,
            Err(why) => return self.not_available(runners, why),
        };
        let mut data = self.data();
        runners.bus.fire(&format!("{}/new", self.tag), data.clone());
        let running = proc_files::Running::write(&runners.general.cachedir, &self.jid, &data);
        let (value, success) = match self.called(runners, runtime, &found) {
            Ok((value, 0)) if self.stop.why().is_none() => {
                let success = is_success(&value);
                (value, success)
            }
            Ok((value, retcode)) => {
                data.insert("retcode", retcode.max(1));
                (value, false)
            }
            Err(RunnerError::BadArguments(why)) => {
                let text = format!("{BAD_ARGUMENTS}{why}\n\nUsage:\n{}", found.doc_text());
                (text.into(), true)
            }
            Err(error) => {
                data.insert("retcode", 1);
                (self.failed(&error), false)
            }
        };
        data.insert("return", value);
        data.insert("success", success);
        // Who hears of its end does not find it among those that run.
        drop(running);
        self.tell(runners, &data);
        data
    }

    fn failed(&self, error: &RunnerError) -> Value {
        let fun = self.fun();
        match self.stop.why() {
            Some(why) => format!("Exception occurred in runner {fun}: {why}").into(),
            None => format!("Exception occurred in runner {fun}: {}", chain(error)).into(),
        }
    }

    /// Tells of the end, unless somebody else has.
    fn tell(&self, runners: &Runners, data: &Map) {
        if !self.stop.claim() {
            tracing::info!(jid = %self.jid, "the runner {} has ended after all", self.fun());
            return;
        }
        if self.asked.is_kept {
            runners.jobs.store_runner_return(&self.jid, data);
        }
        runners.bus.fire(&format!("{}/ret", self.tag), data.clone());
    }

    /// Tells of the end of a run that does not heed the order to stop.
    fn tell_stopped(&self, runners: &Runners, why: Why) {
        let mut data = self.data();
        data.insert("retcode", 1);
        data.insert("return", self.failed(&RunnerError::Stopped(why)));
        data.insert("success", false);
        self.tell(runners, &data);
    }

    fn called(
        &self,
        runners: &Arc<Runners>,
        runtime: &Handle,
        found: &Found,
    ) -> Result<(Value, i64), RunnerError> {
        let call = Call::bind(runners, runtime, self, found)?;
        let ran = catch_unwind(AssertUnwindSafe(|| found.run(&call)));
        let value = ran.unwrap_or(Err(RunnerError::Panic))?;
        Ok((value, call.retcode.get()))
    }

    fn not_available(&self, runners: &Runners, why: Option<&'static str>) -> Map {
        let asked = &self.asked;
        let mut text = format!("'{}' is not available.", asked.fun);
        let mut retcode = NOT_AVAILABLE;
        if let Some(why) = why {
            text = format!("{text} {why}");
            // Scripts that rely on it must not go on.
            retcode = 1;
        }
        let data = Map::from([
            ("success", Value::from(false)),
            ("return", text.into()),
            ("retcode", retcode.into()),
            ("fun", asked.fun.as_str().into()),
            ("fun_args", asked.args.clone().into()),
            ("jid", (&self.jid).into()),
        ]);
        if self.stop.claim() {
            runners.bus.fire(&format!("{}/ret", self.tag), data.clone());
        }
        data
    }
}

/// Arguments as everybody may hear them.
fn without_password(kwargs: &Map) -> Map {
    const MASK: &str = "**********";
    let mut told = kwargs.clone();
    if told.contains_key("password") {
        told.insert("password", MASK);
    }
    told
}

/// The return code of a runner that does not exist.
const NOT_AVAILABLE: i64 = 254;

/// Whether what a runner returned means that all went well: results of states
/// say so themselves.
fn is_success(value: &Value) -> bool {
    let Some(Value::Map(data)) = value.as_map().and_then(|map| map.get("data")) else {
        return true;
    };
    data.values().all(|of_minion| match of_minion {
        Value::Map(states) => states
            .values()
            .all(|state| state.get("result") != Some(&Value::Bool(false))),
        _ => true,
    })
}

/// Starts a runner on a thread of its own; what it returns comes as an event.
pub(crate) fn start(runners: &Arc<Runners>, asked: Asked) -> Result<(Jid, String), NotStarted> {
    start_then(runners, asked, |_| {})
}

/// Starts a runner, and hands on what its `ret` event carries.
pub(crate) fn start_then(
    runners: &Arc<Runners>,
    asked: Asked,
    then: impl FnOnce(&Map) + Send + 'static,
) -> Result<(Jid, String), NotStarted> {
    let runtime = runners.registry.runtime()?;
    let run = Run::begin(runners, asked, Stop::new())?;
    let listed = Registry::list(runners, &run)?;
    let begun = (run.jid.clone(), run.tag.clone());
    tracing::info!(user = run.asked.user, jid = %run.jid, "runner {}", run.asked.fun);
    let runners = Arc::clone(runners);
    thread::Builder::new()
        .name("runner".to_owned())
        .spawn(move || {
            let told = run.run(&runners, &runtime);
            drop(listed);
            then(&told);
        })
        .map_err(NotStarted::Thread)?;
    Ok(begun)
}

/// Whether there is a runner of that name.
///
/// # Errors
/// In words, when there is none.
pub(crate) fn is_there(runners: &Arc<Runners>, fun: &str) -> Result<(), String> {
    match table::find(runners, fun) {
        Ok(_) => Ok(()),
        Err(None) => Err("there is no such runner".to_owned()),
        Err(Some(why)) => Err(format!("there is no such runner. {why}")),
    }
}

/// Runs a runner for a minion; what it returns. Blocks until it ends.
pub(crate) fn run_to_end(runners: &Arc<Runners>, asked: Asked) -> Result<Value, NotStarted> {
    let mut told = run_and_tell(runners, asked, Stop::new())?;
    Ok(told.remove("return").unwrap_or_default())
}

/// Runs a runner; what its `ret` event carries. Blocks until it ends.
fn run_and_tell(runners: &Arc<Runners>, asked: Asked, stop: Stop) -> Result<Map, NotStarted> {
    let runtime = runners.registry.runtime()?;
    let run = Run::begin(runners, asked, stop)?;
    let _listed = Registry::list(runners, &run)?;
    Ok(run.run(runners, &runtime))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_told_to_nobody() {
        let given = Map::from([("username", "ali"), ("password", "sesame")]);
        let told = without_password(&given);
        assert_eq!(told.get("password"), Some(&"**********".into()));
        assert_eq!(told.get("username"), Some(&"ali".into()));
        let other = Map::from([("tgt", "*")]);
        assert_eq!(without_password(&other), other);
    }

    #[test]
    fn results_of_states_say_whether_all_went_well() {
        let run = |result: bool| {
            let state = Map::from([("result", result)]);
            let data = Map::from([("m1", Map::from([("x", state)]))]);
            Value::from(Map::from([("data", Value::from(data))]))
        };
        assert!(is_success(&run(true)));
        assert!(!is_success(&run(false)));
        assert!(is_success(&Value::from(false)));
        assert!(is_success(&Map::from([("data", 7)]).into()));
    }
}
