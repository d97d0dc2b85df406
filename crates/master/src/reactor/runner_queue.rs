//! Runners that reactions call for and that wait for a place.
//!
//! Invariant: no runner is dropped because others run just then, and none that waits
//! holds up a reaction of another kind. They wait in a queue with bounds of its own.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use halite_proto::msgpack::{Packing, packed_len};

use super::ReactionOrigin;
use crate::error::chain;
use crate::limits::REACTION_RUNNER_WAIT_MAX;
use crate::runner::{self, Asked, NotStarted, Runners};
use crate::workers::{LaneLimits, Work, Workers};

/// Threads that start them: a store may take its time for each job id.
const THREADS: usize = 4;

/// Bytes of the arguments that wait.
const WAITING_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A runner that waits.
pub(super) struct Waiting {
    asked: Asked,
    origin: ReactionOrigin,
    deadline: Instant,
    bytes: usize,
}

impl Waiting {
    pub(super) fn new(asked: Asked, origin: ReactionOrigin) -> Self {
        let args = asked.args.iter();
        let values = args.chain(asked.kwargs.values());
        let bytes = values.map(|value| packed_len(value, Packing::Modern)).sum();
        Self {
            asked,
            origin,
            deadline: Instant::now() + REACTION_RUNNER_WAIT_MAX,
            bytes,
        }
    }
}

impl Work for Waiting {
    fn bytes(&self) -> usize {
        self.bytes
    }
}

/// The queue of those that wait.
pub(super) struct RunnerQueue(Workers<Waiting>);

impl RunnerQueue {
    /// An empty queue for so many.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub(super) fn start(runners: &Arc<Runners>, waiting_max: usize) -> io::Result<Self> {
        let limits = LaneLimits {
            threads: THREADS,
            gives_way: false,
            busy_per_origin_max: usize::MAX,
            waiting_max: waiting_max.max(1),
            bytes_max: WAITING_BYTES_MAX,
            wait_max: REACTION_RUNNER_WAIT_MAX,
        };
        let runners = Arc::clone(runners);
        let is_closed = AtomicBool::new(false);
        let start = move |waiting: Waiting| start_runner(&runners, waiting, &is_closed);
        let late = |waiting: Waiting| {
            let why = chain(&NotStarted::NoPlace);
            waiting.origin.failed(&waiting.asked.fun, &why);
        };
        Workers::start("reactor-runner", limits, start, late).map(Self)
    }

    /// Starts a runner when its turn comes.
    pub(super) fn submit(&self, waiting: Waiting) {
        let (fun, origin) = (waiting.asked.fun.clone(), waiting.origin.clone());
        if self.0.submit(waiting).is_err() {
            origin.failed(
                &fun,
                "too many runners of reactions are waiting (see reactor_worker_hwm)",
            );
        }
    }
}

fn start_runner(runners: &Arc<Runners>, waiting: Waiting, is_closed: &AtomicBool) {
    let Waiting {
        asked,
        origin,
        deadline,
        ..
    } = waiting;
    let fun = asked.fun.clone();
    match runner::start_for_reaction(runners, asked, deadline) {
        Ok(()) => {}
        // Of the many that may wait, one line tells.
        Err(NotStarted::Closed) if is_closed.swap(true, Ordering::Relaxed) => {}
        Err(error) => origin.failed(&fun, &chain(&error)),
    }
}
