//! More time for operations that nobody waits for.
//!
//! Invariant: it applies only to operations of the thread that asks for it.

use std::cell::Cell;
use std::time::Duration;

thread_local! {
    static LIMIT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Gives the former limit back, however the work ends.
struct Restore(Duration);

impl Drop for Restore {
    fn drop(&mut self) {
        LIMIT.set(self.0);
    }
}

/// Does something whose operations on servers may each take up to `limit` where
/// that is longer than the limit of the server. Connecting takes no longer.
pub fn with_patience<T>(limit: Duration, work: impl FnOnce() -> T) -> T {
    let _restore = Restore(LIMIT.replace(limit));
    work()
}

/// How long an operation of this thread may take at least.
pub(crate) fn limit() -> Duration {
    LIMIT.get()
}
