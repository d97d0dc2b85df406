//! Runners: functions of the master, run one to a thread.
//!
//! Programs ask for them with the clear `runner` command; what comes of them
//! is told on the event bus and kept in the job cache, like a job of a minion
//! named after the master. Invariant: a runner ends with exactly one `ret`
//! event, however it ends.

mod auth;
mod cache;
mod call;
mod config;
mod error;
mod event;
mod fileserver;
mod gather;
mod jobs;
pub(crate) mod keep;
mod manage;
mod masters;
mod matching;
mod mine;
mod network;
mod orchestra;
mod pillar;
mod salt;
mod search;
mod state;
mod survey;
mod table;
mod test;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use halite_proto::{Jid, Map, Value};
use tokio::runtime::Handle;
use tokio::sync::watch;

pub(crate) use call::Call;
pub(crate) use error::RunnerError;
pub(crate) use table::{Function, find};

use crate::error::chain;
use crate::limits::RUNNERS_MAX;
use crate::master::Master;

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
    /// The job id to use instead of a new one.
    pub(crate) jid: Option<Jid>,
}

/// Why a runner was not started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotStarted {
    /// Too many run.
    #[error("{RUNNERS_MAX} runners are running already")]
    TooMany,
    /// No job id can be had.
    #[error("could not allocate a job id")]
    Jid(#[source] halite_store::StoreError),
    /// No thread can be had.
    #[error("could not start a thread")]
    Thread(#[source] std::io::Error),
}

/// The runners that run.
pub(crate) struct Runners {
    running: AtomicUsize,
    closing: watch::Sender<bool>,
    runtime: std::sync::OnceLock<Handle>,
}

impl Runners {
    /// None run.
    pub(crate) fn new() -> Self {
        Self {
            running: AtomicUsize::new(0),
            closing: watch::Sender::new(false),
            runtime: std::sync::OnceLock::new(),
        }
    }

    /// Gives runners the runtime whose timers they wait with.
    pub(crate) fn open(&self, runtime: Handle) {
        let _ = self.runtime.set(runtime);
    }

    /// Those that wait for minions stop waiting.
    pub(crate) fn close(&self) {
        self.closing.send_replace(true);
    }
}

/// One run of a runner.
pub(crate) struct Run {
    pub(crate) jid: Jid,
    pub(crate) tag: String,
    asked: Asked,
}

impl Run {
    fn begin(master: &Master, asked: Asked) -> Result<Self, NotStarted> {
        let jid = match &asked.jid {
            Some(jid) => master.jobs.prepare(jid, false).map(|()| jid.clone()),
            None => master.allocate_jid(false),
        };
        let jid = jid.map_err(NotStarted::Jid)?;
        Ok(Self {
            tag: format!("salt/run/{jid}"),
            jid,
            asked,
        })
    }

    /// Runs to the end and tells of it; what the `ret` event carries.
    fn run(&self, master: &Arc<Master>, runtime: &Handle) -> Map {
        let asked = &self.asked;
        let Some(function) = find(&asked.fun) else {
            return self.not_available(master);
        };
        let mut fun_args = asked.args.clone();
        if !asked.kwargs.is_empty() {
            fun_args.push(asked.kwargs.clone().into());
        }
        let mut data = Map::from([
            ("fun", Value::from(format!("runner.{}", asked.fun))),
            ("jid", (&self.jid).into()),
            ("user", asked.user.as_str().into()),
            ("fun_args", fun_args.into()),
        ]);
        master.bus.fire(&format!("{}/new", self.tag), data.clone());
        let _running = keep::Running::note(master, &self.jid, &data);
        let (value, success) = match self.called(master, runtime, function) {
            Ok((value, 0)) => {
                let success = is_success(&value);
                (value, success)
            }
            Ok((value, retcode)) => {
                data.insert("retcode", retcode);
                (value, false)
            }
            Err(RunnerError::BadArguments(why)) => {
                let text = format!(
                    "\nPassed invalid arguments: {why}\n\nUsage:\n{}",
                    function.doc_text()
                );
                (text.into(), true)
            }
            Err(error) => {
                data.insert("retcode", 1);
                let text = format!(
                    "Exception occurred in runner {}: {}",
                    asked.fun,
                    chain(&error)
                );
                (text.into(), false)
            }
        };
        data.insert("return", value);
        data.insert("success", success);
        keep::store(master, &self.jid, &data);
        master.bus.fire(&format!("{}/ret", self.tag), data.clone());
        data
    }

    fn called(
        &self,
        master: &Arc<Master>,
        runtime: &Handle,
        function: &Function,
    ) -> Result<(Value, i64), RunnerError> {
        let call = Call::bind(master, runtime, self, function)?;
        let ran = catch_unwind(AssertUnwindSafe(|| (function.run)(&call)));
        let value = ran.unwrap_or(Err(RunnerError::Panic))?;
        Ok((value, call.retcode.get()))
    }

    fn not_available(&self, master: &Master) -> Map {
        let asked = &self.asked;
        let data = Map::from([
            ("success", Value::from(false)),
            (
                "return",
                format!("'{}' is not available.", asked.fun).into(),
            ),
            ("retcode", NOT_AVAILABLE.into()),
            ("fun", asked.fun.as_str().into()),
            ("fun_args", asked.args.clone().into()),
            ("jid", (&self.jid).into()),
        ]);
        master.bus.fire(&format!("{}/ret", self.tag), data.clone());
        data
    }
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
pub(crate) fn start(master: &Arc<Master>, asked: Asked) -> Result<(Jid, String), NotStarted> {
    let Some(runtime) = master.runners.runtime.get().cloned() else {
        return Err(NotStarted::TooMany);
    };
    let place = Place::take(master)?;
    let run = Run::begin(master, asked)?;
    let begun = (run.jid.clone(), run.tag.clone());
    tracing::info!(user = run.asked.user, jid = %run.jid, "runner {}", run.asked.fun);
    thread::Builder::new()
        .name("runner".to_owned())
        .spawn(move || {
            run.run(&place.0, &runtime);
            drop(place);
        })
        .map_err(NotStarted::Thread)?;
    Ok(begun)
}

/// Runs a runner for a minion; what it returns. Blocks until it ends.
pub(crate) fn run_to_end(master: &Arc<Master>, asked: Asked) -> Result<Value, NotStarted> {
    let mut told = run_and_tell(master, asked)?;
    Ok(told.remove("return").unwrap_or_default())
}

/// Runs a runner; what its `ret` event carries. Blocks until it ends.
fn run_and_tell(master: &Arc<Master>, asked: Asked) -> Result<Map, NotStarted> {
    let Some(runtime) = master.runners.runtime.get().cloned() else {
        return Err(NotStarted::TooMany);
    };
    let place = Place::take(master)?;
    let run = Run::begin(master, asked)?;
    Ok(run.run(&place.0, &runtime))
}

/// One of the places for runners.
struct Place(Arc<Master>);

impl Place {
    fn take(master: &Arc<Master>) -> Result<Self, NotStarted> {
        let running = &master.runners.running;
        if running.fetch_add(1, Ordering::Relaxed) >= RUNNERS_MAX {
            running.fetch_sub(1, Ordering::Relaxed);
            return Err(NotStarted::TooMany);
        }
        Ok(Self(Arc::clone(master)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.runners.running.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
