//! The minion as the functions of a job see it. Functions run on job threads,
//! so every call here may block.

pub(crate) mod daemon_bus;
mod every;
mod facets;
mod line;
pub mod local;
pub(crate) mod pillar;

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use halite_call::{
    Commander, ContextError, Daemon, Files, Jobs, LocalBus, MasterBus, MinionContext,
    PillarRequest, Recall, Refresh, Registry, Runners, Upstream,
};
use halite_proto::{Map, Value};
use halite_transport::fleet::RequestError;
use tracing::debug;

pub(crate) use self::every::others_signed_in;
use self::line::{FirstMaster, Line};
use crate::core::sign_in::chain;
use crate::link::channel::{Channel, ChannelError};
use crate::minion::{Answer, Master, Minion};

/// Which masters the requests of a job go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// The master that published the job; if it cannot be reached, any connected one for
    /// files and pillar.
    Bound(usize),
    /// This one while it answers, else any live one (`salt-call`).
    Prefer(usize),
    /// Any connected one in turn (for the minion's own tasks).
    Any,
}

/// A request for every master, with the masters that have had it.
#[derive(Debug, Default)]
pub(crate) struct Round {
    answered: Mutex<BTreeSet<usize>>,
}

impl Round {
    /// Whether the master has answered for it.
    pub(crate) fn has(&self, master: usize) -> bool {
        self.answered().contains(&master)
    }

    /// The master has it.
    pub(crate) fn record(&self, master: usize) {
        self.answered().insert(master);
    }

