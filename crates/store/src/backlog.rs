//! Writes that a server has not accepted yet: they wait on disk, across restarts of the
//! process, and a thread of their own sends them to the server in order until all are
//! stored.
//!
//! Invariants: a pushed write is stored, pending, or counted as dropped by the
//! spool; while something is pending, later writes wait behind it. A write that the
//! server refuses although it takes others is set aside and tried again later, so
//! that it does not delay the rest.

mod state;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use halite_spool::{Limits, Moment, Pending, Spool, SpoolError, Unsynced};

use self::state::{State, Verdict};
use crate::error::{StoreError, chain};
use crate::limits::{
    WAITING_BYTES_MAX, WAITING_COUNT_MAX, WAITING_END_MAX, WAITING_PAUSE_FIRST, WAITING_PAUSE_MAX,
    WAITING_REFUSED_BYTES_MAX,
};

/// Nothing grows too old: somebody waits for it.
const AGE_MAX: Duration = Duration::from_secs(365 * 24 * 3600);

/// The destination of writes that have waited.
pub(crate) trait Destination: Send + Sync + 'static {
    /// Where that is, for the log.
    fn place(&self) -> String;

    /// Stores what has waited, in order, and says of each what came of it. It
    /// may give fewer answers, from the first one on, when the server is away.
    fn deliver(&self, waiting: &[Pending]) -> Vec<Result<(), StoreError>>;

    /// Something is stored, and waits no longer.
    fn delivered(&self, _sequence: u64) {}

    /// Parts of what is refused, of which the server may take some: they wait in
    /// its place. `None` for what cannot be parted.
    fn parted(&self, _payload: &[u8]) -> Option<[Vec<u8>; 2]> {
        None
    }
}

/// The state of the writes that wait for a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waits {
    /// How much waits, that which was refused included.
    pub count: usize,
    /// Its size on disk in bytes.
    pub bytes: u64,
    /// Since when; `None` if nothing does.
    pub since: Option<SystemTime>,
    /// How much of it the server has refused although it takes others.
    pub refused: usize,
    /// Why the server did not take it the last time it was tried.
    pub reason: Option<String>,
    /// How long the oldest of it has waited; `None` if nothing does.
    pub oldest: Option<Duration>,
    /// How much found no room, or was not taken by the disk, since this was opened.
    pub turned_away: u64,
    /// How much had its place and was lost since then: the disk does not give it back.
    pub dropped: u64,
}

/// The writes that wait for one server.
#[derive(Debug)]
pub(crate) struct Backlog {
    shared: Arc<Shared>,
    /// Receives a message when the thread has ended.
    ended: Mutex<Receiver<()>>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    place: String,
}

impl Backlog {
    /// Opens what waits in a directory. `found` is shown all of it; the thread
    /// that stores it ends when this is dropped.
    pub(crate) fn open<D: Destination>(
        dir: &Path,
        destination: &Arc<D>,
        mut found: impl FnMut(&Pending),
    ) -> Result<Self, SpoolError> {
        let limits = Limits {
            bytes_max: WAITING_BYTES_MAX + WAITING_REFUSED_BYTES_MAX,
            age_max: AGE_MAX,
        };
        let mut spool = Spool::open(dir, limits, Moment::now())?;
        let mut since = None;
        let mut after = 0;
        while let Some(pending) = spool.pending(Moment::now(), after, 1).pop() {
            if since.is_none() {
                let begun = SystemTime::now().checked_sub(pending.age);
                since = Some((begun.unwrap_or(SystemTime::UNIX_EPOCH), Instant::now()));
            }
            after = pending.sequence;
            found(&pending);
        }
        let shared = Arc::new(Shared {
            state: Mutex::new(State::new(spool, since, WAITING_COUNT_MAX)),
            changed: Condvar::new(),
            place: destination.place(),
        });
        let (given, to) = (Arc::clone(&shared), Arc::clone(destination));
        let (ends, ended) = channel();
        let thread = thread::Builder::new()
            .name("store-waiting".to_owned())
            .spawn(move || {
                given.run(&*to);
                // Nobody may wait for it.
                let _ = ends.send(());
            });
        thread.map_err(|source| SpoolError::Open {
            path: dir.to_owned(),
            source,
        })?;
        let ended = Mutex::new(ended);
        Ok(Self { shared, ended })
    }

