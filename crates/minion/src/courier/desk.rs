//! The spool as tasks and job threads share it.
//!
//! The disk is waited for on other threads only. Invariant: no async task
//! waits for the lock of the spool; what it finds locked it leaves a note for.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::SystemTime;

use halite_spool::{Limits, Pending, Spool, SpoolError, Unsynced};
use tokio::sync::Notify;
use tokio::time::sleep;
use tracing::warn;

use crate::core::sign_in::chain;
use crate::limits::SPOOL_SYNC_INTERVAL;

/// The spool and who is at it.
pub(super) struct Desk {
    spool: Mutex<Spool>,
    /// How many returns are in it.
    count: AtomicUsize,
    /// Numbers of returns that are being carried just now.
    carried: Mutex<HashSet<u64>>,
    /// Numbers of those that have arrived while the spool was locked.
    arrived: Mutex<Vec<u64>>,
    appended: Notify,
    untidy: Notify,
}

impl Desk {
    pub(super) fn open(dir: &Path, limits: Limits) -> Result<Self, SpoolError> {
        let spool = Spool::open(dir, limits)?;
        Ok(Self {
            count: AtomicUsize::new(spool.len()),
            spool: Mutex::new(spool),
            carried: Mutex::default(),
            arrived: Mutex::default(),
            appended: Notify::new(),
            untidy: Notify::new(),
        })
    }

    /// How many returns wait.
    pub(super) fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Everything that waits. For the start, before there are tasks.
    pub(super) fn all(&self) -> Result<Vec<Pending>, SpoolError> {
        self.spool().pending(0, usize::MAX)
    }

    /// Appends a return, which counts as being carried. For job threads.
    pub(super) fn append(&self, packed: &[u8]) -> Result<u64, SpoolError> {
        let mut spool = self.spool();
        let sequence = spool.append(SystemTime::now(), packed)?;
        self.carried().insert(sequence);
        self.recount(&spool);
        self.appended.notify_one();
        Ok(sequence)
    }

    /// The oldest returns that nobody carries, at most `count`; they are
    /// carried from now on. What is too old is dropped.
    pub(super) async fn take(self: &Arc<Self>, now: SystemTime, count: usize) -> Vec<Pending> {
        let this = Arc::clone(self);
        let taken = tokio::task::spawn_blocking(move || this.take_now(now, count));
        match taken.await {
            Ok(Ok(taken)) => taken,
            Ok(Err(error)) => {
                warn!("{}", chain(&error));
                Vec::new()
            }
            // The thread panicked; the spool is as it was.
            Err(_) => Vec::new(),
        }
    }

    fn take_now(&self, now: SystemTime, count: usize) -> Result<Vec<Pending>, SpoolError> {
        let mut spool = self.spool();
        if let Err(error) = spool.expire(now) {
            warn!("{}", chain(&error));
        }
        self.recount(&spool);
        let mut taken = Vec::new();
        let mut after = 0;
        while taken.len() < count {
            let page = spool.pending(after, count)?;
            let Some(last) = page.last() else {
                break;
            };
            after = last.sequence;
            let mut carried = self.carried();
            let free = page
                .into_iter()
                .filter(|letter| !carried.contains(&letter.sequence));
            let wanted = count - taken.len();
            let free: Vec<Pending> = free.take(wanted).collect();
            carried.extend(free.iter().map(|letter| letter.sequence));
            taken.extend(free);
        }
        Ok(taken)
    }

    /// A return has arrived: it leaves the spool.
    pub(super) fn arrived(&self, sequence: u64) {
        match self.spool.try_lock() {
            Ok(mut spool) => self.acknowledge(&mut spool, sequence),
            Err(TryLockError::Poisoned(poisoned)) => {
                self.acknowledge(&mut poisoned.into_inner(), sequence);
            }
            Err(TryLockError::WouldBlock) => {
                self.noted().push(sequence);
                self.untidy.notify_one();
            }
        }
    }

