//! The time of day, for the shell around the pure core.

use std::time::{SystemTime, UNIX_EPOCH};

/// Microseconds since 1970.
pub(crate) fn now_micros() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Seconds since 1970.
pub(crate) fn now_s() -> i64 {
    i64::try_from(now_micros() / 1_000_000).unwrap_or(i64::MAX)
}