    /// Whether what comes now can be stored at once.
    pub(crate) fn is_idle(&self) -> bool {
        !self.shared.lock().has_next()
    }

    /// Queues a write and returns its number; `None` if there is no room or the disk does
    /// not accept it.
    pub(crate) fn push(&self, payload: &[u8], why: &str) -> Option<u64> {
        let mut state = self.shared.lock();
        if !state.has_room(payload.len()) {
            state.turned_away += 1;
            return None;
        }
        let sequence = match state.spool.append(Moment::now(), payload) {
            Ok(sequence) => sequence,
            Err(error) => {
                tracing::error!(%error, "could not write to the spool of the store");
                state.turned_away += 1;
                return None;
            }
        };
        if state.since.is_none() {
            state.since = Some((SystemTime::now(), Instant::now()));
            state.stored = 0;
            tracing::warn!(
                store = %self.shared.place, why,
                "the store is unavailable: writes are kept on disk until it accepts them"
            );
        }
        self.shared.changed.notify_all();
        Some(sequence)
    }

    /// Something that waits, if it still does.
    pub(crate) fn get(&self, sequence: u64) -> Option<Vec<u8>> {
        let mut state = self.shared.lock();
        let found = state
            .spool
            .pending(Moment::now(), sequence.saturating_sub(1), 1);
        let found = found.into_iter().find(|found| found.sequence == sequence)?;
        Some(found.payload)
    }

    /// The state of the waiting writes.
    pub(crate) fn waits(&self) -> Waits {
        let state = self.shared.lock();
        Waits {
            count: state.spool.len(),
            bytes: state.spool.bytes(),
            since: state.since.map(|(wall, _)| wall),
            refused: state.refused(),
            reason: state.reason.clone(),
            oldest: state.spool.oldest_age(Moment::now()),
            turned_away: state.turned_away,
            dropped: state.spool.dropped().total(),
        }
    }
}

impl Drop for Backlog {
    fn drop(&mut self) {
        self.shared.lock().is_closing = true;
        self.shared.changed.notify_all();
        // Longer than that a server that is slow is not waited for: what was given
        // to it and is stored is known by it.
        let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _ = ended.recv_timeout(WAITING_END_MAX);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, to: &impl Destination) {
        let mut pause = Duration::ZERO;
        while let Some(waiting) = self.wait(pause) {
            let outcomes = to.deliver(&waiting);
            pause = match self.settle(to, &waiting, outcomes) {
                true => Duration::ZERO,
                false => (pause * 2).clamp(WAITING_PAUSE_FIRST, WAITING_PAUSE_MAX),
            };
            self.say_what_waits();
        }
    }

    /// Says now and then how much waits, and why.
    fn say_what_waits(&self) {
        let mut state = self.lock();
        if let Some(waited) = state.due_to_tell(Instant::now()) {
            let (count, bytes, seconds) =
                (state.spool.len(), state.spool.bytes(), waited.as_secs());
            tracing::warn!(
                store = %self.place, count, bytes, seconds,
                why = state.reason.as_deref().unwrap_or_default(),
                "writes are still kept on disk until the store accepts them"
            );
        }
    }

