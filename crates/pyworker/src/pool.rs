//! The processes of a program: one that is kept, and more while it is busy.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use halite_proto::{Map, Value};
use serde_json::{Value as Json, json};

use crate::PyHost;
use crate::error::PyError;
use crate::limits::{CATALOG_SECONDS_MAX, IDLE_MAX, PROCESSES_MAX};
use crate::process::{Process, Service};
use crate::values::{encode, encode_map};

/// What is to be run.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// A function of a synced module.
    Call {
        /// `modules`, `states`, `beacons`, `returners`, `sdb`, `pillar`, `tops`.
        kind: &'a str,
        /// `module.function`.
        name: &'a str,
        /// The arguments by place.
        args: &'a [Value],
        /// The arguments by name.
        kwargs: &'a Map,
        /// Names of the module for this call: `__low__`, `__instance_id__`.
        scope: &'a Map,
        /// The function is one of the installed Salt.
        salt: bool,
        /// The job: what code keeps in `__context__` is kept within one.
        job: Option<&'a str>,
    },
    /// A renderer: `render` of a module.
    Render {
        /// `module.render`.
        name: &'a str,
        /// What is to be rendered.
        data: &'a Value,
        /// The environment.
        saltenv: &'a str,
        /// The SLS, if it is one.
        sls: &'a str,
        /// The other arguments.
        kwargs: &'a Map,
        /// The renderer is one of the installed Salt.
        salt: bool,
    },
    /// An executor around a function: `execute` of a module.
    Execute {
        /// `module.execute`.
        name: &'a str,
        /// The function.
        fun: &'a str,
        /// The job as it was published.
        data: &'a Map,
        /// The function's arguments by place.
        args: &'a [Value],
        /// Those by name.
        kwargs: &'a Map,
        /// The executor is one of the installed Salt.
        salt: bool,
        /// The job.
        job: Option<&'a str>,
    },
    /// A function of the installed Salt: its signature and text.
    Find {
        /// `modules`, `states`.
        kind: &'a str,
        /// `module.function`.
        name: &'a str,
    },
    /// The functions of the installed Salt.
    Catalog {
        /// `modules`, `states`.
        kind: &'a str,
        /// Those of one module; all without.
        module: Option<&'a str>,
        /// Whether their texts are wanted.
        docs: bool,
    },
    /// `run()` of a text of Python.
    Code {
        /// The text.
        source: &'a str,
        /// Where it lies: what tracebacks call it.
        path: &'a str,
        /// The names that it sees.
        names: &'a Map,
    },
    /// What a text of Python declares with the objects of `pyobjects`.
    Objects {
        /// The text.
        source: &'a str,
        /// Where it lies: what tracebacks call it.
        path: &'a str,
        /// The names that it sees.
        names: &'a Map,
    },
    /// The grains of synced modules.
    Grains,
    /// The synced modules of a kind with their functions.
    List {
        /// `modules`, `states`, `utils`.
        kind: &'a str,
    },
    /// Files are to be read again.
    Forget,
}

impl Request<'_> {
    fn json(self) -> Result<Json, PyError> {
        Ok(match self {
            Request::Call {
                kind,
                name,
                args,
                kwargs,
                scope,
                salt,
                job,
            } => json!({
                "do": "call",
                "kind": kind,
                "name": name,
                "args": args.iter().map(encode).collect::<Result<Vec<_>, _>>()?,
                "kwargs": encode_map(kwargs, 0)?,
                "scope": encode_map(scope, 0)?,
                "salt": salt,
                "job": job,
            }),
            Request::Render {
                name,
                data,
                saltenv,
                sls,
                kwargs,
                salt,
            } => json!({
                "do": "render",
                "name": name,
                "data": encode(data)?,
                "saltenv": saltenv,
                "sls": sls,
                "kwargs": encode_map(kwargs, 0)?,
                "salt": salt,
            }),
            Request::Execute {
                name,
                fun,
                data,
                args,
                kwargs,
                salt,
                job,
            } => json!({
                "do": "execute",
                "name": name,
                "fun": fun,
                "data": encode_map(data, 0)?,
                "args": args.iter().map(encode).collect::<Result<Vec<_>, _>>()?,
                "kwargs": encode_map(kwargs, 0)?,
                "salt": salt,
                "job": job,
            }),
            Request::Code {
                source,
                path,
                names,
            } => json!({
                "do": "code",
                "source": source,
                "path": path,
                "names": encode_map(names, 0)?,
            }),
            Request::Objects {
                source,
                path,
                names,
            } => json!({
                "do": "objects",
                "source": source,
                "path": path,
                "names": encode_map(names, 0)?,
            }),
            Request::Find { kind, name } => json!({ "do": "find", "kind": kind, "name": name }),
            Request::Catalog { kind, module, docs } => json!({
                "do": "catalog",
                "kind": kind,
                "module": module,
                "docs": docs,
                "seconds": CATALOG_SECONDS_MAX,
            }),
            Request::Grains => json!({ "do": "grains" }),
            Request::List { kind } => json!({ "do": "list", "kind": kind }),
            Request::Forget => json!({ "do": "forget" }),
        })
    }
}

