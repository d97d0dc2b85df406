//! Flushes appended messages to the disk, so that they survive a power cut.
//!
//! Invariant: a file whose messages were written again is removed when the copies
//! are on the disk, and until then no younger file is removed.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::warn;

use super::Spool;
use crate::error::SpoolError;
use crate::segment::{Segment, Sync};

/// What the disk may lack. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct OnDisk(Arc<Mutex<Lacks>>);

#[derive(Debug, Default)]
struct Lacks {
    /// The first file of which it may lack something.
    first: Option<u64>,
    /// Files whose messages were written once more, oldest first.
    replaced: VecDeque<Segment>,
    /// Whether somebody waits for the disk and then removes further ones, which are
    /// older.
    is_removing: bool,
}

impl OnDisk {
    /// Notes that the disk may lack something of a file.
    pub(super) fn lacks(&self, number: u64) {
        let mut lacks = self.lock();
        lacks.first = Some(lacks.first.map_or(number, |first| first.min(number)));
    }

    /// Lets a file go as soon as the disk has all that was written.
    pub(super) fn replace(&self, segment: Segment) {
        self.lock().replaced.push_back(segment);
    }

    /// Whether files are to go that are older than all others.
    pub(super) fn is_replacing(&self) -> bool {
        let lacks = self.lock();
        lacks.is_removing || !lacks.replaced.is_empty()
    }

    /// Whether somebody waits for the disk with files that go then.
    pub(super) fn is_removing(&self) -> bool {
        self.lock().is_removing
    }

