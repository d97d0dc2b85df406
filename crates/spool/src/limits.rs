//! Limits of a spool, and counters of what was dropped.

use std::time::Duration;

/// A segment is closed at this size and a new one begun.
pub(crate) const SEGMENT_BYTES: u64 = 1024 * 1024;

/// Files are rewritten when more than this in them is done with, and more than
/// is still pending.
pub(crate) const GARBAGE_BYTES_MIN: u64 = 256 * 1024;

/// The bounds of a spool. What is oldest is dropped first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of pending messages.
    pub bytes_max: u64,
    /// Age of a pending message.
    pub age_max: Duration,
}

/// Messages that a limit, or the disk, has cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Because there were too many bytes.
    pub too_much: u64,
    /// Because they were too old.
    pub too_old: u64,
    /// Because the disk does not give them back.
    pub unreadable: u64,
}

impl Dropped {
    /// All of them.
    pub fn total(self) -> u64 {
        self.too_much + self.too_old + self.unreadable
    }
}