    /// A return has not arrived: it may be carried again.
    pub(super) fn put_back(&self, sequence: u64) {
        self.carried().remove(&sequence);
    }

    /// Keeps the spool in order for as long as the minion runs.
    pub(super) async fn keep(self: &Arc<Self>) {
        tokio::join!(self.sync_again_and_again(), self.tidy_again_and_again());
    }

    /// Makes new returns survive a power cut, unless they are gone by then.
    async fn sync_again_and_again(self: &Arc<Self>) {
        loop {
            self.appended.notified().await;
            sleep(SPOOL_SYNC_INTERVAL).await;
            let this = Arc::clone(self);
            // The wait for the disk is not under the lock: jobs end meanwhile.
            let synced = tokio::task::spawn_blocking(move || {
                let unsynced = this.spool().to_sync()?;
                unsynced.map_or(Ok(()), Unsynced::sync)
            })
            .await;
            if let Ok(Err(error)) = synced {
                warn!("{}", chain(&error));
            }
        }
    }

    async fn tidy_again_and_again(self: &Arc<Self>) {
        loop {
            self.untidy.notified().await;
            let this = Arc::clone(self);
            let tidied = tokio::task::spawn_blocking(move || this.tidy()).await;
            if let Ok(Err(error)) = tidied {
                warn!("{}", chain(&error));
            }
        }
    }

    fn tidy(&self) -> Result<(), SpoolError> {
        let mut spool = self.spool();
        let noted = std::mem::take(&mut *self.noted());
        for sequence in noted {
            self.acknowledge(&mut spool, sequence);
        }
        spool.tidy()
    }

    fn acknowledge(&self, spool: &mut Spool, sequence: u64) {
        if let Err(error) = spool.acknowledge_untidily(sequence) {
            warn!(
                sequence,
                "a delivered return may be delivered again: {}",
                chain(&error)
            );
        }
        self.recount(spool);
        self.carried().remove(&sequence);
        if spool.is_untidy() {
            self.untidy.notify_one();
        }
    }

    fn recount(&self, spool: &Spool) {
        self.count.store(spool.len(), Ordering::Relaxed);
    }

    fn spool(&self) -> MutexGuard<'_, Spool> {
        self.spool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn carried(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.carried.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn noted(&self) -> MutexGuard<'_, Vec<u64>> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const LIMITS: Limits = Limits {
        bytes_max: 1024 * 1024,
        age_max: Duration::from_secs(3600),
    };

    fn sequences(letters: &[Pending]) -> Vec<u64> {
        letters.iter().map(|letter| letter.sequence).collect()
    }

    #[tokio::test]
    async fn what_hangs_does_not_hide_what_comes_after_it() {
        let dir = tempfile::tempdir().unwrap();
        let desk = Arc::new(Desk::open(dir.path(), LIMITS).unwrap());
        let all: Vec<u64> = (0..7).map(|n| desk.append(&[n]).unwrap()).collect();
        for sequence in &all {
            desk.put_back(*sequence);
        }
        let now = SystemTime::now();
        let first = desk.take(now, 3).await;
        assert_eq!(sequences(&first), all[..3], "the oldest first");
        let second = desk.take(now, 3).await;
        assert_eq!(sequences(&second), all[3..6], "nobody carries these yet");
        desk.put_back(all[1]);
        desk.arrived(all[0]);
        let third = desk.take(now, 9).await;
        assert_eq!(sequences(&third), [all[1], all[6]]);
        assert_eq!(desk.len(), 6);
    }

    #[tokio::test]
    async fn a_return_that_arrives_while_the_spool_is_locked_leaves_it_later() {
        let dir = tempfile::tempdir().unwrap();
        let desk = Desk::open(dir.path(), LIMITS).unwrap();
        let sequence = desk.append(b"x").unwrap();
        let locked = desk.spool();
        desk.arrived(sequence);
        drop(locked);
        assert_eq!(desk.len(), 1);
        desk.tidy().unwrap();
        assert_eq!(desk.len(), 0);
        assert!(desk.carried().is_empty());
    }
}
