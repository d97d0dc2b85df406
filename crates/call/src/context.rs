//! What a function may request from the minion (or from `salt-call`) that runs it.
//!
//! Invariant: modules reach the network, the event bus and other jobs only through
//! this trait and its facets, so every function can be tested without a daemon.

mod commander;
mod facets;

use std::path::PathBuf;
use std::sync::Arc;

use halite_proto::{Map, Value};
use thiserror::Error;

use crate::error::CallError;
use crate::recall::Recall;
use crate::registry::Registry;

pub use commander::{
    Commander, MasterAnswer, MasterFunction, MinionReturn, MinionsAnswer, MinionsCommand, Runners,
};
pub use facets::{Ahead, Daemon, Files, Jobs, LocalBus, MasterBus, Upstream};

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
    /// The function runs in no master.
    #[error(
        "runners run in a master: publish.runner asks one, and so does salt-run on its machine"
    )]
    NoRunners,
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
}

impl From<ContextError> for CallError {
    fn from(error: ContextError) -> Self {
        Self::Command(error.to_string())
    }
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

/// The minion, as functions see it: its data, and a facet for each thing it may
/// have around it. Calls may block: functions run on job threads.
///
/// Nothing here has a default that does less than its name says: whatever
/// wraps another context names every method, or does not compile.
pub trait MinionContext: Send + Sync {
    /// The merged options (`__opts__`), defaults included, without grains and
    /// pillar.
    fn opts(&self) -> &Map;

    /// The functions there are here.
    fn registry(&self) -> &'static Registry;

    /// The current grains.
    fn grains(&self) -> Arc<Map>;

    /// The current pillar.
    fn pillar(&self) -> Arc<Map>;

    /// Has a pillar compiled (by the master, or locally with `file_client:
    /// local`); the minion's own is not replaced.
    ///
    /// # Errors
    /// When no master answers.
    fn compile_pillar(&self, request: &PillarRequest) -> Result<Map, ContextError>;

    /// Makes something new; with `wait`, returns when it is done or the
    /// seconds are over (`Ok(false)` then).
    ///
    /// # Errors
    /// When it could not be started.
    fn refresh(&self, what: Refresh, wait: Option<u64>) -> Result<bool, ContextError>;

    /// Where a process that stays keeps which files calls have read.
    fn recall(&self) -> Option<&Recall>;

    /// The file server.
    fn files(&self) -> &dyn Files;

    /// The masters.
    ///
    /// # Errors
    /// [`ContextError::NoMaster`] where there are none.
    fn upstream(&self) -> Result<&dyn Upstream, ContextError>;

    /// The event bus of the masters; on a master its own.
    ///
    /// # Errors
    /// [`ContextError::NoMaster`] where there is none.
    fn master_bus(&self) -> Result<&dyn MasterBus, ContextError>;

    /// The event bus of this machine's daemon, if it has one.
    fn local_bus(&self) -> Option<&dyn LocalBus>;

    /// The jobs on this machine, where a minion runs them.
    fn jobs(&self) -> Option<&dyn Jobs>;

    /// The minion daemon of this machine, if one runs.
    fn daemon(&self) -> Option<&dyn Daemon>;

    /// The runners, where this is a master.
    ///
    /// # Errors
    /// [`ContextError::NoRunners`] where there are none.
    fn runners(&self) -> Result<&dyn Runners, ContextError>;

    /// The fleet, where a master runs states. `what` says in the refusal what
    /// the caller wanted.
    ///
    /// # Errors
    /// [`ContextError::Unsupported`] where this is no orchestration.
    fn commander(&self, what: &'static str) -> Result<&dyn Commander, ContextError>;

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
