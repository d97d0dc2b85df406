//! Removing old jobs.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::atomic::entries;
use super::jobs::{JID, Jobs};
use crate::error::StoreError;
use crate::kept::Cleaned;
use crate::limits::BROKEN_JOB_AGE_S;

impl Jobs {
    pub(crate) fn clean(&self, keep: Duration, now: SystemTime) -> Result<Cleaned, StoreError> {
        self.clean_publishers(keep, now)?;
        let mut cleaned = Cleaned::default();
        for shard in entries(&self.dir)? {
            let shard = shard.path();
            if !shard.is_dir() {
                continue;
            }
            let mut left = 0_usize;
            for job in entries(&shard)? {
                let dir = job.path();
                cleaned.seen += 1;
                if !is_old(&dir, keep, now) {
                    left += 1;
                } else if let Err(error) = remove_tree(&dir) {
                    tracing::warn!(path = %dir.display(), %error, "could not remove an old job");
                    cleaned.failed += 1;
                    left += 1;
                } else {
                    cleaned.removed += 1;
                }
            }
            if left == 0 {
                // A job that comes in between keeps it, or makes it again.
                let _ = fs::remove_dir(&shard);
            }
        }
        if cleaned.removed > 0 {
            self.forget_recent();
        }
        self.index.unsettle();
        // Last: on a full disk there is room for it now.
        self.write_all_seen();
        Ok(cleaned)
    }
}

/// The time of the `jid` file counts: returns do not make a job younger, and
/// nor does a change of owner.
fn is_old(dir: &Path, keep: Duration, now: SystemTime) -> bool {
    let age_of = |path: &Path| -> io::Result<Option<Duration>> {
        let modified = fs::symlink_metadata(path)?.modified()?;
        Ok(now.duration_since(modified).ok())
    };
    match age_of(&dir.join(JID)) {
        Ok(age) => age.is_some_and(|age| age > keep),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let broken = Duration::from_secs(BROKEN_JOB_AGE_S);
            matches!(age_of(dir), Ok(Some(age)) if age > broken)
        }
        Err(_) => false,
    }
}

fn remove_tree(path: &Path) -> io::Result<()> {
    let removed = if fs::symlink_metadata(path)?.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
