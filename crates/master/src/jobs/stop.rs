//! Ends what runs on the master (a runner, a job in batches) from outside: by its
//! job id, by its time limit, and when the master stops.
//!
//! Invariant: every wait within a runner waits here, so that no wait outlives the
//! order to stop; and the end of a run is reported once, by whoever claims it
//! first.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use halite_call::Cancel;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::sleep_until;

/// The signal that asks for an end, and the one that makes it.
const ASK: i32 = 15;
const FORCE: i32 = 9;

/// Why a runner is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// `jobs.kill` was called.
    Asked,
    /// It has taken longer than `runner_timeout`.
    Time,
    /// The master stops.
    Closing,
    /// Another master of the cluster continues it.
    Elsewhere,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Asked => "it was stopped by jobs.kill",
            Self::Time => "it has taken longer than runner_timeout allows",
            Self::Closing => "the master stops",
            Self::Elsewhere => "another master continues it",
        })
    }
}

/// The order to stop, shared by a runner with all that waits in it.
#[derive(Clone, Debug)]
pub(crate) struct Stop(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    why: watch::Sender<Option<Why>>,
    /// Ends the commands and the Python code that the runner has started.
    cancel: Cancel,
    is_told: AtomicBool,
    within: Mutex<Vec<Weak<Self>>>,
}

impl Stop {
    /// For a runner that was not stopped.
    pub(crate) fn new() -> Self {
        Self(Arc::new(Shared {
            why: watch::Sender::new(None),
            cancel: Cancel::default(),
            is_told: AtomicBool::new(false),
            within: Mutex::default(),
        }))
    }

    /// For a runner started by another one: it ends with that one.
    pub(crate) fn within(&self) -> Self {
        let inner = Self::new();
        let mut within = self.0.within.lock().unwrap_or_else(PoisonError::into_inner);
        within.retain(|known| known.strong_count() > 0);
        within.push(Arc::downgrade(&inner.0));
        drop(within);
        if let Some(why) = self.why() {
            inner.stop(why);
        }
        inner
    }

    /// Stops it, and all runners that it has started.
    pub(crate) fn stop(&self, why: Why) {
        self.signal(why, ASK);
    }

    /// Ends what did not heed [`Stop::stop`].
    pub(crate) fn force(&self, why: Why) {
        self.signal(why, FORCE);
    }

    fn signal(&self, why: Why, signal: i32) {
        self.0.why.send_modify(|known| {
            known.get_or_insert(why);
        });
        self.0.cancel.signal(signal);
        let within = self.0.within.lock().unwrap_or_else(PoisonError::into_inner);
        let within: Vec<_> = within.iter().filter_map(Weak::upgrade).collect();
        for inner in within {
            Self(inner).signal(why, signal);
        }
    }

    /// Why it is to end, if it is.
    pub(crate) fn why(&self) -> Option<Why> {
        *self.0.why.borrow()
    }

    /// Ends the commands and the Python code of the runner.
    pub(crate) fn cancel(&self) -> &Cancel {
        &self.0.cancel
    }

    /// Done when it is to end.
    pub(crate) async fn stopped(&self) {
        let mut why = self.0.why.subscribe();
        // The sender lives as long as this.
        let _ = why.wait_for(Option::is_some).await;
    }

    /// The right to tell of the end: true once.
    pub(crate) fn claim(&self) -> bool {
        !self.0.is_told.swap(true, Ordering::AcqRel)
    }

    /// Whether the end was announced.
    pub(crate) fn is_told(&self) -> bool {
        self.0.is_told.load(Ordering::Acquire)
    }

    /// An error if it is to end.
    pub(crate) fn check(&self) -> Result<(), Why> {
        self.why().map_or(Ok(()), Err)
    }

    /// Waits until then.
    ///
    /// # Errors
    /// When it is to end before.
    pub(crate) fn wait_until(&self, runtime: &Handle, until: Instant) -> Result<(), Why> {
        runtime.block_on(async {
            tokio::select! {
                () = sleep_until(until.into()) => {}
                () = self.stopped() => {}
            }
        });
        self.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_within_ends_with_it_and_not_the_other_way_round() {
        let outer = Stop::new();
        let inner = outer.within();
        inner.stop(Why::Asked);
        assert_eq!((inner.why(), outer.why()), (Some(Why::Asked), None));
        let other = outer.within();
        outer.stop(Why::Time);
        assert_eq!(other.why(), Some(Why::Time));
        assert_eq!(other.cancel().ended_by(), Some(ASK));
        assert_eq!(inner.why(), Some(Why::Asked));
        // One that begins too late ends at once.
        assert_eq!(outer.within().why(), Some(Why::Time));
    }

    #[test]
    fn the_end_is_told_of_once() {
        let stop = Stop::new();
        let other = stop.clone();
        assert!(!stop.is_told() && other.claim());
        assert!(stop.is_told() && !stop.claim());
    }
}
