//! Limits how many joins may fail. The number of concurrent joins is limited by
//! their connections.
//!
//! Invariant: failures of one caller take nothing from others, until very many have
//! failed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::limits::{JOIN_FAILURES_MAX, JOIN_FAILURES_PER_ORIGIN_MAX};

const MINUTE: Duration = Duration::from_secs(60);

/// Bounds what joins cost a member, and how often its secret is guessed. `Origin` is
/// whom a failure is reckoned to.
#[derive(Debug)]
pub struct Gate<Origin> {
    /// The failures of this minute.
    failures: BTreeMap<Origin, u32>,
    since: Instant,
}

impl<Origin: Ord> Gate<Origin> {
    /// A gate at which nobody has tried yet.
    pub fn new(now: Instant) -> Self {
        Self {
            failures: BTreeMap::new(),
            since: now,
        }
    }

    /// Whether a handshake with whoever is there may begin.
    pub fn admits(&mut self, from: &Origin, now: Instant) -> bool {
        if now.saturating_duration_since(self.since) >= MINUTE {
            self.since = now;
            self.failures.clear();
        }
        let own = self.failures.get(from).copied().unwrap_or_default();
        let all: u32 = self.failures.values().sum();
        own < JOIN_FAILURES_PER_ORIGIN_MAX && all < JOIN_FAILURES_MAX
    }

    /// A handshake has come to nothing.
    pub fn failed(&mut self, from: Origin) {
        *self.failures.entry(from).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_fails_keeps_nobody_else_away() {
        let now = Instant::now();
        let mut gate = Gate::new(now);
        for _ in 0..JOIN_FAILURES_PER_ORIGIN_MAX {
            assert!(gate.admits(&1, now));
            gate.failed(1);
        }
        assert!(!gate.admits(&1, now) && gate.admits(&2, now));
        assert!(gate.admits(&1, now + MINUTE));
    }

    #[test]
    fn very_many_failures_shut_it_for_all() {
        let now = Instant::now();
        let mut gate = Gate::new(now);
        for number in 0..JOIN_FAILURES_MAX {
            assert!(gate.admits(&number, now));
            gate.failed(number);
        }
        assert!(!gate.admits(&u32::MAX, now) && gate.admits(&u32::MAX, now + MINUTE));
    }
}
