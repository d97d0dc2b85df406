//! How much a queue may hold and how long it may take.

use std::time::Duration;

/// Longest name of a queue. A longer one is refused.
pub const NAME_BYTES_MAX: usize = 64;

/// Largest item. A larger one is refused.
pub const ITEM_BYTES_MAX: usize = 1024 * 1024;

/// Largest file of a queue. What would make it larger is refused.
pub const QUEUE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// How long others may keep a file locked, as Python's library waits for it.
pub const BUSY_TIME_MAX: Duration = Duration::from_secs(5);
