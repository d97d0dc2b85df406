//! Every limit of the worker, and what happens when it is reached.

use std::time::Duration;

/// Bytes of memory (address space) that the process may have; beyond it, its code gets a
/// `MemoryError`.
pub const MEMORY_BYTES_MAX: u64 = 2 << 30;

/// Bytes of one frame; a larger one ends the process.
pub const FRAME_BYTES_MAX: usize = 100 << 20;

/// Values in one frame, including the keys of maps; more ends the process. A frame of
/// short values takes thirty times its size in memory.
pub const FRAME_VALUES_MAX: usize = 4 << 20;

/// Processes at once. One stays; more are started while it is busy, and ended when they
/// are not needed. At the limit, a call is an error.
pub const PROCESSES_MAX: usize = 32;

/// How long the staying process is kept without a call. The next call starts a new one.
pub const IDLE_MAX: Duration = Duration::from_secs(300);

/// How deep lists and maps may be nested in a value; deeper nesting is an error.
pub(crate) const DEPTH_MAX: u32 = 100;

/// Seconds for loading the modules of the installed Salt to list their functions. Modules
/// that were not loaded by then are left out.
pub(crate) const CATALOG_SECONDS_MAX: u64 = 30;

/// Seconds in which the process must report that it is ready.
pub(crate) const START_SECONDS_MAX: u64 = 20;
