//! A few threads for work that would delay the network: RSA, AES and files.
//!
//! Invariant: waiting work is bounded in number, in bytes and in time, and taken in
//! turns from its senders. A request that its sender has given up is dropped, not
//! answered, because answering late would make everything behind it late as well.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use halite_process::priority;
use halite_transport::fleet::Origin;

use crate::core::preferred_queue::{PreferredQueue, Rank};

/// The bounds of one lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneLimits {
    /// Threads that serve it.
    pub(crate) threads: usize,
    /// Whether these threads give way to all others of this process.
    pub(crate) gives_way: bool,
    /// Threads that one sender may keep busy; its further requests wait, and
    /// those of others go before.
    pub(crate) busy_per_origin_max: usize,
    /// Requests that may wait. Beyond it, one request of the sender with the most waiting
    /// requests is dropped; if that is the sender of the new one, the new one is refused.
    pub(crate) waiting_max: usize,
    /// Bytes of the requests that may wait; same behaviour.
    pub(crate) bytes_max: usize,
    /// How long a request may wait before it is dropped.
    pub(crate) wait_max: Duration,
}

/// Work that can wait in a lane.
pub(crate) trait Work: Send + 'static {
    /// How much memory it holds.
    fn bytes(&self) -> usize;

    /// Whose it is: work of several is done in turns.
    fn origin(&self) -> Origin {
        Origin::Local
    }
}

/// Weight of a request beside its bytes, used to find the sender with the most waiting
/// work.
const WEIGHT: usize = 1024;

/// A job could not be taken: the lane is full or closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoom;

/// A queue with its threads.
pub(crate) struct Workers<W> {
    queue: Arc<Queue<W>>,
}

struct Queue<W> {
    state: Mutex<State<W>>,
    changed: Condvar,
    limits: LaneLimits,
}

struct State<W> {
    waiting: PreferredQueue<Origin, (Instant, W)>,
    /// How many threads each sender keeps busy, none of those without any.
    busy: HashMap<Origin, usize>,
    bytes: usize,
    /// Threads that have not ended. An idle one counts, because it keeps what `work` and
    /// `late` hold.
    threads: usize,
    closed: bool,
}

impl<W: Work> Workers<W> {
    /// Starts the threads; each calls `work` for what it takes and `late` for
    /// what has waited too long.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub(crate) fn start(
        name: &'static str,
        limits: LaneLimits,
        work: impl Fn(W) + Send + Sync + 'static,
        late: impl Fn(W) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let queue = Arc::new(Queue {
            state: Mutex::new(State {
                waiting: PreferredQueue::default(),
                busy: HashMap::new(),
                bytes: 0,
                threads: limits.threads.max(1),
                closed: false,
            }),
            changed: Condvar::new(),
            limits,
        });
        let work = Arc::new(work);
        let late = Arc::new(late);
        for _ in 0..limits.threads.max(1) {
            let (queue, work, late) = (Arc::clone(&queue), Arc::clone(&work), Arc::clone(&late));
            thread::Builder::new()
                .name(name.to_owned())
                .spawn(move || {
                    if queue.limits.gives_way {
                        priority::give_way();
                    }
                    queue.serve(&*work, &*late);
                    drop((work, late));
                    queue.leave();
                })?;
        }
        Ok(Self { queue })
    }

    /// Queues work; returns how many requests of other senders were dropped for it.
    ///
    /// # Errors
    /// When there is no room for it.
    pub(crate) fn submit(&self, work: W) -> Result<usize, NoRoom> {
        self.submit_as(Rank::Other, work)
    }

    /// Queues work before the others, or among them.
    ///
    /// # Errors
    /// When there is no room for it.
    pub(crate) fn submit_as(&self, rank: Rank, work: W) -> Result<usize, NoRoom> {
        let limits = &self.queue.limits;
        let (from, bytes) = (work.origin(), work.bytes());
        let weight = bytes.saturating_add(WEIGHT);
        let mut state = self.queue.lock();
        if state.closed {
            return Err(NoRoom);
        }
        let mut given_up = Vec::new();
        while !state.has_room_for(bytes, limits) {
            let Some((_, other)) = state.waiting.give_up_for(rank, from, weight) else {
                return Err(NoRoom);
            };
            state.bytes = state.bytes.saturating_sub(other.bytes());
            given_up.push(other);
        }
        state.bytes = state.bytes.saturating_add(bytes);
        state
            .waiting
            .push(rank, from, weight, (Instant::now(), work));
        drop(state);
        self.queue.changed.notify_one();
        Ok(given_up.len())
    }

    /// How much is done at most before the next work of a sender that is not preferred.
    pub(crate) fn ahead_of(&self, from: Origin) -> usize {
        self.queue.lock().waiting.ahead_of(from)
    }

    /// How much waits.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.lock().waiting.len()
    }

    /// Accepts no more work, and waits until the queued work is done and all threads have
    /// ended; false if they have not by `deadline`.
    pub(crate) fn drain(&self, deadline: Instant) -> bool {
        let mut state = self.queue.lock();
        state.closed = true;
        self.queue.changed.notify_all();
        while state.threads > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self
                .queue
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        true
    }
}

impl<W> State<W> {
    fn has_room_for(&self, bytes: usize, limits: &LaneLimits) -> bool {
        // One that is larger than the bound on its own must pass some time.
        let fits = self.bytes.saturating_add(bytes) <= limits.bytes_max;
        self.waiting.len() < limits.waiting_max && (fits || self.waiting.is_empty())
    }
}

impl<W: Work> Queue<W> {
    fn serve(&self, work: &(dyn Fn(W) + Send + Sync), late: &(dyn Fn(W) + Send + Sync)) {
        while let Some((since, item)) = self.take() {
            let from = item.origin();
            let is_late = since.elapsed() > self.limits.wait_max;
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                if is_late { late(item) } else { work(item) }
            }));
            if outcome.is_err() {
                tracing::error!("a request handler panicked; its sender gets no answer");
            }
            self.release(from);
        }
    }

    fn take(&self) -> Option<(Instant, W)> {
        let mut state = self.lock();
        loop {
            let State { waiting, busy, .. } = &mut *state;
            let max = self.limits.busy_per_origin_max;
            let next = waiting.pop_of(|from| busy.get(from).is_none_or(|busy| *busy < max));
            if let Some((since, item)) = next {
                *busy.entry(item.origin()).or_default() += 1;
                state.bytes = state.bytes.saturating_sub(item.bytes());
                return Some((since, item));
            }
            // What a sender has to wait with is done by the threads it keeps busy.
            if state.closed {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A thread is no longer busy with work of `from`.
    fn release(&self, from: Origin) {
        let mut state = self.lock();
        match state.busy.get_mut(&from) {
            Some(busy) if *busy > 1 => *busy -= 1,
            _ => drop(state.busy.remove(&from)),
        }
        let has_more = !state.waiting.is_empty();
        drop(state);
        if has_more {
            // It may be what an idle thread had to leave.
            self.changed.notify_one();
        }
    }

    fn leave(&self) {
        self.lock().threads -= 1;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W> Drop for Workers<W> {
    fn drop(&mut self) {
        let mut state = self
            .queue
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        state.closed = true;
        state.waiting.clear();
        drop(state);
        self.queue.changed.notify_all();
    }
}
