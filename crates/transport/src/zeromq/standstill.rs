//! How long a request may make no progress before it is dropped.
//!
//! Invariant: a time limit counts while no byte moves, whatever the size. Bytes
//! that have left this machine may be in buffers on the way, so a larger request
//! may stand still for longer.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::limits::{BUFFERED_ON_THE_WAY_BYTES_MAX, PROGRESS_CHECK, SLOWEST_WIRE_BYTES_PER_S};

/// The wire that a request is on, as its lane finds out.
#[derive(Debug)]
pub(super) struct Wire(AtomicI32);

impl Wire {
    const NONE: RawFd = -1;

    pub(super) fn new() -> Self {
        Self(AtomicI32::new(Self::NONE))
    }

    pub(super) fn set(&self, descriptor: Option<RawFd>) {
        self.0
            .store(descriptor.unwrap_or(Self::NONE), Ordering::Relaxed);
    }

    fn bytes_moved(&self) -> Option<u64> {
        match self.0.load(Ordering::Relaxed) {
            Self::NONE => None,
            descriptor => halite_process::tcp_progress::bytes_moved(descriptor),
        }
    }
}

/// When a request is dropped.
#[derive(Debug)]
pub(super) struct Standstill {
    /// For how long nothing may move.
    allowed: Duration,
    /// `None` where that is beyond the clock's range.
    deadline: Option<Instant>,
    moved: Option<u64>,
}

impl Standstill {
    /// For a request of `bytes` whose sender would wait for `timeout` if it
    /// were small.
    pub(super) fn new(since: Instant, timeout: Duration, bytes: usize) -> Self {
        let buffered = bytes.min(BUFFERED_ON_THE_WAY_BYTES_MAX);
        let millis = buffered.saturating_mul(1000) / SLOWEST_WIRE_BYTES_PER_S;
        let slack = Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX));
        let allowed = timeout.saturating_add(slack);
        Self {
            allowed,
            deadline: since.checked_add(allowed),
            moved: None,
        }
    }

    /// Records how much has moved by now.
    fn look(&mut self, now: Instant, moved: Option<u64>) {
        // The first look has nothing to compare with, and a new connection has
        // counted from its own beginning.
        if moved.is_some() && self.moved.is_some() && moved != self.moved {
            self.deadline = now.checked_add(self.allowed);
        }
        self.moved = moved.or(self.moved);
    }

    /// Returns once the request has stood still for too long.
    pub(super) async fn passed(mut self, wire: &Wire) {
        loop {
            let now = Instant::now();
            self.look(now, wire.bytes_moved());
            let next = now + PROGRESS_CHECK;
            match self.deadline {
                Some(deadline) if deadline <= now => return,
                Some(deadline) => sleep_until(deadline.min(next)).await,
                None => std::future::pending().await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test]
    async fn what_moves_has_time_and_what_stands_has_not() {
        let begin = Instant::now();
        let mut limit = Standstill::new(begin, 5 * SECOND, 0);
        assert_eq!(limit.deadline, Some(begin + 5 * SECOND));
        limit.look(begin, Some(1000));
        assert_eq!(limit.deadline, Some(begin + 5 * SECOND));
        limit.look(begin + 4 * SECOND, Some(1001));
        assert_eq!(limit.deadline, Some(begin + 9 * SECOND));
        limit.look(begin + 8 * SECOND, Some(1001));
        limit.look(begin + 8 * SECOND, None);
        assert_eq!(limit.deadline, Some(begin + 9 * SECOND));
    }

    #[tokio::test]
    async fn a_large_request_may_lie_in_buffers_on_the_way_for_longer() {
        let begin = Instant::now();
        let allowed = |bytes| Standstill::new(begin, 5 * SECOND, bytes).allowed;
        assert_eq!(allowed(SLOWEST_WIRE_BYTES_PER_S), 6 * SECOND);
        let most = allowed(BUFFERED_ON_THE_WAY_BYTES_MAX);
        assert_eq!(allowed(usize::MAX), most);
        let endless = Standstill::new(begin, Duration::MAX, usize::MAX);
        assert_eq!(endless.deadline, None);
    }
}
