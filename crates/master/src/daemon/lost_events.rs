//! What the log says of events that the returners were too slow for.
//!
//! Invariant: all of them are counted and said, with a line a minute at most.

use std::time::Instant;

use crate::core::storms::Storms;

/// Counts events that were lost.
#[derive(Debug, Default)]
pub(super) struct LostEvents {
    known: u64,
    storms: Storms,
}

impl LostEvents {
    /// So many have been lost until now.
    pub(super) fn report(&mut self, lost: u64, now: Instant) {
        self.count(lost);
        say(self.storms.dropped(now));
    }

    /// So many have been lost in all.
    pub(super) fn end(&mut self, lost: u64) {
        self.count(lost);
        say(self.storms.rest());
    }

    fn count(&mut self, lost: u64) {
        self.storms.drop(lost.saturating_sub(self.known));
        self.known = lost;
    }
}

fn say(count: Option<u64>) {
    if let Some(count) = count {
        tracing::error!("{count} events were not stored: the returners of events are too slow");
    }
}
