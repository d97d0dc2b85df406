//! The spool of returns, shared by async tasks and job threads.
//!
//! Only job threads and blocking threads wait for the disk. Invariant: no async
//! task waits for the spool's lock. An acknowledgement that finds it locked is
//! recorded and applied later.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use halite_spool::{Limits, Moment, Pending, Spool, SpoolError, Unsynced};
use tokio::sync::Notify;
use tokio::time::sleep;
use tracing::warn;

use super::kept_returns::{KeptReturns, WaitingState};
use crate::core::sign_in::chain;
use crate::limits::SPOOL_SYNC_INTERVAL;

/// The spool on disk, the returns that did not fit there, and which returns are
/// being delivered.
pub(super) struct SharedSpool {
    kept: Mutex<KeptReturns>,
    /// How many returns are in it.
    count: AtomicUsize,
    /// Whether its directory is unusable, so that its content is not known yet.
    is_shut: AtomicBool,
    /// Whether the disk did not take the last return.
    is_failing: AtomicBool,
    /// Numbers of the returns that are being delivered.
    carried: Mutex<HashSet<u64>>,
    /// Numbers of those that were acknowledged while the spool was locked.
    arrived: Mutex<Vec<u64>>,
    appended: Notify,
    untidy: Notify,
    /// How many returns no master could store.
    given_up: AtomicU64,
}

impl SharedSpool {
    /// Opens the spool in `dir`, now or as soon as the directory is usable. `found`
    /// is called with each return that an earlier run has left there, under the
    /// lock: it must not call this type.
    pub(super) fn open(dir: &Path, limits: Limits, found: impl Fn(&[u8]) + Send + 'static) -> Self {
        let kept = KeptReturns::open(dir, limits, found);
        Self {
            count: AtomicUsize::new(kept.len()),
            is_shut: AtomicBool::new(kept.spool.is_none()),
            is_failing: AtomicBool::new(kept.failure_logged),
            kept: Mutex::new(kept),
            carried: Mutex::default(),
            arrived: Mutex::default(),
            appended: Notify::new(),
            untidy: Notify::new(),
            given_up: AtomicU64::new(0),
        }
    }

    /// How many returns wait.
    pub(super) fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Their size, their age, and how many were dropped. It may wait for the disk.
    pub(super) fn state(&self) -> WaitingState {
        let mut state = self.kept().state(Moment::now());
        state.dropped += self.given_up.load(Ordering::Relaxed);
        state
    }

    /// Counts a return as dropped although it is still kept.
    pub(super) fn give_up(&self) {
        self.given_up.fetch_add(1, Ordering::Relaxed);
    }

    /// How many of them would be lost with this process.
    pub(super) fn len_in_memory(&self) -> usize {
        self.kept().unspooled.len()
    }

    /// Whether the spool is still to be opened.
    pub(super) fn is_shut(&self) -> bool {
        self.is_shut.load(Ordering::Relaxed)
    }

    /// Stores a return, on disk if possible, and marks it as being delivered. For job
    /// threads.
    pub(super) fn append(&self, packed: Vec<u8>) -> u64 {
        let mut kept = self.kept();
        let sequence = kept.append(Moment::now(), packed);
        self.carried().insert(sequence);
        self.recount(&kept);
        self.appended.notify_one();
        sequence
    }

    /// The oldest returns that are not being delivered, at most `count`, marked as
    /// being delivered. Those that are too old are dropped.
    pub(super) async fn take(self: &Arc<Self>, count: usize) -> Vec<Pending> {
        let this = Arc::clone(self);
        let taken = tokio::task::spawn_blocking(move || this.take_now(Moment::now(), count));
        // If the thread panicked, the spool is as it was.
        taken.await.unwrap_or_default()
    }

    fn take_now(&self, now: Moment, count: usize) -> Vec<Pending> {
        let mut kept = self.kept();
        // Async tasks take this lock, so it is not held while the disk is used. While
        // the spool is locked, numbers are only removed from the set; those are taken
        // the next time.
        let carried = self.carried().clone();
        let taken = kept.take(now, count, &carried);
        self.recount(&kept);
        let numbers = taken.iter().map(|pending| pending.sequence);
        self.carried().extend(numbers);
        taken
    }

