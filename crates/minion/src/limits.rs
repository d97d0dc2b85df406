//! The bounds of everything that could grow, and what happens there.

use std::time::Duration;

/// Jobs that run at the same time when `process_count_max` sets no bound. More
/// wait in order; functions that look after jobs (`saltutil.find_job` ...) run
/// beside them.
pub const JOBS_RUNNING_MAX: usize = 64;

/// Jobs that wait for a place. More are answered at once with an error return,
/// so that nobody waits for them.
pub const JOBS_WAITING_MAX: usize = 10_000;

/// Publications of one link that wait for new credentials because they did not
/// open with the present ones. The oldest is dropped.
pub const PUBLICATIONS_HELD_MAX: usize = 64;

/// Messages to a link's task that may wait. Senders wait.
pub const LINK_INPUTS_MAX: usize = 64;

/// How long a job waits for the first pillar of the master that sent it.
pub const FIRST_PILLAR_WAIT: Duration = Duration::from_secs(60);

/// How long a request waits for its link to be signed in (again).
pub const SIGNED_IN_WAIT: Duration = Duration::from_secs(30);

/// How long the minion waits for its jobs and links when it is told to stop.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(4);

/// Threads that run jobs and blocking work, at most.
pub const THREADS_MAX: usize = JOBS_RUNNING_MAX * 2;

/// Returns on their way to masters at the same time. More wait in the spool.
pub const DELIVERIES_MAX: usize = 32;

/// How long a master may take to acknowledge a return before another try.
pub const DELIVERY_TIMEOUT: Duration = Duration::from_secs(15);

/// How long a new return may be in the system's cache before the disk has it.
pub const SPOOL_SYNC_INTERVAL: Duration = Duration::from_millis(50);

/// Bytes of returns that may wait for a master (`return_spool_bytes`); the
/// oldest are dropped.
pub const SPOOL_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// How long a return may wait for a master (`return_spool_age`).
pub const SPOOL_AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
