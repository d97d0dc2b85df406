//! What a function may ask of the minion (or of `salt-call`) that runs it.
//!
//! Invariant: modules reach the network, the event bus and other jobs only
//! through this trait, so every function can be tested without a daemon.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use halite_proto::request::HeldFile;
use halite_proto::{Map, Value};
use thiserror::Error;

use crate::recall::Recall;
use crate::registry::Registry;

/// Why the minion could not do what a function asked of it.
#[derive(Debug, Clone, Error)]
pub enum ContextError {
    /// No master is connected, or none is configured (`salt-call --local`).
    #[error("no master is connected")]
    NoMaster,
    /// The master did not answer in time.
    #[error("the master did not answer within {seconds} s")]
    TimedOut {
        /// How long was waited.
        seconds: u64,
    },
    /// The master refused the request or answered nonsense.
    #[error("the master refused the request: {why}")]
    Refused {
        /// What it said.
        why: String,
    },
    /// This caller has nothing of the kind.
    #[error("{what} is not available here")]
    Unsupported {
        /// What was asked for.
        what: &'static str,
    },
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
}

/// What can be made new while the minion runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refresh {
    /// Grains: collected again and sent with the next pillar request.
    Grains,
    /// Pillar: asked for again; grains are collected first, as in Salt.
    Pillar {
        /// Forget cached pillar of the minion first.
        clean_cache: bool,
    },
    /// Modules: configuration of modules read again, pillar not.
    Modules,
    /// Beacons.
    Beacons,
    /// Matchers.
    Matchers,
}

/// How far a pillar differs from the one the minion holds.
#[derive(Debug, Clone, Default)]
pub struct PillarRequest {
    /// Environment of the files.
    pub saltenv: Option<String>,
    /// Environment of the pillar.
    pub pillarenv: Option<String>,
    /// Values laid over the compiled pillar.
    pub overrides: Option<Map>,
    /// An external pillar to be used besides those of the options.
    pub ext: Option<Value>,
}

/// The two kinds of functions that a master runs itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MasterFunction {
    /// `salt-run`.
    Runner,
    /// What changes the master, `key.*` above all.
    Wheel,
}

/// What came of a function of the master.
#[derive(Debug, Clone, Default)]
pub struct MasterAnswer {
    /// What it returned.
    pub ret: Value,
    /// Whether it went well.
    pub success: bool,
    /// The job it was.
    pub jid: Option<String>,
}

/// A command for minions.
#[derive(Debug, Clone, Default)]
pub struct MinionsCommand {
    /// Whom it is for.
    pub tgt: Value,
    /// How the target is meant, `glob`.
    pub tgt_type: String,
    /// The function.
    pub fun: String,
    /// Its arguments by position.
    pub arg: Vec<Value>,
    /// Its arguments by name.
    pub kwarg: Map,
    /// Returners, separated by commas.
    pub ret: String,
    /// How long to wait for minions that do not say that they work on it.
    pub timeout: Option<Duration>,
    /// How many minions at once: `3`, `10%`.
    pub batch: Option<String>,
    /// So many of them, chosen by chance.
    pub subset: Option<usize>,
    /// In batches: begin no other once one has failed.
    pub failhard: bool,
}

/// What minions returned, in the order in which they did.
#[derive(Debug, Clone, Default)]
pub struct MinionsAnswer {
    /// The job; none if nobody was meant.
    pub jid: Option<String>,
    /// Their returns.
    pub returns: Vec<MinionReturn>,
}

/// What one minion returned.
#[derive(Debug, Clone, Default)]
pub struct MinionReturn {
    /// The minion.
    pub id: String,
    /// What it returned; nothing if it did not.
    pub ret: Option<Value>,
    /// The return code.
    pub retcode: i64,
}

/// Requests on their way to a master at the same time. The caller bounds how
/// many. Those whose answers were not taken are given up when this is dropped.
pub trait Ahead {
    /// Sends a request as [`MinionContext::request_beyond`] does, without
    /// waiting; without `beyond` it is the same for every master.
    fn ask(&mut self, load: Map, beyond: Option<Map>);

