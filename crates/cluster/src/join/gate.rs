//! How many may try to join.

use std::time::{Duration, Instant};

use crate::limits::{JOIN_FAILURES_PER_MINUTE_MAX, JOINS_AT_ONCE_MAX};

const MINUTE: Duration = Duration::from_secs(60);

/// Bounds what joins cost a member, whoever tries.
#[derive(Debug)]
pub struct Gate {
    under_way: usize,
    failures: u32,
    since: Instant,
}

impl Gate {
    /// A gate at which nobody has tried yet.
    pub fn new(now: Instant) -> Self {
        Self {
            under_way: 0,
            failures: 0,
            since: now,
        }
    }

    /// Whether another handshake may begin; it ends with [`end`](Self::end).
    pub fn begin(&mut self, now: Instant) -> bool {
        if now.saturating_duration_since(self.since) >= MINUTE {
            self.since = now;
            self.failures = 0;
        }
        let may =
            self.under_way < JOINS_AT_ONCE_MAX && self.failures < JOIN_FAILURES_PER_MINUTE_MAX;
        self.under_way += usize::from(may);
        may
    }

    /// A handshake has ended.
    pub fn end(&mut self, has_joined: bool) {
        self.under_way = self.under_way.saturating_sub(1);
        self.failures = self.failures.saturating_add(u32::from(!has_joined));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_counted_by_the_minute() {
        let now = Instant::now();
        let mut gate = Gate::new(now);
        for _ in 0..JOIN_FAILURES_PER_MINUTE_MAX {
            assert!(gate.begin(now));
            gate.end(false);
        }
        assert!(!gate.begin(now));
        assert!(gate.begin(now + MINUTE));
    }

    #[test]
    fn so_many_are_under_way_at_a_time() {
        let now = Instant::now();
        let mut gate = Gate::new(now);
        assert!((0..JOINS_AT_ONCE_MAX).all(|_| gate.begin(now)));
        assert!(!gate.begin(now));
        gate.end(true);
        assert!(gate.begin(now));
    }
}
