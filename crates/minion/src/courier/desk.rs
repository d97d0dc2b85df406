//! The spool as tasks and job threads share it.
//!
//! The disk is waited for on other threads only. Invariant: no async task
//! waits for the lock of the spool; what it finds locked it leaves a note for.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use halite_spool::{Limits, Moment, Pending, Spool, SpoolError, Unsynced};
use tokio::sync::Notify;
use tokio::time::sleep;
use tracing::{error, info, warn};

use super::shelf::Shelf;
use crate::core::sign_in::chain;
use crate::limits::{DELIVERIES_MAX, SPOOL_SYNC_INTERVAL};

/// The spool and who is at it.
pub(super) struct Desk {
    kept: Mutex<Kept>,
    /// How many returns are in it.
    count: AtomicUsize,
    /// Its directory cannot be used: what is in it is not known yet.
    is_shut: AtomicBool,
    /// Numbers of returns that are being carried just now.
    carried: Mutex<HashSet<u64>>,
    /// Numbers of those that have arrived while the spool was locked.
    arrived: Mutex<Vec<u64>>,
    appended: Notify,
    untidy: Notify,
}

/// Hears of each return that an earlier run has left.
type Found = Box<dyn Fn(&[u8]) + Send>;

/// Where returns are.
struct Kept {
    dir: PathBuf,
    limits: Limits,
    found: Found,
    /// None while its directory cannot be used.
    spool: Option<Spool>,
    /// What the spool has not taken.
    shelf: Shelf,
    /// Whether it is in the log that the disk takes nothing.
    is_told: bool,
}

impl Desk {
    /// Opens the spool in `dir`, now or once that can be used. `found` hears of
    /// each return that an earlier run has left there; it must not come back
    /// here.
    pub(super) fn open(dir: &Path, limits: Limits, found: impl Fn(&[u8]) + Send + 'static) -> Self {
        let mut kept = Kept {
            dir: dir.to_owned(),
            limits,
            found: Box::new(found),
            spool: None,
            shelf: Shelf::default(),
            is_told: false,
        };
        if let Err(error) = kept.spool() {
            kept.complain(&error);
        }
        Self {
            count: AtomicUsize::new(kept.len()),
            is_shut: AtomicBool::new(kept.spool.is_none()),
            kept: Mutex::new(kept),
            carried: Mutex::default(),
            arrived: Mutex::default(),
            appended: Notify::new(),
            untidy: Notify::new(),
        }
    }

    /// How many returns wait.
    pub(super) fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// How many of them end with this process.
    pub(super) fn len_in_memory(&self) -> usize {
        self.kept().shelf.len()
    }

    /// Whether a look is due that may open the spool.
    pub(super) fn is_shut(&self) -> bool {
        self.is_shut.load(Ordering::Relaxed)
    }

    /// Keeps a return, on disk unless that takes nothing; it counts as being
    /// carried. For job threads.
    pub(super) fn append(&self, packed: Vec<u8>) -> u64 {
        let mut kept = self.kept();
        let sequence = kept.append(Moment::now(), packed);
        self.carried().insert(sequence);
        self.recount(&kept);
        self.appended.notify_one();
        sequence
    }

    /// The oldest returns that nobody carries, at most `count`; they are
    /// carried from now on. What is too old is dropped.
    pub(super) async fn take(self: &Arc<Self>, count: usize) -> Vec<Pending> {
        let this = Arc::clone(self);
        let taken = tokio::task::spawn_blocking(move || this.take_now(Moment::now(), count));
        // If the thread panicked, the spool is as it was.
        taken.await.unwrap_or_default()
    }

    fn take_now(&self, now: Moment, count: usize) -> Vec<Pending> {
        let mut kept = self.kept();
        // Async tasks take that lock: the disk is not waited for under it. While
        // the spool is locked numbers only leave it, and those that do so now
        // are taken the next time.
        let carried = self.carried().clone();
        if let Err(error) = kept.spool() {
            kept.complain(&error);
        }
        kept.expire(now);
        kept.clear_shelf(now, &carried);
        self.recount(&kept);
        let is_free = |sequence| !carried.contains(&sequence);
        let mut taken: Vec<Pending> = Vec::new();
        let mut after = 0;
        while let Some(spool) = kept.spool.as_mut().filter(|_| taken.len() < count) {
            let mut page = spool.pending(now, after, count);
            let Some(last) = page.last() else {
                break;
            };
            after = last.sequence;
            page.retain(|letter| is_free(letter.sequence));
            page.truncate(count - taken.len());
            taken.extend(page);
        }
        let more = count - taken.len();
        taken.extend(kept.shelf.pending(now, more, is_free));
        let numbers = taken.iter().map(|letter| letter.sequence);
        self.carried().extend(numbers);
        taken
    }