/// The processes of this program.
pub struct Workers {
    state: Mutex<PoolState>,
}

struct PoolState {
    /// At most one, with the moment since which it has nothing to do.
    idle: Vec<(Process, Instant)>,
    busy: usize,
    /// Whether a thread waits to end the idle one.
    is_watched: bool,
}

static WORKERS: Workers = Workers::new();
static BEACONS: Workers = Workers::new();

impl Workers {
    const fn new() -> Self {
        Self {
            state: Mutex::new(PoolState {
                idle: Vec::new(),
                busy: 0,
                is_watched: false,
            }),
        }
    }

    /// Those of this program.
    pub fn global() -> &'static Self {
        &WORKERS
    }

    /// Those of its beacons: what a beacon remembers is in its process, so
    /// these are asked one after the other, and nobody else asks them.
    pub fn beacons() -> &'static Self {
        &BEACONS
    }

    /// Runs a request, on a process that is idle or a new one.
    ///
    /// # Errors
    /// What the code raises; when there is no Python, or it ended.
    pub fn run(&'static self, host: &dyn PyHost, request: Request<'_>) -> Result<Value, PyError> {
        let request = request.json()?;
        let idle = {
            let mut state = self.state();
            if state.busy >= PROCESSES_MAX {
                return Err(PyError::Busy(PROCESSES_MAX));
            }
            state.busy += 1;
            state.idle.pop().map(|(process, _)| process)
        };
        let _busy = Busy(self);
        // One that was killed while it had nothing to do has failed nobody.
        let mut process = match idle.and_then(Process::still_there) {
            Some(process) => process,
            None => Process::start(host)?,
        };
        let watched = host.watch(process.group());
        let result = process
            .prepare(host)
            .and_then(|()| process.ask(host, &request));
        drop(watched);
        // A process that raised is as good as one that returned.
        if matches!(result, Ok(_) | Err(PyError::Raised(_))) {
            self.keep(process);
        }
        result
    }

    /// Keeps a process for the next call, unless there is one.
    fn keep(&'static self, process: Process) {
        let mut state = self.state();
        if !state.idle.is_empty() {
            return;
        }
        state.idle.push((process, Instant::now()));
        if !state.is_watched {
            let watch = thread::Builder::new().name("python-idle".to_owned());
            // Without one it stays, as it would while there are calls.
            state.is_watched = watch.spawn(|| self.watch()).is_ok();
        }
    }

    fn watch(&self) {
        while let Some(left) = self.end_unused(IDLE_MAX) {
            thread::sleep(left);
        }
    }

    /// Ends the process that has had nothing to do for so long. How long it may
    /// still wait; nothing if there is none.
    pub fn end_unused(&self, longest: Duration) -> Option<Duration> {
        let mut state = self.state();
        let waited = state.idle.first().map(|(_, since)| since.elapsed());
        let left = waited.and_then(|waited| longest.checked_sub(waited));
        if let Some(left) = left.filter(|left| !left.is_zero()) {
            return Some(left);
        }
        let ended = std::mem::take(&mut state.idle);
        state.is_watched = false;
        drop(state);
        drop(ended);
        None
    }

    /// Ends the processes that are idle; files are read again by new ones.
    pub fn end(&self) {
        let idle = std::mem::take(&mut self.state().idle);
        drop(idle);
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs a request in a process of its own, which ends with it. No thread is left.
///
/// # Errors
/// What the code raises; when there is no Python, or it ended.
pub fn run_alone(host: &dyn PyHost, request: Request<'_>) -> Result<Value, PyError> {
    let request = request.json()?;
    let mut process = Process::start(host)?;
    let _watched = host.watch(process.group());
    process.prepare(host)?;
    process.ask(host, &request)
}

/// Runs code that is not meant to end, in a process of its own. What the code has started
/// ends with the process, unless it has left its group, and what it prints is logged.
///
/// # Errors
/// What the code raises; when there is no Python, or it ended.
pub fn run_endless(host: &dyn PyHost, request: Request<'_>) -> Result<Value, PyError> {
    let request = request.json()?;
    let mut process = Process::spawn(host, Service::Endless)?;
    // Before it is ready: it is to end at once where it never gets there.
    let _watched = host.watch(process.group());
    process.begin()?;
    process.prepare(host)?;
    process.ask(host, &request)
}

/// Counts one that is busy.
struct Busy<'a>(&'a Workers);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.state().busy -= 1;
    }
}
