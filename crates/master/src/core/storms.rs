//! The log lines about a reactor, or another reader of the bus, with too many events.
//!
//! Invariant: however many events there are, they cost a bounded number of lines a
//! minute and a bounded number of tags in memory; all dropped events are counted
//! and reported.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How often the same is said, and what events are counted over.
const INTERVAL: Duration = Duration::from_secs(60);

/// An exact tag that calls for files more often in an interval may be fired by
/// its own reaction.
const SUSPICIOUS: u32 = 600;

/// Tags that are counted in an interval.
const TAGS_MAX: usize = 10_000;

/// Counts events.
#[derive(Debug, Default)]
pub struct Storms {
    since: Option<Instant>,
    counts: HashMap<String, u32>,
    dropped: u64,
    told: Option<Instant>,
}

impl Storms {
    /// Counts an event that calls for files; true when it comes so often that
    /// it should be said, once in an interval.
    pub fn is_suspicious(&mut self, tag: &str, now: Instant) -> bool {
        let is_over = |since: Instant| now.duration_since(since) >= INTERVAL;
        if self.since.is_none_or(is_over) {
            self.since = Some(now);
            self.counts = HashMap::new();
        }
        if let Some(count) = self.counts.get_mut(tag) {
            *count = count.saturating_add(1);
            return *count == SUSPICIOUS;
        }
        if self.counts.len() < TAGS_MAX {
            self.counts.insert(tag.to_owned(), 1);
        }
        false
    }

    /// Counts events that trigger nothing because there is no room.
    pub fn drop(&mut self, count: u64) {
        self.dropped += count;
    }

    /// The number of dropped events that were not logged yet, if it is time to log them.
    pub fn dropped(&mut self, now: Instant) -> Option<u64> {
        let is_time = |told: Instant| now.duration_since(told) >= INTERVAL;
        if self.dropped == 0 || !self.told.is_none_or(is_time) {
            return None;
        }
        self.told = Some(now);
        Some(std::mem::take(&mut self.dropped))
    }

    /// The number of dropped events that were not logged yet, at the end.
    pub fn rest(&mut self) -> Option<u64> {
        match std::mem::take(&mut self.dropped) {
            0 => None,
            dropped => Some(dropped),
        }
    }

    /// When it is time to say what was dropped, if anything was.
    pub fn due_at(&self) -> Option<Instant> {
        let told = self.told.filter(|_| self.dropped > 0)?;
        Some(told + INTERVAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_that_fires_itself_is_told_of_once_in_an_interval() {
        let (start, mut storms) = (Instant::now(), Storms::default());
        let mut told = |now: Instant, times: u32| {
            (0..times)
                .filter(|_| storms.is_suspicious("my/tag", now))
                .count()
        };
        assert_eq!(told(start, SUSPICIOUS - 1), 0);
        assert_eq!(told(start, SUSPICIOUS), 1);
        assert_eq!(told(start + INTERVAL, SUSPICIOUS), 1);
        for n in 0..TAGS_MAX * 2 {
            storms.is_suspicious(&n.to_string(), start + INTERVAL);
        }
        assert_eq!(storms.counts.len(), TAGS_MAX);
    }

    #[test]
    fn what_was_dropped_is_counted_until_it_is_told() {
        let (start, mut storms) = (Instant::now(), Storms::default());
        assert_eq!(storms.dropped(start), None);
        storms.drop(1);
        assert_eq!(storms.dropped(start), Some(1));
        assert_eq!(storms.due_at(), None);
        storms.drop(2);
        storms.drop(3);
        assert_eq!(storms.dropped(start), None);
        assert_eq!(storms.due_at(), Some(start + INTERVAL));
        assert_eq!(storms.dropped(start + INTERVAL), Some(5));
        assert_eq!(storms.rest(), None);
        storms.drop(4);
        assert_eq!(storms.dropped(start + INTERVAL), None);
        assert_eq!(storms.rest(), Some(4));
    }
}