    /// A return has arrived: it leaves the spool.
    pub(super) fn arrived(&self, sequence: u64) {
        match self.kept.try_lock() {
            Ok(mut kept) => self.acknowledge(&mut kept, sequence),
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
                let unsynced = this.kept().spool.as_mut().map(Spool::to_sync);
                let unsynced = unsynced.transpose()?.flatten();
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
        let noted = std::mem::take(&mut *self.noted());
        for sequence in noted {
            self.acknowledge(&mut kept, sequence);
        }
        kept.spool.as_mut().map_or(Ok(()), Spool::tidy)
    }

    fn acknowledge(&self, kept: &mut Kept, sequence: u64) {
        kept.acknowledge(sequence);
        self.recount(kept);
        self.carried().remove(&sequence);
        if kept.spool.as_ref().is_some_and(Spool::is_untidy) {
            self.untidy.notify_one();
        }
    }

    fn recount(&self, kept: &Kept) {
        self.count.store(kept.len(), Ordering::Relaxed);
        self.is_shut.store(kept.spool.is_none(), Ordering::Relaxed);
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn carried(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.carried.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn noted(&self) -> MutexGuard<'_, Vec<u64>> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn len(&self) -> usize {
        self.spool.as_ref().map_or(0, Spool::len) + self.shelf.len()
    }

    /// The spool, opened if it can be by now.
    fn spool(&mut self) -> Result<&mut Spool, SpoolError> {
        match &mut self.spool {
            Some(spool) => Ok(spool),
            none => {
                let mut spool = Spool::open(&self.dir, self.limits, Moment::now())?;
                find_all(&mut spool, &self.found);
                Ok(none.insert(spool))
            }
        }
    }

    fn append(&mut self, now: Moment, packed: Vec<u8>) -> u64 {
        let appended = self.spool().and_then(|spool| spool.append(now, &packed));
        match appended {
            Ok(sequence) => {
                self.rejoice();
                sequence
            }
            Err(error) => {
                self.complain(&error);
                let (sequence, cost) = self.shelf.put(now, packed);
                if cost > 0 {
                    error!(
                        returns = cost,
                        "there is no room for more returns in memory; the oldest are lost"
                    );
                }
                sequence
            }
        }
    }

    fn acknowledge(&mut self, sequence: u64) {
        if Shelf::is_its(sequence) {
            self.shelf.take(|known| known == sequence);
            return;
        }
        let Some(spool) = &mut self.spool else {
            return;
        };
        if let Err(error) = spool.acknowledge_untidily(sequence) {
            warn!(
                sequence,
                "a delivered return may be delivered again: {}",
                chain(&error)
            );
        }
    }

    /// Drops what is too old.
    fn expire(&mut self, now: Moment) {
        if let Some(Err(error)) = self.spool.as_mut().map(|spool| spool.expire(now)) {
            warn!("{}", chain(&error));
        }
        let lost = self.shelf.expire(now, self.limits.age_max);
        if lost > 0 {
            error!(returns = lost, "no master took them in time; they are lost");
        }
    }

    /// Brings to the disk what waits in memory and is not carried just now. One
    /// that is larger than the spool may be stays, and holds up no other.
    fn clear_shelf(&mut self, now: Moment, carried: &HashSet<u64>) {
        let mut passed = HashSet::new();
        while let Some(letter) = self
            .shelf
            .take(|sequence| !carried.contains(&sequence) && !passed.contains(&sequence))
        {
            let appended = self
                .spool()
                .and_then(|spool| spool.append(now, &letter.packed));
            match appended {
                Ok(_) => self.rejoice(),
                Err(error) => {
                    passed.insert(letter.sequence);
                    self.shelf.give_back(letter);
                    if !matches!(error, SpoolError::TooLarge { .. }) {
                        return;
                    }
                }
            }
        }
    }

    /// The disk has taken something: says so if it took nothing before.
    fn rejoice(&mut self) {
        if self.shelf.len() == 0 && std::mem::take(&mut self.is_told) {
            info!("returns are kept on disk again");
        }
    }

    /// Says once that the disk takes nothing.
    fn complain(&mut self, error: &SpoolError) {
        if !std::mem::replace(&mut self.is_told, true) {
            error!(
                "returns are kept in memory only, until a master has them or the disk takes them: {}",
                chain(error)
            );
        }
    }
}

/// Tells of what an earlier run has left, a few at a time.
fn find_all(spool: &mut Spool, found: &Found) {
    let mut after = 0;
    loop {
        let page = spool.pending(Moment::now(), after, DELIVERIES_MAX);
        let Some(last) = page.last() else {
            break;
        };
        after = last.sequence;
        page.iter().for_each(|letter| found(&letter.payload));
    }
    if !spool.is_empty() {
        let returns = spool.len();
        warn!(returns, "returns of an earlier run wait for a master");
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    use super::*;

    const LIMITS: Limits = Limits {
        bytes_max: 1024 * 1024,
        age_max: Duration::from_secs(3600),
    };

    fn open(dir: &Path) -> Desk {
        Desk::open(dir, LIMITS, |_| {})
    }

    fn sequences(letters: &[Pending]) -> Vec<u64> {
        letters.iter().map(|letter| letter.sequence).collect()
    }

    #[tokio::test]
    async fn what_hangs_does_not_hide_what_comes_after_it() {
        let dir = tempfile::tempdir().unwrap();
        let desk = Arc::new(open(dir.path()));
        let all: Vec<u64> = (0..7).map(|n| desk.append(vec![n])).collect();
        for sequence in &all {
            desk.put_back(*sequence);
        }
        let first = desk.take(3).await;
        assert_eq!(sequences(&first), all[..3], "the oldest first");
        let second = desk.take(3).await;
        assert_eq!(sequences(&second), all[3..6], "nobody carries these yet");
        desk.put_back(all[1]);
        desk.arrived(all[0]);
        let third = desk.take(9).await;
        assert_eq!(sequences(&third), [all[1], all[6]]);
        assert_eq!(desk.len(), 6);
    }

    #[tokio::test]
    async fn a_return_that_arrives_while_the_spool_is_locked_leaves_it_later() {
        let dir = tempfile::tempdir().unwrap();
        let desk = open(dir.path());
        let sequence = desk.append(b"x".to_vec());
        let locked = desk.kept();
        desk.arrived(sequence);
        drop(locked);
        assert_eq!(desk.len(), 1);
        desk.tidy().unwrap();
        assert_eq!(desk.len(), 0);
        assert!(desk.carried().is_empty());
    }

    #[tokio::test]
    async fn returns_wait_in_memory_while_the_disk_takes_none() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("returns");
        // No directory can be made there.
        symlink("returns", &place).unwrap();
        let desk = Arc::new(open(&place));
        let all: Vec<u64> = (0..4).map(|n| desk.append(vec![n])).collect();
        desk.arrived(all[0]);
        desk.put_back(all[1]);
        assert_eq!((desk.len(), desk.len_in_memory()), (3, 3));
        assert_eq!(sequences(&desk.take(9).await), [all[1]]);
        desk.put_back(all[1]);
        desk.put_back(all[2]);
        std::fs::remove_file(&place).unwrap();
        // The last one is on its way and stays where it is.
        let taken = desk.take(9).await;
        let payloads: Vec<&[u8]> = taken.iter().map(|letter| &*letter.payload).collect();
        assert_eq!(payloads, [[1], [2]]);
        assert!(!taken.iter().any(|letter| Shelf::is_its(letter.sequence)));
        assert_eq!((desk.len(), desk.len_in_memory()), (3, 1));
        desk.put_back(all[3]);
        desk.take(9).await;
        assert_eq!(desk.len_in_memory(), 0);
        drop(desk);
        let desk = Arc::new(open(&place));
        assert_eq!(desk.take(9).await.len(), 3);
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
        let desk = Arc::new(Desk::open(&place, limits, |_| {}));
        for bytes in [2000, 10] {
            let sequence = desk.append(vec![0; bytes]);
            desk.put_back(sequence);
        }
        std::fs::remove_file(&place).unwrap();
        let taken = desk.take(9).await;
        let sizes: Vec<usize> = taken.iter().map(|letter| letter.payload.len()).collect();
        assert_eq!(sizes, [10, 2000]);
        assert_eq!((desk.len(), desk.len_in_memory()), (2, 1));
    }

    #[tokio::test]
    async fn what_an_earlier_run_left_is_told_of_also_where_the_disk_comes_late() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("returns");
        let desk = open(&place);
        let count = DELIVERIES_MAX + 2;
        let left: Vec<Vec<u8>> = (0..count).map(|n| vec![u8::try_from(n).unwrap()]).collect();
        for packed in &left {
            desk.append(packed.clone());
        }
        drop(desk);
        let aside = dir.path().join("aside");
        std::fs::rename(&place, &aside).unwrap();
        symlink("returns", &place).unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let tell = Arc::clone(&told);
        let found = move |packed: &[u8]| tell.lock().unwrap().push(packed.to_vec());
        let desk = Arc::new(Desk::open(&place, LIMITS, found));
        desk.take(0).await;
        assert!(desk.is_shut() && told.lock().unwrap().is_empty());
        std::fs::remove_file(&place).unwrap();
        std::fs::rename(&aside, &place).unwrap();
        // Whoever looks next finds them, without a return that is new.
        desk.take(0).await;
        assert!(!desk.is_shut());
        assert_eq!((desk.len(), &*told.lock().unwrap()), (count, &left));
    }
}
