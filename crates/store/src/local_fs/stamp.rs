//! Identifies a version of a file: one that is replaced is another file.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// A directory that has not changed for so long is not about to change within
/// the same tick of its clock.
const SETTLED: Duration = Duration::from_millis(100);

/// The identity of a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    modified: (i64, i64),
}

impl From<&fs::Metadata> for Stamp {
    fn from(data: &fs::Metadata) -> Self {
        Self {
            inode: data.ino(),
            modified: (data.mtime(), data.mtime_nsec()),
        }
    }
}

impl Stamp {
    /// The stamp of what is there now, `None` if there is nothing.
    pub(super) fn of(path: &Path) -> Option<Self> {
        Some(Self::from(&fs::metadata(path).ok()?))
    }

    /// The file, whatever has been written to it.
    pub(super) fn inode(self) -> u64 {
        self.inode
    }

    /// Whether a further change would show.
    pub(super) fn is_settled(self) -> bool {
        self.is_older_than(SETTLED, SystemTime::now())
    }

    /// Whether the last change was longer ago than `age`.
    pub(super) fn is_older_than(self, age: Duration, now: SystemTime) -> bool {
        let (seconds, nanos) = self.modified;
        let since = Duration::new(
            u64::try_from(seconds).unwrap_or_default(),
            u32::try_from(nanos).unwrap_or_default(),
        );
        let now = now.duration_since(SystemTime::UNIX_EPOCH);
        now.is_ok_and(|now| now.saturating_sub(since) > age)
    }
}