    /// Removes the files that are to go, as the disk has all that was in them. What
    /// cannot be removed stays, with all younger ones, for the next time.
    pub(super) fn remove_replaced(&self, dir: &Path) {
        let mut lacks = self.lock();
        if !lacks.is_removing {
            remove(dir, &mut lacks.replaced);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Lacks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes files, oldest first, up to one that cannot be removed: what younger ones
/// note as acknowledged may be in it.
fn remove(dir: &Path, files: &mut VecDeque<Segment>) {
    while let Some(oldest) = files.front() {
        if let Err(error) = oldest.remove() {
            warn!(spool = %dir.display(), %error, "an old file of the spool could not be removed");
            return;
        }
        files.pop_front();
    }
}

/// What the disk may not have yet.
#[derive(Debug)]
pub struct Unsynced {
    dir: PathBuf,
    /// Oldest first.
    files: Vec<Sync>,
    first: Option<u64>,
    replaced: VecDeque<Segment>,
    is_removing: bool,
    on_disk: OnDisk,
}

impl Unsynced {
    /// Waits until the disk has it.
    ///
    /// # Errors
    /// When the disk does not take it; the next one tries again.
    pub fn sync(mut self) -> Result<(), SpoolError> {
        self.files
            .iter()
            .try_for_each(Sync::wait)
            .map_err(|source| SpoolError::Write {
                path: self.dir.clone(),
                source,
            })?;
        self.first = None;
        remove(&self.dir, &mut self.replaced);
        Ok(())
    }
}

/// What was not done is left to the next one.
impl Drop for Unsynced {
    fn drop(&mut self) {
        let mut lacks = self.on_disk.lock();
        lacks.first = [self.first, lacks.first].into_iter().flatten().min();
        if self.is_removing {
            lacks.is_removing = false;
            self.replaced.append(&mut lacks.replaced);
            lacks.replaced = std::mem::take(&mut self.replaced);
        }
    }
}

impl Spool {
    /// Makes all that was appended survive a power cut.
    ///
    /// # Errors
    /// When the disk does not take it; it is tried again at the next call.
    pub fn sync(&mut self) -> Result<(), SpoolError> {
        self.to_sync().map_or(Ok(()), Unsynced::sync)
    }

    /// As [`Self::sync`] for a spool behind a lock: what has to be waited for,
    /// without the spool; `None` if there is nothing to wait for.
    pub fn to_sync(&mut self) -> Option<Unsynced> {
        let mut lacks = self.on_disk.lock();
        let first = lacks.first.take();
        let replaced = match lacks.is_removing {
            true => VecDeque::new(),
            false => std::mem::take(&mut lacks.replaced),
        };
        let is_removing = !replaced.is_empty();
        lacks.is_removing |= is_removing;
        drop(lacks);
        if replaced.is_empty() && (first.is_none() || self.pending.is_empty()) {
            return None;
        }
        let is_lacking = |segment: &&Segment| first.is_some_and(|first| segment.number >= first);
        let lacking = self.segments.iter().filter(is_lacking);
        Some(Unsynced {
            dir: self.dir.clone(),
            files: lacking.map(Segment::unsynced).collect(),
            first,
            replaced,
            is_removing,
            on_disk: self.on_disk.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Limits, Moment};

    const LARGE: Limits = Limits {
        bytes_max: 1 << 30,
        age_max: Duration::from_secs(60),
    };

    #[test]
    fn what_the_disk_has_not_taken_is_waited_for_again() {
        let above = tempfile::tempdir().unwrap();
        let dir = above.path().join("spool");
        let aside = above.path().join("aside");
        let limits = Limits {
            bytes_max: 1 << 20,
            age_max: Duration::from_secs(60),
        };
        let mut spool = Spool::open(&dir, limits, Moment::now()).unwrap();
        spool.append(Moment::now(), b"first").unwrap();
        // The name of a new file cannot be made safe without its directory.
        for _ in 0..2 {
            std::fs::rename(&dir, &aside).unwrap();
            spool.to_sync().unwrap().sync().unwrap_err();
            std::fs::rename(&aside, &dir).unwrap();
        }
        spool.to_sync().unwrap().sync().unwrap();
        assert!(spool.to_sync().is_none());
        // Now the disk has it.
        spool.append(Moment::now(), b"second").unwrap();
        std::fs::rename(&dir, &aside).unwrap();
        spool.to_sync().unwrap().sync().unwrap();
    }

    /// Whoever appends holds a lock that others wait for: a full file is closed
    /// without the disk, and the next sync waits for all files.
    #[test]
    fn files_that_are_full_are_waited_for_later_and_all_of_them() {
        let dir = tempfile::tempdir().unwrap();
        let limits = Limits {
            bytes_max: 64 << 20,
            age_max: Duration::from_secs(60),
        };
        let mut spool = Spool::open(dir.path(), limits, Moment::now()).unwrap();
        for _ in 0..10 {
            spool.append(Moment::now(), &[7; 500_000]).unwrap();
        }
        let files = spool.segments.len();
        assert!(files > 3, "{files}");
        let unsynced = spool.to_sync().unwrap();
        assert_eq!(unsynced.files.len(), files);
        unsynced.sync().unwrap();
        spool.append(Moment::now(), b"next").unwrap();
        assert_eq!(spool.to_sync().unwrap().files.len(), 1);
        // What a killed process has left may not be on the disk either.
        drop(spool);
        let mut again = Spool::open(dir.path(), limits, Moment::now()).unwrap();
        assert_eq!(again.to_sync().unwrap().files.len(), files);
    }

    /// Who waits for the disk has nothing to do with what is tidied up meanwhile.
    #[test]
    fn nothing_is_written_again_because_the_disk_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(dir.path(), LARGE, Moment::now()).unwrap();
        for _ in 0..60 {
            spool.append(Moment::now(), &vec![7; 300_000]).unwrap();
        }
        let (place, files) = (spool.pending[&60].segment, spool.segments.len());
        let unsynced = spool.to_sync().unwrap();
        for sequence in 1..=50 {
            spool.acknowledge(sequence).unwrap();
        }
        assert_eq!(spool.pending[&60].segment, place);
        assert!(spool.segments.len() < files / 2, "{files}");
        unsynced.sync().unwrap();
    }

    /// What is noted as done with in younger files would come back.
    #[test]
    fn a_file_that_cannot_be_removed_keeps_the_younger_ones() {
        let dir = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(dir.path(), LARGE, Moment::now()).unwrap();
        for _ in 0..60 {
            spool.append(Moment::now(), &vec![7; 300_000]).unwrap();
        }
        for sequence in 2..=40 {
            spool.acknowledge_untidily(sequence).unwrap();
        }
        let oldest = dir.path().join("00000000000000000001.seg");
        let content = std::fs::read(&oldest).unwrap();
        spool.tidy_some().unwrap();
        // Nobody removes a directory by the name of a file.
        std::fs::remove_file(&oldest).unwrap();
        std::fs::create_dir(&oldest).unwrap();
        spool.sync().unwrap();
        for sequence in [1].into_iter().chain(41..=60) {
            spool.acknowledge(sequence).unwrap();
        }
        spool.sync().unwrap();
        drop(spool);
        std::fs::remove_dir(&oldest).unwrap();
        std::fs::write(&oldest, content).unwrap();
        let again = Spool::open(dir.path(), LARGE, Moment::now()).unwrap();
        assert_eq!(again.len(), 0, "what is done with has come back");
    }
}
