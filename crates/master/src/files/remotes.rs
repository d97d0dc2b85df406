//! Keeping the git remotes fetched that files come from.
//!
//! Invariant: each remote has a thread of its own, so one that hangs delays
//! nothing else of the master, and no other remote unless all places of
//! [`GITFS_FETCHES_MAX`] are taken.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use halite_crypto::random_bytes;
use halite_fileserver::Changes;
use halite_git::{GitError, Repository, Updated};

use super::settings::GITFS;
use crate::error::chain;
use crate::events::bus::Bus;
use crate::files::{Files, file_changes};
use crate::limits::{GITFS_FETCHES_MAX, GITFS_FIRST_DELAY_MAX, SLOT_POLL};

/// The threads that fetch remotes. They end when it is dropped.
pub(crate) struct Fetching {
    stop: Arc<AtomicBool>,
    ends: Vec<Sender<()>>,
    threads: Vec<JoinHandle<()>>,
}

impl Fetching {
    /// Begins to fetch each remote, now and whenever its interval is over.
    pub(crate) fn start(files: &Arc<Files>, bus: &Arc<Bus>) -> Self {
        let mut this = Self {
            stop: Arc::default(),
            ends: Vec::new(),
            threads: Vec::new(),
        };
        let slots = Arc::new(Slots::new(GITFS_FETCHES_MAX));
        for repository in files.server.repositories() {
            let (files, bus) = (Arc::clone(files), Arc::clone(bus));
            let (end, ended) = channel();
            let (stop, slots) = (Arc::clone(&this.stop), Arc::clone(&slots));
            let name = "gitfs".to_owned();
            let work = move || keep_fetched(&repository, &files, &bus, &slots, &stop, &ended);
            match thread::Builder::new().name(name).spawn(work) {
                Ok(thread) => {
                    this.ends.push(end);
                    this.threads.push(thread);
                }
                Err(error) => tracing::error!("a git remote is not fetched: {error}"),
            }
        }
        this
    }

    /// Has all fetches end soon; waits for none.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Drop for Fetching {
    fn drop(&mut self) {
        self.stop();
        self.ends.clear();
        for thread in self.threads.drain(..) {
            // One that has panicked has ended too.
            let _ = thread.join();
        }
    }
}

fn keep_fetched(
    repository: &Repository,
    files: &Files,
    bus: &Bus,
    slots: &Slots,
    stop: &Arc<AtomicBool>,
    ended: &Receiver<()>,
) {
    let remote = repository.remote();
    let mut told = String::new();
    let is_known = repository.status().fetched.is_some();
    if is_known && ended.recv_timeout(first_delay(remote.update_interval)) != TIMEOUT {
        return;
    }
    while let Some(slot) = slots.take(stop) {
        let updated = repository.update(stop);
        drop(slot);
        match updated {
            Ok(updated) => {
                told.clear();
                let changes = Changes {
                    untold: Some(updated == Updated::Changed),
                    ..Changes::default()
                };
                file_changes::fire(files, bus, GITFS, changes);
            }
            Err(GitError::Stopped) => return,
            Err(error @ GitError::Locked { .. }) => tracing::debug!(%remote, "{error}"),
            Err(error) => {
                // Once, and again when something else is wrong.
                let text = chain(&error);
                if text != told {
                    tracing::error!(%remote, "could not update a git remote: {text}");
                    told = text;
                }
            }
        }
        if ended.recv_timeout(spread(remote.update_interval)) != TIMEOUT {
            return;
        }
    }
}

/// What a receiver says when nobody ends the waiting.
const TIMEOUT: Result<(), RecvTimeoutError> = Err(RecvTimeoutError::Timeout);

/// A random time before the first fetch of a remote whose files can be served
/// already: masters that are started together do not all ask at once.
fn first_delay(interval: Duration) -> Duration {
    by_chance(interval.min(GITFS_FIRST_DELAY_MAX))
}

/// The interval, up to a tenth longer by chance: masters that were started
/// together do not go on asking at once.
pub(crate) fn spread(interval: Duration) -> Duration {
    interval + by_chance(interval / 10)
}

/// A random time up to this.
fn by_chance(most: Duration) -> Duration {
    let share = u32::from_le_bytes(random_bytes()) >> 16;
    most * share / (1 << 16)
}

/// Places for those who fetch.
struct Slots {
    free: Mutex<usize>,
    has_freed: Condvar,
}

struct Slot<'a>(&'a Slots);

impl Slots {
    fn new(count: usize) -> Self {
        Self {
            free: Mutex::new(count),
            has_freed: Condvar::new(),
        }
    }

    /// Waits for a place; `None` if it is not wanted any more.
    fn take(&self, stop: &AtomicBool) -> Option<Slot<'_>> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 && !stop.load(Ordering::Relaxed) {
            // Nobody wakes those who wait when it is stopped.
            let waited = self.has_freed.wait_timeout(free, SLOT_POLL);
            free = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        *free -= 1;
        Some(Slot(self))
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let mut free = self.0.free.lock().unwrap_or_else(PoisonError::into_inner);
        *free += 1;
        self.0.has_freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_given_back_and_nobody_waits_for_one_at_the_end() {
        let slots = Slots::new(1);
        let stop = AtomicBool::new(false);
        let first = slots.take(&stop).unwrap();
        thread::scope(|scope| {
            let second = scope.spawn(|| slots.take(&stop).is_some());
            drop(first);
            assert!(second.join().unwrap());
            let _held = slots.take(&stop).unwrap();
            let third = scope.spawn(|| slots.take(&stop).is_some());
            stop.store(true, Ordering::Relaxed);
            assert!(!third.join().unwrap());
        });
    }

    #[test]
    fn a_first_fetch_is_delayed_by_less_than_the_interval() {
        for interval in [Duration::from_secs(1), Duration::from_secs(3600)] {
            let spread = spread(interval);
            assert!(
                interval <= spread && spread < interval * 11 / 10,
                "{spread:?}"
            );
            assert!(first_delay(interval) < interval.min(GITFS_FIRST_DELAY_MAX));
        }
    }
}
