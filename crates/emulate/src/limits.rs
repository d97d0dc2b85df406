//! Every limit of this crate, and what happens when it is reached.

use std::time::Duration;

/// Minions of one process at most. More are refused.
pub const MINIONS_MAX: u32 = 100_000;

/// The largest state run that a minion makes up, in bytes. More are refused.
pub const STATE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Durations of one kind that are kept for percentiles; later ones are counted,
/// and not kept.
pub const SAMPLES_MAX: usize = 200_000;

/// Threads that run jobs. More jobs wait for one.
pub const JOB_THREADS_MAX: usize = 64;

/// Minions that are made ready at the same time: each reads keys and makes
/// directories.
pub const STARTING_MAX: usize = 8;

/// Events on their way at the same time. Further ones are not sent, which is
/// counted.
pub const EVENTS_IN_FLIGHT_MAX: usize = 10_000;

/// How long the minions may take to end.
pub const STOP_MAX: Duration = Duration::from_secs(10);

/// Descriptors that are kept for everything that is no minion.
pub const DESCRIPTORS_KEPT: u64 = 64;

/// Descriptors of one minion's own files: claims and the spool.
pub const DESCRIPTORS_PER_MINION: u64 = 2;

/// Descriptors of one link at most: the subscription's connection, and up to four of
/// requests while several are on their way.
pub const DESCRIPTORS_PER_LINK: u64 = 5;