    /// The answer to the oldest request that has none yet; nothing if there is
    /// no such request.
    fn answer(&mut self) -> Option<Result<Value, ContextError>>;
}

/// The minion, as functions see it. Calls may block: functions run on job
/// threads.
pub trait MinionContext: Send + Sync {
    /// The merged options (`__opts__`), defaults included, without grains and
    /// pillar.
    fn opts(&self) -> &Map;

    /// The functions there are here.
    fn registry(&self) -> &'static Registry {
        Registry::core()
    }

    /// The grains of now.
    fn grains(&self) -> Arc<Map>;

    /// The pillar of now.
    fn pillar(&self) -> Arc<Map>;

    /// Has a pillar compiled (by the master, or locally with `file_client:
    /// local`); the minion's own is not replaced.
    ///
    /// # Errors
    /// When no master answers.
    fn compile_pillar(&self, request: &PillarRequest) -> Result<Map, ContextError>;

    /// Sends `load` (with its `cmd`; nonce, token and id are added) encrypted
    /// to a master and waits for the answer. In a job this is the master that
    /// published it, else any live one. With `file_client: local` the file
    /// commands (`_file_hash`, `_serve_file`, ...) are answered from the local
    /// `file_roots`, everything else is [`ContextError::NoMaster`].
    ///
    /// # Errors
    /// When no master answers.
    fn request(&self, load: Map) -> Result<Value, ContextError>;

    /// Like [`Self::request`]; a Halite master that serves files in pieces with
    /// what is to be known of them (`Capabilities::pieces`) is asked `beyond`
    /// instead.
    ///
    /// # Errors
    /// When no master answers.
    fn request_beyond(&self, load: Map, beyond: Map) -> Result<Value, ContextError> {
        let _ = beyond;
        self.request(load)
    }

    /// Whether these files are still those of the master; nothing where it
    /// cannot be asked about several at once.
    fn held_files(&self, files: &[HeldFile]) -> Option<Vec<bool>> {
        let _ = files;
        None
    }

    /// Where is kept which files calls have read, if this minion stays.
    fn recall(&self) -> Option<&Recall> {
        None
    }

    /// For requests that need not wait for each other's answers; nothing where
    /// they are best asked one after the other.
    fn ahead(&self) -> Option<Box<dyn Ahead + '_>> {
        None
    }

    /// Like [`Self::request`], but to every connected master; the answer is
    /// the last one's. An error only when no master could be reached.
    ///
    /// # Errors
    /// When no master answers.
    fn request_every(&self, load: Map) -> Result<Value, ContextError> {
        self.request(load)
    }

    /// Puts an event on the minion's own bus; `false` when there is none.
    ///
    /// # Errors
    /// When the bus exists but does not take the event.
    fn fire_local(&self, tag: &str, data: Map) -> Result<bool, ContextError>;

    /// Sends an event to every connected master (`_minion_event`).
    ///
    /// # Errors
    /// When no master took it.
    fn fire_master(&self, tag: &str, data: Value) -> Result<bool, ContextError>;

    /// As [`MinionContext::fire_master`], with fields beside the data, which
    /// may also stand for it and for the tag: what `preload` says, or the job
    /// id of a run of states that tells of itself.
    ///
    /// # Errors
    /// When no master took it.
    fn fire_with(&self, _fields: &Map, tag: &str, data: Value) -> Result<bool, ContextError> {
        self.fire_master(tag, data)
    }

    /// The jobs that run now: what their proc files hold, this one included.
    fn running(&self) -> Vec<Map>;

    /// Signals the job `jid` (its cancellation and its commands). `Some(pid)`
    /// of the process that was signalled, `None` when no such job runs.
    ///
    /// # Errors
    /// When the signal is not one or may not be sent.
    fn signal_job(&self, jid: &str, signal: i32) -> Result<Option<i64>, ContextError>;

    /// Makes something new; with `wait`, returns when it is done or the
    /// seconds are over (`Ok(false)` then).
    ///
    /// # Errors
    /// When it could not be started.
    fn refresh(&self, what: Refresh, wait: Option<u64>) -> Result<bool, ContextError>;

    /// Runs a function of the master, where this is one: while it compiles a
    /// pillar, it is.
    ///
    /// # Errors
    /// When there are no runners here, or none more may run.
    fn runner(&self, fun: &str, args: Vec<Value>, kwargs: Map) -> Result<Value, ContextError> {
        let _ = (fun, args, kwargs);
        Err(ContextError::Unsupported { what: "a runner" })
    }

    /// Runs a function of the master itself, a runner or a wheel function, to
    /// its end, and says all that came of it. Only where the master runs
    /// states: an orchestration.
    ///
    /// # Errors
    /// When this is no master, or no more runners may run.
    fn run_on_master(
        &self,
        kind: MasterFunction,
        fun: &str,
        args: Vec<Value>,
        kwargs: Map,
    ) -> Result<MasterAnswer, ContextError> {
        let _ = (kind, fun, args, kwargs);
        Err(ContextError::Unsupported {
            what: "running functions of the master",
        })
    }

    /// Sends a command to minions and waits for their returns. Only where the
    /// master runs states.
    ///
    /// # Errors
    /// When this is no master, or the command could not be sent.
    fn command_minions(&self, command: &MinionsCommand) -> Result<MinionsAnswer, ContextError> {
        let _ = command;
        Err(ContextError::Unsupported {
            what: "commanding minions",
        })
    }

    /// Shows the events of the master to `seen` until it says that it has seen
    /// enough (`true`) or the time is over (`false`). Only where the master
    /// runs states.
    ///
    /// # Errors
    /// When this is no master, or it stops.
    fn watch_events(
        &self,
        wait: Duration,
        seen: &mut dyn FnMut(&str, &Map) -> bool,
    ) -> Result<bool, ContextError> {
        let _ = (wait, seen);
        Err(ContextError::Unsupported {
            what: "watching the events of the master",
        })
    }

    /// A large part of a job is over and another begins that has little in common
    /// with it: whoever stays for long may give back what only the first has
    /// needed.
    fn part_is_over(&self) {}

    /// Whether `master` (a name or address of the `master` option) is
    /// connected now; without a name, whether any is.
    fn master_connected(&self, master: Option<&str>) -> bool;

    /// Asks `master` for a sign of life over its request port.
    fn ping_master(&self, master: &str) -> bool;

    /// Asks the scheduler of the minion that runs here. The request is what
    /// Salt's event `manage_schedule` carries (`func`, `name`, ...), the answer
    /// what the event of its completion does.
    ///
    /// # Errors
    /// When no minion runs here, or it does not answer.
    fn manage_schedule(&self, request: Map) -> Result<Map, ContextError> {
        let _ = request;
        Err(ContextError::Unsupported {
            what: "the scheduler",
        })
    }

    /// Asks the beacons of the minion that runs here. The request is what
    /// Salt's event `manage_beacons` carries (`func`, `name`, ...), the answer
    /// what the event of its completion does.
    ///
    /// # Errors
    /// When no minion runs here, or it does not answer.
    fn manage_beacons(&self, request: Map) -> Result<Map, ContextError> {
        let _ = request;
        Err(ContextError::Unsupported { what: "beacons" })
    }

    /// Whether files and pillar come from this machine (`file_client: local`).
    fn is_local(&self) -> bool {
        self.opts().get("file_client").and_then(Value::as_str) == Some("local")
    }

    /// The minion's id.
    fn id(&self) -> String {
        text_option(self.opts(), "id").unwrap_or_default()
    }

    /// Where caches live (`cachedir`).
    fn cachedir(&self) -> PathBuf {
        path_option(self.opts(), "cachedir", "/var/cache/salt/minion")
    }

    /// The directory of the configuration file.
    fn config_dir(&self) -> PathBuf {
        if let Some(dir) = text_option(self.opts(), "config_dir") {
            return dir.into();
        }
        let file = path_option(self.opts(), "conf_file", "/etc/salt/minion");
        file.parent().map(PathBuf::from).unwrap_or_default()
    }
}

fn text_option(opts: &Map, name: &str) -> Option<String> {
    opts.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn path_option(opts: &Map, name: &str, default: &str) -> PathBuf {
    text_option(opts, name)
        .unwrap_or_else(|| default.to_owned())
        .into()
}