    /// Removes a return that a master has acknowledged.
    pub(super) fn arrived(&self, sequence: u64) {
        match self.kept.try_lock() {
            Ok(mut kept) => self.acknowledge(&mut kept, sequence),
            Err(TryLockError::Poisoned(poisoned)) => {
                self.acknowledge(&mut poisoned.into_inner(), sequence);
            }
            Err(TryLockError::WouldBlock) => {
                self.arrived_while_locked().push(sequence);
                self.untidy.notify_one();
            }
        }
    }

    /// Releases a return that was not delivered, for another try.
    pub(super) fn put_back(&self, sequence: u64) {
        self.carried().remove(&sequence);
    }

    /// Syncs and tidies the spool for as long as the minion runs.
    pub(super) async fn keep(self: &Arc<Self>) {
        tokio::join!(self.sync_again_and_again(), self.tidy_again_and_again());
    }

    /// Writes returns again whose files somebody has removed. For blocking
    /// threads.
    pub(super) fn restore(&self) {
        let mut kept = self.kept();
        kept.restore();
        self.recount(&kept);
    }

    /// Whether new returns can be kept on disk, as far as is known.
    pub(super) fn keeps_on_disk(&self) -> bool {
        !self.is_failing.load(Ordering::Relaxed)
    }

    /// Syncs new returns to disk, unless they were delivered by then.
    async fn sync_again_and_again(self: &Arc<Self>) {
        loop {
            self.appended.notified().await;
            sleep(SPOOL_SYNC_INTERVAL).await;
            let this = Arc::clone(self);
            // The lock is not held during the sync: jobs end meanwhile.
            let synced = tokio::task::spawn_blocking(move || {
                let unsynced = this.kept().spool.as_mut().and_then(Spool::to_sync);
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
        let mut kept = self.kept();
        let arrived = std::mem::take(&mut *self.arrived_while_locked());
        for sequence in arrived {
            self.acknowledge(&mut kept, sequence);
        }
        kept.spool.as_mut().map_or(Ok(()), Spool::tidy)
    }

    fn acknowledge(&self, kept: &mut KeptReturns, sequence: u64) {
        kept.acknowledge(sequence);
        self.recount(kept);
        self.carried().remove(&sequence);
        if kept.spool.as_ref().is_some_and(Spool::is_untidy) {
            self.untidy.notify_one();
        }
    }

    fn recount(&self, kept: &KeptReturns) {
        self.count.store(kept.len(), Ordering::Relaxed);
        self.is_shut.store(kept.spool.is_none(), Ordering::Relaxed);
        self.is_failing
            .store(kept.failure_logged, Ordering::Relaxed);
    }

    fn kept(&self) -> MutexGuard<'_, KeptReturns> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn carried(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.carried.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn arrived_while_locked(&self) -> MutexGuard<'_, Vec<u64>> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    use super::*;
    use crate::courier::unspooled::Unspooled;
    use crate::limits::DELIVERIES_MAX;

    const LIMITS: Limits = Limits {
        bytes_max: 1024 * 1024,
        age_max: Duration::from_secs(3600),
    };

    fn open(dir: &Path) -> SharedSpool {
        SharedSpool::open(dir, LIMITS, |_| {})
    }

    fn sequences(pending: &[Pending]) -> Vec<u64> {
        pending.iter().map(|pending| pending.sequence).collect()
    }

    #[tokio::test]
    async fn what_hangs_does_not_hide_what_comes_after_it() {
        let dir = tempfile::tempdir().unwrap();
        let spool = Arc::new(open(dir.path()));
        let all: Vec<u64> = (0..7).map(|n| spool.append(vec![n])).collect();
        for sequence in &all {
            spool.put_back(*sequence);
        }
        let first = spool.take(3).await;
        assert_eq!(sequences(&first), all[..3], "the oldest first");
        let second = spool.take(3).await;
        assert_eq!(sequences(&second), all[3..6], "nobody carries these yet");
        spool.put_back(all[1]);
        spool.arrived(all[0]);
        let third = spool.take(9).await;
        assert_eq!(sequences(&third), [all[1], all[6]]);
        assert_eq!(spool.len(), 6);
    }

    #[tokio::test]
    async fn a_return_that_arrives_while_the_spool_is_locked_leaves_it_later() {
        let dir = tempfile::tempdir().unwrap();
        let spool = open(dir.path());
        let sequence = spool.append(b"x".to_vec());
        let locked = spool.kept();
        spool.arrived(sequence);
        drop(locked);
        assert_eq!(spool.len(), 1);
        spool.tidy().unwrap();
        assert_eq!(spool.len(), 0);
        assert!(spool.carried().is_empty());
    }

    #[tokio::test]
    async fn returns_wait_in_memory_while_the_disk_takes_none() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("returns");
        // No directory can be made there.
        symlink("returns", &place).unwrap();
        let spool = Arc::new(open(&place));
        let all: Vec<u64> = (0..4).map(|n| spool.append(vec![n])).collect();
        spool.arrived(all[0]);
        spool.put_back(all[1]);
        assert_eq!((spool.len(), spool.len_in_memory()), (3, 3));
        assert_eq!(sequences(&spool.take(9).await), [all[1]]);
        spool.put_back(all[1]);
        spool.put_back(all[2]);
        std::fs::remove_file(&place).unwrap();
        // The last one is on its way and stays where it is.
        let taken = spool.take(9).await;
        let payloads: Vec<&[u8]> = taken.iter().map(|pending| &*pending.payload).collect();
        assert_eq!(payloads, [[1], [2]]);
        assert!(
            !taken
                .iter()
                .any(|pending| Unspooled::has_number(pending.sequence))
        );
        assert_eq!((spool.len(), spool.len_in_memory()), (3, 1));
        spool.put_back(all[3]);
        spool.take(9).await;
        assert_eq!(spool.len_in_memory(), 0);
        drop(spool);
        let spool = Arc::new(open(&place));
        assert_eq!(spool.take(9).await.len(), 3);
    }

    #[tokio::test]
    async fn a_return_that_is_too_large_for_the_disk_holds_up_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("returns");
        symlink("returns", &place).unwrap();
        let limits = Limits {
            bytes_max: 1000,
            ..LIMITS
        };
        let spool = Arc::new(SharedSpool::open(&place, limits, |_| {}));
        for bytes in [2000, 10] {
            let sequence = spool.append(vec![0; bytes]);
            spool.put_back(sequence);
        }
        std::fs::remove_file(&place).unwrap();
        let taken = spool.take(9).await;
        let sizes: Vec<usize> = taken.iter().map(|pending| pending.payload.len()).collect();
        assert_eq!(sizes, [10, 2000]);
        assert_eq!((spool.len(), spool.len_in_memory()), (2, 1));
    }

    #[tokio::test]
    async fn returns_of_an_earlier_run_are_found_also_when_the_disk_comes_late() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("returns");
        let spool = open(&place);
        let count = DELIVERIES_MAX + 2;
        let left: Vec<Vec<u8>> = (0..count).map(|n| vec![u8::try_from(n).unwrap()]).collect();
        for packed in &left {
            spool.append(packed.clone());
        }
        drop(spool);
        let aside = dir.path().join("aside");
        std::fs::rename(&place, &aside).unwrap();
        symlink("returns", &place).unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let tell = Arc::clone(&told);
        let found = move |packed: &[u8]| tell.lock().unwrap().push(packed.to_vec());
        let spool = Arc::new(SharedSpool::open(&place, LIMITS, found));
        spool.take(0).await;
        assert!(spool.is_shut() && told.lock().unwrap().is_empty());
        std::fs::remove_file(&place).unwrap();
        std::fs::rename(&aside, &place).unwrap();
        // Whoever looks next finds them, without a return that is new.
        spool.take(0).await;
        assert!(!spool.is_shut());
        assert_eq!((spool.len(), &*told.lock().unwrap()), (count, &left));
    }
}
