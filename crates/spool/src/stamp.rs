//! The time stamp before each payload on disk: when it was appended.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Bytes of the time.
pub(crate) const TIME_BYTES: usize = 8;

/// A payload behind its time.
pub(crate) fn stamped(now: SystemTime, payload: &[u8]) -> Vec<u8> {
    let mut stamped = Vec::with_capacity(TIME_BYTES + payload.len());
    stamped.extend_from_slice(&micros(now).to_le_bytes());
    stamped.extend_from_slice(payload);
    stamped
}

/// Microseconds since 1970.
fn micros(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// The time in front of a payload, and the payload.
pub(crate) fn split(stamped: &[u8]) -> (SystemTime, &[u8]) {
    match stamped.split_first_chunk::<TIME_BYTES>() {
        Some((time, payload)) => {
            let micros = u64::from_le_bytes(*time);
            let time = UNIX_EPOCH.checked_add(Duration::from_micros(micros));
            (time.unwrap_or(UNIX_EPOCH), payload)
        }
        None => (UNIX_EPOCH, stamped),
    }
}
