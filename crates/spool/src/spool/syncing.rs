//! Flushing appended messages to the disk, so that they survive a power cut.
//!
//! Invariant: a file whose messages were written once more goes when the disk has
//! them, and until then no younger file goes.

use std::path::PathBuf;
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
    /// Files whose messages were written once more.
    replaced: Vec<Segment>,
}

impl OnDisk {
    /// Notes that the disk may lack something of a file.
    pub(super) fn lacks(&self, number: u64) {
        let mut lacks = self.lock();
        lacks.first = Some(lacks.first.map_or(number, |first| first.min(number)));
    }

    /// Lets a file go as soon as the disk has all that was written.
    pub(super) fn replace(&self, segment: Segment) {
        self.lock().replaced.push(segment);
    }

    /// Whether files are to go that are older than all others.
    pub(super) fn is_replacing(&self) -> bool {
        Arc::strong_count(&self.0) > 1 || !self.lock().replaced.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Lacks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the disk may not have yet.
#[derive(Debug)]
pub struct Unsynced {
    dir: PathBuf,
    /// Oldest first.
    files: Vec<Sync>,
    first: Option<u64>,
    replaced: Vec<Segment>,
    on_disk: OnDisk,
}

impl Unsynced {
    /// Waits until the disk has it.
    ///
    /// # Errors
    /// When the disk does not take it; the next one tries again.
    pub fn sync(self) -> Result<(), SpoolError> {
        if let Err(source) = self.files.iter().try_for_each(Sync::wait) {
            let mut lacks = self.on_disk.lock();
            lacks.first = [self.first, lacks.first].into_iter().flatten().min();
            lacks.replaced.extend(self.replaced);
            let path = self.dir;
            return Err(SpoolError::Write { path, source });
        }
        for old in self.replaced {
            if let Err(error) = old.remove() {
                warn!(spool = %self.dir.display(), %error, "an old file of the spool stays");
            }
        }
        Ok(())
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
        let replaced = std::mem::take(&mut lacks.replaced);
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
            on_disk: self.on_disk.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Limits, Moment};

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
}