    fn answered(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        self.answered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The minion, as one job sees it.
pub(crate) struct JobContext {
    minion: Arc<Minion>,
    route: Route,
    /// What was learnt about the first master.
    first: Arc<FirstMaster>,
    /// A request for every master goes to those that have not had it yet.
    round: Option<Arc<Round>>,
}

impl JobContext {
    /// The context of a job.
    pub(crate) fn new(minion: Arc<Minion>, route: Route) -> Self {
        Self {
            minion,
            route,
            first: Arc::default(),
            round: None,
        }
    }

    /// Sends requests to every master that has not had them yet, and records which have.
    pub(crate) fn within(mut self, round: &Arc<Round>) -> Self {
        self.round = Some(Arc::clone(round));
        self
    }

    /// The master that has published this job.
    fn asker(&self) -> Option<&str> {
        let Route::Bound(master) = self.route else {
            return None;
        };
        let master = self.minion.masters.get(master);
        master.map(|master| master.name.as_str())
    }

    /// The masters to which a request of this job may go, best first. A request that only
    /// reads may go to any master.
    fn order(&self, reads: bool) -> Vec<usize> {
        let first = match self.route {
            Route::Bound(master) if !reads => return vec![master],
            Route::Bound(first) | Route::Prefer(first) => first,
            Route::Any => return self.minion.turn(),
        };
        let mut order = vec![first];
        order.extend(self.minion.live_besides(first));
        let is_ready = |master: &usize| {
            self.minion
                .masters
                .get(*master)
                .is_some_and(Master::is_ready)
        };
        if is_ready(&first) {
            self.first.gone.store(false, Ordering::Relaxed);
        } else if self.first.gone.load(Ordering::Relaxed) {
            order.sort_by_key(|master| !is_ready(master));
        }
        if self.first.silent.load(Ordering::Relaxed) {
            order.sort_by_key(|master| *master == first);
        }
        order
    }

    /// Asks one master after the other until one answers.
    fn ask<T, F>(
        &self,
        reads: bool,
        once: impl FnMut(Channel) -> F + Send + 'static,
    ) -> Result<T, ContextError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ChannelError>> + Send + 'static,
    {
        let asked = self.line(reads).ask(once);
        self.minion.wait(asked).ok_or_else(stopping)?
    }

    /// The masters to ask, in their order.
    fn line(&self, reads: bool) -> Line {
        Line::new(
            Arc::clone(&self.minion),
            self.order(reads),
            reads || !matches!(self.route, Route::Bound(_)),
            Arc::clone(&self.first),
        )
    }

    /// Fires the answer of the schedule or the beacons to a job on the local bus, as if
    /// the request had come from there, and returns it.
    fn fire_and_return(&self, answer: Answer) -> Result<Map, ContextError> {
        let (tag, answer) = answer.map_err(ContextError::Other)?;
        if let Err(error) = self.minion.fire_local(tag, answer.clone()) {
            debug!(tag, error, "could not fire an event on the local bus");
        }
        Ok(answer)
    }

    /// Notifies the minion daemon on this machine, if there is one.
    fn ask_daemon_to(&self, tag: &'static str) {
        if let Some(bus) = self.minion.daemon_bus.clone() {
            let told = async move { daemon_bus::tell(&bus, tag, Map::new()).await };
            if let Some(Err(error)) = self.minion.wait(told) {
                debug!(tag, %error, "could not notify the minion daemon");
            }
        }
    }

    /// The master whose pillar this job sees: its own, else the first that is
    /// ready.
    fn pillar_master(&self) -> Option<usize> {
        let masters = &self.minion.masters;
        match self.route {
            Route::Bound(master) | Route::Prefer(master) => Some(master),
            Route::Any => masters
                .iter()
                .position(Master::is_ready)
                .or_else(|| (!masters.is_empty()).then_some(0)),
        }
    }
}

impl MinionContext for JobContext {
    fn opts(&self) -> &Map {
        self.minion.opts_at(self.pillar_master())
    }

    fn registry(&self) -> &'static Registry {
        self.minion.functions
    }

    fn grains(&self) -> Arc<Map> {
        self.minion.grains_at(self.pillar_master())
    }

    fn pillar(&self) -> Arc<Map> {
        if let Some(own) = &self.minion.own_files {
            return own.pillar(self);
        }
        match self.pillar_master() {
            Some(master) => {
                let minion = Arc::clone(&self.minion);
                let first = async move { minion.first_pillar(master).await };
                self.minion.wait(first).unwrap_or_default()
            }
            None => Arc::default(),
        }
    }

    fn compile_pillar(&self, request: &PillarRequest) -> Result<Map, ContextError> {
        if let Some(own) = &self.minion.own_files {
            return Ok(own.compile(self, request));
        }
        let minion = &self.minion;
        let load = pillar::request(&minion.id, &self.grains(), &minion.opts, request);
        let patience = minion.patience;
        let reply = self.ask(true, move |channel| {
            let load = load.clone();
            async move { channel.request_private(load, patience).await }
        })?;
        match reply {
            Value::Map(pillar) => Ok(pillar),
            _ => Err(ContextError::Refused {
                why: "the pillar is not a map".to_owned(),
            }),
        }
    }

    fn refresh(&self, what: Refresh, wait: Option<u64>) -> Result<bool, ContextError> {
        match what {
            Refresh::Grains | Refresh::Pillar { .. } => {
                self.minion.refresh_grains();
                if let Some(own) = &self.minion.own_files {
                    own.refresh();
                    return Ok(true);
                }
                let clean_cache = what == Refresh::Pillar { clean_cache: true };
                pillar::refresh_all(&self.minion, wait.map(Duration::from_secs), clean_cache)
            }
            Refresh::Beacons => {
                match self.minion.beacons.get().and_then(Weak::upgrade) {
                    Some(beacons) => beacons.forget(),
                    None => self.ask_daemon_to("beacons_refresh"),
                }
                Ok(true)
            }
            // Built in: there is nothing to load again.
            Refresh::Modules => {
                let done = Map::from([("complete", true)]);
                // That nobody hears it does not make it untrue.
                let _ = self.fire_local("/salt/minion/minion_mod_refresh_complete", done);
                Ok(true)
            }
            Refresh::Matchers => Ok(true),
        }
    }

    fn recall(&self) -> Option<&Recall> {
        self.minion.scheduler.get().map(|_| &self.minion.recall)
    }

    fn files(&self) -> &dyn Files {
        match &self.minion.own_files {
            Some(own) => own.files(),
            None => self,
        }
    }

    fn upstream(&self) -> Result<&dyn Upstream, ContextError> {
        Ok(self)
    }

    fn master_bus(&self) -> Result<&dyn MasterBus, ContextError> {
        Ok(self)
    }

    fn local_bus(&self) -> Option<&dyn LocalBus> {
        Some(self)
    }

    fn jobs(&self) -> Option<&dyn Jobs> {
        Some(self)
    }

    fn daemon(&self) -> Option<&dyn Daemon> {
        Some(self)
    }

    fn runners(&self) -> Result<&dyn Runners, ContextError> {
        Err(ContextError::NoRunners)
    }

    fn commander(&self, what: &'static str) -> Result<&dyn Commander, ContextError> {
        Err(ContextError::Unsupported { what })
    }
}

/// The files of the masters.
/// The request that puts an event on a master's bus.
pub(crate) fn event_request(minion: &Minion, tag: &str, data: Value) -> Map {
    Map::from([
        ("id", Value::from(&minion.id)),
        ("cmd", "_minion_event".into()),
        ("pretag", Value::Nil),
        ("data", data),
        ("tag", tag.into()),
    ])
}

/// The same in the form of `salt-call` and of runs of states.
fn event(minion: &Minion, tag: &str, data: Value) -> Map {
    Map::from([
        ("id", Value::from(&minion.id)),
        ("tag", tag.into()),
        ("data", data),
        ("cmd", "_minion_event".into()),
    ])
}

/// The error for a job thread that outlives the async runtime.
pub(crate) fn stopping() -> ContextError {
    ContextError::Other("the minion is stopping".to_owned())
}

/// The error that a function gets for a failed request.
pub(crate) fn context_error(error: ChannelError) -> ContextError {
    match error {
        ChannelError::NotSignedIn => ContextError::NoMaster,
        ChannelError::Request(RequestError::NoAnswer { waited, .. }) => ContextError::TimedOut {
            seconds: waited.as_secs(),
        },
        error => ContextError::Refused { why: chain(&error) },
    }
}
