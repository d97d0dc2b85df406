//! Engines: custom Python code that runs beside a daemon as long as the daemon does
//! (`_engines`, the option `engines`), each in a process of its own.
//!
//! Invariant: an engine that ends is started again, with growing pauses while it
//! keeps ending; none outlives its daemon or holds up its end, and what one asks and
//! logs is limited.

use std::cell::RefCell;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use halite_proto::{Map, Value};
use halite_pyworker::{PyError, Raised, Request, directories, run_endless};

use super::engine_host::EngineHost;
use super::engine_pace::Pace;
use super::host::CallHost;
use super::index::claims;
use crate::context::MinionContext;
use crate::job::{Cancel, Job};
use crate::limits::ENGINES_END_MAX;
use crate::run::within_call;

/// Engines of one daemon; more are refused at its start. Each has a process
/// and a thread.
pub const ENGINES_MAX: usize = 32;

/// How long an engine that has ended rests the first time; twice as long each
/// time that it ends again soon.
const REST_FIRST: Duration = Duration::from_secs(1);

/// The longest rest.
const REST_MAX: Duration = Duration::from_secs(60);

/// One that has run for so long begins with the shortest rest again.
const STEADY: Duration = Duration::from_secs(120);

/// The directory and the kind of these files.
const KIND: &str = "engines";

/// An engine as the options name it.
#[derive(Clone, Debug, PartialEq)]
pub struct Engine {
    /// Its name in the options.
    pub name: String,
    /// The module (`engine_module`, or the name).
    pub module: String,
    /// What `start` gets by name.
    pub config: Map,
}

/// The engines of the option `engines`: a list of names, and of maps from a
/// name to what it gets.
///
/// # Errors
/// When it is something else, or too long.
pub fn engines(option: &Value) -> Result<Vec<Engine>, String> {
    let items = match option {
        Value::List(items) => items.as_slice(),
        one @ (Value::Map(_) | Value::Str(_)) if one.is_true() => std::slice::from_ref(one),
        other if !other.is_true() => &[],
        other => {
            return Err(format!(
                "`engines` is a list of engines, not a {}",
                other.type_name()
            ));
        }
    };
    let mut engines = Vec::new();
    for item in items {
        match item {
            Value::Str(name) => engines.push(engine(name, &Value::Nil)?),
            Value::Map(map) => {
                for (name, config) in map {
                    let name = name.as_str().unwrap_or_default();
                    engines.push(engine(name, config)?);
                }
            }
            other => {
                return Err(format!(
                    "an entry of `engines` is a name, or a map of a name to its settings, \
                     not a {}",
                    other.type_name()
                ));
            }
        }
    }
    match engines.len() > ENGINES_MAX {
        true => Err(format!("there are at most {ENGINES_MAX} engines")),
        false => Ok(engines),
    }
}

fn engine(name: &str, config: &Value) -> Result<Engine, String> {
    let mut config = match config {
        Value::Map(config) => config.clone(),
        other if !other.is_true() => Map::new(),
        other => {
            return Err(format!(
                "the settings of the engine {name:?} are a map, not a {}",
                other.type_name()
            ));
        }
    };
    let module = match config.remove("engine_module") {
        Some(Value::Str(module)) => module,
        Some(_) => {
            return Err(format!(
                "`engine_module` of {name:?} is the name of a module"
            ));
        }
        None => name.to_owned(),
    };
    let is_name = !module.is_empty() && module.chars().all(|c| c == '_' || c.is_alphanumeric());
    if !is_name {
        return Err(format!("{module:?} is not the name of an engine"));
    }
    Ok(Engine {
        name: name.to_owned(),
        module,
        config,
    })
}

/// Engines that run until this is dropped.
#[derive(Debug)]
pub struct Engines {
    cancel: Cancel,
    /// Receives nothing, and is disconnected when the last thread of theirs has ended.
    ended: Receiver<Infallible>,
}

impl Engines {
    /// Starts engines. `role` is what they find as `__role` in their options:
    /// `master` or `minion`.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn start(
        engines: Vec<Engine>,
        role: &'static str,
        ctx: &Arc<dyn MinionContext>,
    ) -> std::io::Result<Self> {
        let (running, ended) = channel();
        let all = Self {
            cancel: Cancel::default(),
            ended,
        };
        all.start_threads(engines, role, ctx, running)?;
        Ok(all)
    }

    fn start_threads(
        &self,
        engines: Vec<Engine>,
        role: &'static str,
        ctx: &Arc<dyn MinionContext>,
        running: Sender<Infallible>,
    ) -> std::io::Result<()> {
        for engine in engines {
            let (ctx, cancel, running) = (Arc::clone(ctx), self.cancel.clone(), running.clone());
            let thread = thread::Builder::new().name("engine".to_owned());
            thread.spawn(move || {
                keep_running(&engine, role, ctx.as_ref(), &cancel);
                drop(running);
            })?;
        }
        Ok(())
    }

    /// Kills their processes, which are groups of this job: so the threads come to their
    /// end too. Waits for nothing.
    pub fn kill(&self) {
        self.cancel.signal(nix::libc::SIGKILL);
    }
}

