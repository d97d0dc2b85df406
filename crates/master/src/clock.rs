//! The time of day, for the shell around the pure core.

pub(crate) use halite_process::clock::{thread_time, unix_micros as now_micros};

/// Seconds since 1970.
pub(crate) fn now_s() -> i64 {
    i64::try_from(now_micros() / 1_000_000).unwrap_or(i64::MAX)
}
