//! `engines`: custom Python code that runs beside the master as long as the master
//! does, with its functions and runners. In a cluster one master runs them, and
//! another one when that is gone.
//!
//! Invariant: the events of an engine go to the bus of this master.

use std::sync::Arc;
use std::time::{Duration, Instant};

use halite_call::{
    Commander, ContextError, Daemon, Files, Jobs, LocalBus, MasterBus, MinionContext,
    PillarRequest, Recall, Refresh, Registry, Runners, Upstream,
    extensions::{Engine, Engines, engines},
};
use halite_pillar::MasterlessContext;
use halite_proto::{Map, Value};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

use crate::cluster::Cluster;
use crate::events::bus::Bus;
use crate::functions::Functions;
use crate::limits::{ENGINES_PAUSE_MAX, ENGINES_PAUSE_MIN, LEAD_EVERY};
use crate::master::Master;

/// The engines that the options name.
///
/// # Errors
/// When the option is malformed.
pub(crate) fn read(option: &Value) -> Result<Vec<Engine>, String> {
    engines(option)
}

/// The task that runs the engines.
pub(crate) struct Running {
    task: JoinHandle<()>,
    end: oneshot::Sender<()>,
}

impl Running {
    /// Ends the engines. It waits for threads of theirs.
    pub(crate) async fn stop(self) {
        let _ = self.end.send(());
        let _ = self.task.await;
    }
}

/// Starts the engines, or the task that waits until this master is to run them; `None` if
/// there are no engines.
pub(crate) fn start(engines: Vec<Engine>, master: &Master) -> Option<Running> {
    if engines.is_empty() {
        return None;
    }
    let ctx: Arc<dyn MinionContext> = Arc::new(EngineContext {
        functions: Arc::clone(&master.functions),
        bus: Arc::clone(&master.bus),
    });
    let (end, ended) = oneshot::channel();
    let task = tokio::spawn(run(engines, ctx, master.cluster.clone(), ended));
    Some(Running { task, end })
}

/// Runs the engines while this master is the one to run them.
async fn run(
    engines: Vec<Engine>,
    ctx: Arc<dyn MinionContext>,
    cluster: Option<Arc<Cluster>>,
    mut ended: oneshot::Receiver<()>,
) {
    let leads = || cluster.as_ref().is_none_or(|cluster| cluster.leads());
    let mut running = None;
    let mut failures = Failures::default();
    loop {
        match (leads(), running.take()) {
            (true, None) if failures.may_try(Instant::now()) => {
                match Engines::start(engines.clone(), "master", &ctx) {
                    Ok(engines) => {
                        if cluster.is_some() {
                            tracing::info!("the engines of the cluster run here");
                        }
                        failures = Failures::default();
                        running = Some(engines);
                    }
                    Err(error) => {
                        if failures.record_failure(Instant::now(), error.to_string()) {
                            tracing::error!("engines could not be started: {error}");
                        }
                    }
                }
            }
            (false, Some(engines)) => {
                tracing::info!("the engines of the cluster run on another master");
                stop(engines).await;
            }
            (_, now) => running = now,
        }
        let is_over = match cluster {
            Some(_) => timeout(LEAD_EVERY, &mut ended).await.is_ok(),
            None => (&mut ended).await.map_or(true, |()| true),
        };
        if is_over {
            break;
        }
    }
    if let Some(engines) = running {
        stop(engines).await;
    }
}

/// Starts that have failed one after the other.
#[derive(Debug, Default)]
struct Failures(Option<Failed>);

#[derive(Debug)]
struct Failed {
    next: Instant,
    pause: Duration,
    why: String,
}

impl Failures {
    fn may_try(&self, now: Instant) -> bool {
        self.0.as_ref().is_none_or(|failed| now >= failed.next)
    }

    /// Records a failed start; returns whether the reason differs from the last one.
    fn record_failure(&mut self, now: Instant, why: String) -> bool {
        let last = self.0.take();
        let is_new = last.as_ref().is_none_or(|last| last.why != why);
        let pause = last.map_or(ENGINES_PAUSE_MIN, |last| {
            (last.pause * 2).min(ENGINES_PAUSE_MAX)
        });
        self.0 = Some(Failed {
            next: now + pause,
            pause,
            why,
        });
        is_new
    }
}

/// Ends engines. Their processes are dead at once, and the threads waited for.
async fn stop(engines: Engines) {
    engines.kill();
    let _ = spawn_blocking(move || drop(engines)).await;
}

/// The master, as the functions that an engine calls see it.
struct EngineContext {
    functions: Arc<Functions>,
    bus: Arc<Bus>,
}

impl EngineContext {
    fn context(&self) -> &MasterlessContext {
        self.functions.context()
    }
}

impl MinionContext for EngineContext {
    fn opts(&self) -> &Map {
        self.context().opts()
    }

    fn registry(&self) -> &'static Registry {
        self.context().registry()
    }

    fn grains(&self) -> Arc<Map> {
        self.context().grains()
    }

    fn pillar(&self) -> Arc<Map> {
        self.context().pillar()
    }

    fn compile_pillar(&self, request: &PillarRequest) -> Result<Map, ContextError> {
        self.context().compile_pillar(request)
    }

    fn refresh(&self, what: Refresh, wait: Option<u64>) -> Result<bool, ContextError> {
        self.context().refresh(what, wait)
    }

    fn recall(&self) -> Option<&Recall> {
        None
    }

    fn files(&self) -> &dyn Files {
        self.context().files()
    }

    fn upstream(&self) -> Result<&dyn Upstream, ContextError> {
        Err(ContextError::NoMaster)
    }

    fn master_bus(&self) -> Result<&dyn MasterBus, ContextError> {
        Ok(&*self.bus)
    }

    fn local_bus(&self) -> Option<&dyn LocalBus> {
        Some(&*self.bus)
    }

    fn jobs(&self) -> Option<&dyn Jobs> {
        None
    }

    fn daemon(&self) -> Option<&dyn Daemon> {
        None
    }

    fn runners(&self) -> Result<&dyn Runners, ContextError> {
        self.context().runners()
    }

    fn commander(&self, what: &'static str) -> Result<&dyn Commander, ContextError> {
        Err(ContextError::Unsupported { what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_that_cannot_be_started_are_tried_less_and_less_and_said_once() {
        let now = Instant::now();
        let mut failures = Failures::default();
        assert!(failures.may_try(now));
        assert!(failures.record_failure(now, "no module".to_owned()));
        assert!(!failures.may_try(now));
        let later = now + ENGINES_PAUSE_MIN;
        assert!(failures.may_try(later));
        assert!(!failures.record_failure(later, "no module".to_owned()));
        assert!(!failures.may_try(later + ENGINES_PAUSE_MIN));
        assert!(failures.record_failure(later, "another reason".to_owned()));
        assert!(failures.may_try(later + ENGINES_PAUSE_MAX));
    }
}
