//! Flushing appended messages to the disk, so that they survive a power cut.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Spool;
use crate::error::SpoolError;
use crate::segment::{Segment, Sync};

/// What the disk may not have yet.
#[derive(Debug)]
pub struct Unsynced {
    dir: std::path::PathBuf,
    sync: Sync,
    /// The spool's own.
    dirty: Arc<AtomicBool>,
}

impl Unsynced {
    /// Waits until the disk has it.
    ///
    /// # Errors
    /// When the disk does not take it; the next one tries again.
    pub fn sync(self) -> Result<(), SpoolError> {
        self.sync.wait().map_err(|source| {
            self.dirty.store(true, Ordering::Release);
            SpoolError::Write {
                path: self.dir,
                source,
            }
        })
    }
}

impl Spool {
    /// Makes all that was appended survive a power cut.
    ///
    /// # Errors
    /// When the disk does not take it; it is tried again at the next call.
    pub fn sync(&mut self) -> Result<(), SpoolError> {
        let Some(unsynced) = self.to_sync()? else {
            return Ok(());
        };
        unsynced.sync()
    }

    /// As [`Self::sync`] for a spool behind a lock: what has to be waited for,
    /// without the spool; `None` if there is nothing to wait for.
    ///
    /// # Errors
    /// When the system has no more file descriptors.
    pub fn to_sync(&mut self) -> Result<Option<Unsynced>, SpoolError> {
        if !self.dirty.swap(false, Ordering::AcqRel) || self.pending.is_empty() {
            return Ok(None);
        }
        let sync = self.segments.back().map(Segment::unsynced).transpose();
        let sync = sync.map_err(|source| {
            self.dirty.store(true, Ordering::Release);
            self.write_error(source)
        })?;
        let dir = self.dir.clone();
        let dirty = Arc::clone(&self.dirty);
        Ok(sync.map(|sync| Unsynced { dir, sync, dirty }))
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
            spool.to_sync().unwrap().unwrap().sync().unwrap_err();
            std::fs::rename(&aside, &dir).unwrap();
        }
        spool.to_sync().unwrap().unwrap().sync().unwrap();
        assert!(spool.to_sync().unwrap().is_none());
        // Now the disk has it.
        spool.append(Moment::now(), b"second").unwrap();
        std::fs::rename(&dir, &aside).unwrap();
        spool.to_sync().unwrap().unwrap().sync().unwrap();
    }
}
