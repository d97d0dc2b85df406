//! Every limit of the worker, and what happens when it is reached.

use std::time::Duration;

/// Bytes of memory (address space) that the process may have; more is a
/// `MemoryError` in its code.
pub const MEMORY_BYTES_MAX: u64 = 2 << 30;

/// Bytes of one frame; a larger one ends the process.
pub const FRAME_BYTES_MAX: usize = 100 << 20;

/// Values in one frame, names of maps among them; more ends the process. A frame of
/// short values takes thirty times its size in memory.
pub const FRAME_VALUES_MAX: usize = 4 << 20;

/// Processes at once: one stays, more are started while it is busy and ended
/// when they are not needed. At the limit a call is an error.
pub const PROCESSES_MAX: usize = 32;

/// How long the process that stays is kept without a call; the next call
/// starts a new one.
pub const IDLE_MAX: Duration = Duration::from_secs(300);

/// Lists and maps within one another in a value; deeper is an error.
pub(crate) const DEPTH_MAX: u32 = 100;

/// Seconds that are spent on loading modules of the installed Salt, to tell
/// what they have; those that are left over are not told of.
pub(crate) const CATALOG_SECONDS_MAX: u64 = 30;

/// Seconds that the process has to say that it is ready.
pub(crate) const START_SECONDS_MAX: u64 = 20;
