//! The time of day in messages and files. Before 1970 it is zero.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};

/// Microseconds since 1970.
pub fn unix_micros() -> u64 {
    u64::try_from(since_1970().as_micros()).unwrap_or(u64::MAX)
}

/// Seconds since 1970.
pub fn unix_seconds() -> u64 {
    since_1970().as_secs()
}

/// Seconds since 1970, as Salt's stamps are compared.
pub fn unix_timestamp() -> i64 {
    i64::try_from(unix_seconds()).unwrap_or(i64::MAX)
}

/// Seconds since 1970, with their fraction.
pub fn unix_seconds_f64() -> f64 {
    since_1970().as_secs_f64()
}

/// The processor time that this thread has used so far.
pub fn thread_time() -> Duration {
    // There is always one for the thread that asks.
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

fn since_1970() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}
