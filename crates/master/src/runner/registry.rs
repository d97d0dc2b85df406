//! The running runners: which ones run, and how one is ended.
//!
//! Invariant: a place is given back once, by the runner that ends or by the caller
//! that no longer waits for its end.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use halite_proto::Jid;
use tokio::runtime::Handle;
use tokio::time::sleep;

use super::places::{Place, Places};
use super::{NotStarted, Run, Runners};
use crate::jobs::stop::Why;
use crate::limits::{
    RUNNER_STOP_GRACE, RUNNERS_ABANDONED_MAX, RUNNERS_MAX, RUNNERS_OF_REACTIONS_MAX,
    RUNNERS_RESERVED_MAX,
};

/// Runners that have places of their own: they help when all others are taken.
const RESERVED: [&str; 2] = ["jobs.kill", "jobs.master"];

/// The runners that run.
pub(crate) struct Registry {
    places: Arc<Places>,
    /// Kept for looking at runners and ending them.
    reserved: Arc<Places>,
    abandoned: AtomicUsize,
    known: Mutex<Known>,
    runtime: OnceLock<Handle>,
}

#[derive(Default)]
struct Known {
    next: u64,
    runs: HashMap<u64, Arc<Run>>,
    is_closed: bool,
}

impl Registry {
    /// None run.
    pub(crate) fn new() -> Self {
        Self {
            places: Places::new(RUNNERS_MAX),
            reserved: Places::new(RUNNERS_RESERVED_MAX),
            abandoned: AtomicUsize::new(0),
            known: Mutex::default(),
            runtime: OnceLock::new(),
        }
    }

    /// Hands over the runtime whose timers runners wait with.
    pub(crate) fn open(&self, runtime: Handle) {
        let _ = self.runtime.set(runtime);
    }

    /// The runtime, once there is one.
    pub(crate) fn runtime(&self) -> Result<Handle, NotStarted> {
        self.runtime.get().cloned().ok_or(NotStarted::Closed)
    }

    /// A place for a function, if there is one.
    pub(super) fn place_for(&self, fun: &str) -> Result<Place, NotStarted> {
        match RESERVED.contains(&fun) {
            true => self.reserved.take(),
            false => self.places.take(),
        }
    }

    /// The same for a reaction, which leaves some to people. Blocks until there is one.
    ///
    /// # Errors
    /// When there is none until `deadline`, or the master stops.
    pub(super) fn place_for_reaction(
        &self,
        fun: &str,
        deadline: Instant,
    ) -> Result<Place, NotStarted> {
        match RESERVED.contains(&fun) {
            true => self.reserved.wait_below(RUNNERS_RESERVED_MAX, deadline),
            false => self.places.wait_below(RUNNERS_OF_REACTIONS_MAX, deadline),
        }
    }

    /// Stops all running runners; no others start.
    pub(crate) fn close(&self) {
        for places in [&self.places, &self.reserved] {
            places.close();
        }
        let runs: Vec<_> = {
            let mut known = self.lock();
            known.is_closed = true;
            known.runs.values().map(Arc::clone).collect()
        };
        for run in runs {
            run.stop.stop(Why::Closing);
        }
    }

    /// Lists a run until what is given is dropped.
    pub(super) fn list(runners: &Arc<Runners>, run: &Arc<Run>) -> Result<Listed, NotStarted> {
        let mut known = runners.registry.lock();
        if known.is_closed {
            return Err(NotStarted::Closed);
        }
        let number = known.next;
        known.next += 1;
        known.runs.insert(number, Arc::clone(run));
        Ok(Listed {
            runners: Arc::clone(runners),
            number,
        })
    }

    /// The runs of a job among the runners. A run whose end was announced no longer
    /// counts.
    pub(super) fn runs(&self, jid: &Jid) -> Vec<Arc<Run>> {
        let known = self.lock();
        let runs = known.runs.values();
        runs.filter(|run| run.jid == *jid && !run.stop.is_told())
            .map(Arc::clone)
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes a run from the list when it is dropped.
pub(super) struct Listed {
    runners: Arc<Runners>,
    number: u64,
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.runners.registry.lock().runs.remove(&self.number);
    }
}

/// A thread that nobody waits for any more; counted until it ends.
struct Abandoned(Arc<Runners>);

impl Abandoned {
    fn count(runners: &Arc<Runners>) -> Option<Self> {
        let abandoned = &runners.registry.abandoned;
        if abandoned.fetch_add(1, Ordering::Relaxed) >= RUNNERS_ABANDONED_MAX {
            abandoned.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        Some(Self(Arc::clone(runners)))
    }
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.registry.abandoned.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The place of a run while it runs, and whether the run was abandoned.
#[derive(Default)]
pub(super) struct Seat {
    _place: Option<Place>,
    _abandoned: Option<Abandoned>,
}

impl Seat {
    pub(super) fn of(place: Place) -> Self {
        Self {
            _place: Some(place),
            _abandoned: None,
        }
    }
}

/// Stops a run. If it does not end within a grace time it is forced to; if that does not
/// help, its end is announced and its place is freed.
pub(super) fn stop(runners: &Arc<Runners>, runtime: &Handle, run: &Arc<Run>, why: Why) {
    run.stop.stop(why);
    let (runners, run) = (Arc::clone(runners), Arc::clone(run));
    runtime.spawn(async move {
        for _ in 0..2 {
            sleep(RUNNER_STOP_GRACE).await;
            if run.stop.is_told() {
                return;
            }
            run.stop.force(why);
        }
        sleep(RUNNER_STOP_GRACE).await;
        abandon(&runners, &run);
        tracing::error!(
            jid = %run.jid,
            "the runner {} does not stop; no longer waiting for it",
            run.fun()
        );
        // Disk and bus: not on an async thread.
        let _ = tokio::task::spawn_blocking(move || run.tell_stopped(&runners, why)).await;
    });
}

/// Releases the place of a run whose thread continues.
fn abandon(runners: &Arc<Runners>, run: &Run) {
    let mut seat = run.seat();
    // Without a seat it has just ended.
    if let Some(seat) = seat.as_mut()
        && let Some(abandoned) = Abandoned::count(runners)
    {
        *seat = Seat {
            _place: None,
            _abandoned: Some(abandoned),
        };
    }
}

/// Ends a run that takes longer than it may; ends itself when dropped.
pub(super) struct Timer(Option<tokio::task::JoinHandle<()>>);

impl Timer {
    pub(super) fn start(runners: &Arc<Runners>, runtime: &Handle, run: &Arc<Run>) -> Self {
        let seconds = runners.settings.timeout_s;
        if seconds == 0 {
            return Self(None);
        }
        let (weak, run) = (Arc::downgrade(runners), Arc::downgrade(run));
        let handle = runtime.clone();
        Self(Some(runtime.spawn(async move {
            sleep(Duration::from_secs(seconds)).await;
            if let (Some(runners), Some(run)) = (weak.upgrade(), run.upgrade()) {
                tracing::error!(
                    jid = %run.jid,
                    "stopping the runner {}: it has taken longer than {seconds} s (runner_timeout)",
                    run.fun()
                );
                stop(&runners, &handle, &run, Why::Time);
            }
        })))
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if let Some(timer) = &self.0 {
            timer.abort();
        }
    }
}