impl Drop for Engines {
    fn drop(&mut self) {
        self.kill();
        if self.ended.recv_timeout(ENGINES_END_MAX) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!(
                "what an engine has asked for has not ended within {ENGINES_END_MAX:?}; it is \
                 left behind"
            );
        }
    }
}

fn keep_running(engine: &Engine, role: &'static str, ctx: &dyn MinionContext, cancel: &Cancel) {
    let name = engine.name.as_str();
    let mut rest = REST_FIRST;
    // Of all its starts: an end is no way to begin anew.
    let pace = RefCell::default();
    loop {
        let began = Instant::now();
        tracing::debug!(engine = name, "starting");
        let ended = run(engine, role, ctx, cancel, &pace);
        if cancel.ended_by().is_some() {
            return;
        }
        if began.elapsed() >= STEADY {
            rest = REST_FIRST;
        }
        let seconds = rest.as_secs();
        match ended {
            Ok(_) => tracing::warn!("the engine {name} has ended; it starts again in {seconds} s"),
            Err(error) => {
                tracing::error!(
                    "the engine {name} has failed: {error}; it starts again in {seconds} s"
                );
                if let PyError::Raised(raised) = &error {
                    tracing::debug!(engine = name, "{}", raised.trace);
                }
            }
        }
        if !cancel.sleep(rest) {
            return;
        }
        rest = (rest * 2).min(REST_MAX);
    }
}

/// Runs `start` of an engine to its end.
fn run(
    engine: &Engine,
    role: &'static str,
    ctx: &dyn MinionContext,
    cancel: &Cancel,
    pace: &RefCell<Pace>,
) -> Result<Value, PyError> {
    let name = format!("{}.start", engine.module);
    let job = Job {
        cancel: cancel.clone(),
        ..Job::default()
    };
    within_call(ctx, &job, |call| {
        let host = EngineHost {
            call: CallHost(call),
            name: &engine.name,
            role,
            pace,
        };
        let request = Request::Call {
            kind: KIND,
            name: &name,
            args: &[],
            kwargs: &engine.config,
            scope: &Map::new(),
            salt: !claims(&directories(ctx.opts(), KIND), &engine.module),
            job: None,
        };
        run_endless(&host, request).map_err(|error| match error {
            PyError::Raised(raised) if raised.is("KeyError") && raised.message.contains(&name) => {
                let why = format!(
                    "there is no such engine, neither in `_engines` \
                     (`saltutil.sync_engines` fetches those) nor in an installed Salt: {name}"
                );
                PyError::Raised(Raised::new("LoaderError", why))
            }
            error => error,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(yaml: &str) -> Result<Vec<Engine>, String> {
        engines(&halite_yaml::load(yaml, "test").unwrap().into_value())
    }

    fn one(name: &str, module: &str, config: Map) -> Engine {
        let (name, module) = (name.to_owned(), module.to_owned());
        Engine {
            name,
            module,
            config,
        }
    }

    #[test]
    fn engines_are_named_in_each_of_the_ways() {
        let all = read("[plain, {a: {x: 1}}, {b: }, {c: {engine_module: a, y: 2}}]").unwrap();
        assert_eq!(
            all,
            [
                one("plain", "plain", Map::new()),
                one("a", "a", Map::from([("x", 1)])),
                one("b", "b", Map::new()),
                one("c", "a", Map::from([("y", 2)])),
            ]
        );
        assert_eq!(read("{a: {x: 1}}").unwrap().len(), 1);
        assert_eq!(read("").unwrap(), []);
        assert_eq!(read("[]").unwrap(), []);
    }

    /// Who holds the other end is a thread in a function that does not end.
    #[test]
    fn a_daemon_ends_without_an_engine_that_does_not() {
        let (running, ended) = channel();
        let cancel = Cancel::default();
        let engines = Engines {
            cancel: cancel.clone(),
            ended,
        };
        let begun = Instant::now();
        drop(engines);
        assert!(begun.elapsed() >= ENGINES_END_MAX);
        assert!(cancel.is_killed());
        drop(running);
    }

    #[test]
    fn what_is_no_engine_is_refused() {
        for wrong in [
            "3",
            "[3]",
            "[a.b]",
            "[{a: text}]",
            "[{a: {engine_module: ../x}}]",
            "['']",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        let many = format!("[{}]", "a, ".repeat(ENGINES_MAX + 1));
        assert!(read(&many).unwrap_err().contains("at most"));
    }
}