    /// Waits for as long as is said, and then until there is something to store;
    /// `None` at the end.
    fn wait(&self, pause: Duration) -> Option<Vec<Pending>> {
        let begun = Instant::now();
        let mut state = self.lock();
        loop {
            if state.is_closing {
                let unsynced = state.spool.to_sync();
                drop(state);
                sync(unsynced);
                return None;
            }
            let until_retry = state.retry_refused();
            let left = pause.saturating_sub(begun.elapsed());
            if left.is_zero() && state.has_next() {
                return Some(state.next());
            }
            let limit = match left.is_zero() {
                false => left,
                true => until_retry,
            };
            let (again, _) = self
                .changed
                .wait_timeout(state, limit)
                .unwrap_or_else(PoisonError::into_inner);
            state = again;
        }
    }

    /// Forgets what is stored. Whether the next can follow at once: something was
    /// stored, or refused by a server that takes others.
    fn settle(
        &self,
        to: &impl Destination,
        waiting: &[Pending],
        outcomes: Vec<Result<(), StoreError>>,
    ) -> bool {
        let taken = outcomes.iter().filter(|outcome| outcome.is_ok()).count() as u64;
        let mut goes_on = taken > 0;
        let mut stored = Vec::new();
        let mut state = self.lock();
        state.pass(waiting, &outcomes);
        for (pending, outcome) in waiting.iter().zip(outcomes) {
            let sequence = pending.sequence;
            match outcome {
                Ok(()) => {
                    state.forgive(sequence);
                    state.stored += 1;
                    acknowledge(&mut state, sequence);
                    stored.push(sequence);
                }
                Err(error) => {
                    state.reason = Some(chain(&error));
                    if error.may_be_its_own_fault() {
                        let verdict = state.refuse(sequence, taken, !error.is_answer());
                        goes_on |= verdict != Verdict::Unproven;
                        if verdict == Verdict::Hopeless {
                            self.give_up(&mut state, to, pending, &error);
                        }
                    }
                }
            }
        }
        let unsynced = self.tidy(&mut state);
        drop(state);
        // Whoever lets something wait does not wait for the disk.
        sync(unsynced);
        for sequence in stored {
            to.delivered(sequence);
        }
        goes_on
    }

    /// Tidies up, and gives what the disk may not have yet.
    fn tidy(&self, state: &mut State) -> Option<Unsynced> {
        if let Err(error) = state.spool.tidy_some() {
            tracing::warn!(%error, "could not tidy the spool of the store");
        }
        if state.spool.is_empty() {
            state.reason = None;
            if let Some((_, begun)) = state.since.take() {
                let (count, seconds) = (state.stored, begun.elapsed().as_secs());
                tracing::warn!(
                    store = %self.place, count, seconds,
                    "the store has accepted all writes that were kept on disk"
                );
            }
        }
        state.spool.to_sync()
    }

    /// Parts what the server refuses although it takes others, or sets it aside.
    fn give_up(
        &self,
        state: &mut State,
        to: &impl Destination,
        pending: &Pending,
        error: &StoreError,
    ) {
        let sequence = pending.sequence;
        if let Some(parts) = to.parted(&pending.payload) {
            // Both are on disk before the whole is not: the server knows parts that
            // come twice.
            let are_there = parts.iter().all(|part| {
                state.has_room(part.len()) && state.spool.append(Moment::now(), part).is_ok()
            });
            if are_there {
                state.forgive(sequence);
                acknowledge(state, sequence);
                return;
            }
        }
        state.set_aside(sequence, pending.payload.len());
        tracing::error!(
            store = %self.place,
            sequence,
            "the store refuses this write but accepts others: set the write aside: {}",
            chain(error)
        );
    }
}

fn sync(unsynced: Option<Unsynced>) {
    if let Err(error) = unsynced.map_or(Ok(()), Unsynced::sync) {
        tracing::warn!(%error, "writes in the spool of the store may not survive a power failure");
    }
}

fn acknowledge(state: &mut State, sequence: u64) {
    if let Err(error) = state.spool.acknowledge_untidily(sequence) {
        tracing::warn!(%error, "a write may be stored twice after a restart");
    }
}
