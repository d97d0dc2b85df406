//! A job in batches: which minion gets it next, when, and when to stop.
//!
//! The rules are those of `salt/utils/batch_state.py` (3008.5): a free place goes
//! to the next minion at once, in large batches together with others that become
//! free in the same moment, or when `batch_wait` has passed. Invariant: never more
//! than `size` minions work or are waited for.

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

/// How many minions at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BatchSize {
    /// So many.
    Minions(usize),
    /// This part of them, in percent.
    Percent(f64),
}

impl BatchSize {
    /// Reads `10`, `25%` or `%25`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.contains('%') {
            let percent: f64 = text.trim_matches('%').trim().parse().ok()?;
            return (percent.is_finite() && percent >= 0.0).then_some(Self::Percent(percent));
        }
        let count: i64 = text.parse().ok()?;
        Some(Self::Minions(usize::try_from(count.max(1)).unwrap_or(1)))
    }

    /// How many of `minions` may work at a time: at least one.
    pub fn count(self, minions: usize) -> usize {
        match self {
            Self::Minions(count) => count.max(1),
            Self::Percent(percent) => {
                #[expect(clippy::cast_precision_loss, reason = "fleets are smaller than 2^52")]
                let part = percent / 100.0 * minions as f64;
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "it is between 0 and the number of minions, or saturates"
                )]
                let count = part as usize;
                count.max(1)
            }
        }
    }
}

/// Places that become free within so long are given on together: each
/// publication goes to the whole fleet, and one for each return of a thousand
/// minions kept a master busy for as long as all the returns did not.
const TOGETHER: Duration = Duration::from_millis(50);

/// How long fewer places than a tenth of the batch wait for further ones. A fleet
/// that answers slowly is not slowed down by a publication for every two returns.
const TOGETHER_MAX: Duration = Duration::from_millis(500);

/// Batches of fewer minions give a place on at once.
const TOGETHER_FROM: usize = 10;

/// The course of a job in batches.
#[derive(Clone, Debug)]
pub struct Batch {
    pending: VecDeque<String>,
    active: BTreeSet<String>,
    /// When places whose minion has returned become free.
    waits: Vec<Instant>,
    /// Since when the first of the places is free that are given on together.
    free_since: Option<Instant>,
    size: usize,
    wait: Duration,
    failhard: bool,
    halted: bool,
}

impl Batch {
    /// A job for these minions, `size` of them at a time. Behind each return
    /// its place is kept for `wait`; with `failhard` a failure ends it all.
    pub fn new(minions: Vec<String>, size: BatchSize, wait: Duration, failhard: bool) -> Self {
        Self {
            size: size.count(minions.len()),
            pending: minions.into(),
            active: BTreeSet::new(),
            waits: Vec::new(),
            free_since: None,
            wait,
            failhard,
            halted: false,
        }
    }

    /// A job that some minions work on already, `size` at a time.
    pub fn under_way(
        active: impl IntoIterator<Item = String>,
        pending: Vec<String>,
        size: usize,
        wait: Duration,
        failhard: bool,
    ) -> Self {
        Self {
            active: active.into_iter().collect(),
            ..Self::new(pending, BatchSize::Minions(size), wait, failhard)
        }
    }

    /// The number of minions that have not got the job yet or run it.
    pub fn left(&self) -> usize {
        self.pending.len() + self.active.len()
    }

    /// Minions that have not got the job yet, in their order.
    pub fn unsent(&self) -> impl Iterator<Item = &str> {
        self.pending.iter().map(String::as_str)
    }

    /// A minion has returned, or will not: whether it failed.
    pub fn ended(&mut self, id: &str, failed: bool, now: Instant) {
        if !self.active.remove(id) {
            return;
        }
        if !self.wait.is_zero() {
            self.waits.push(now + self.wait);
        } else if self.active.is_empty() {
            // Nobody is left who could be waited for.
            self.waits.clear();
        } else if self.size >= TOGETHER_FROM {
            self.gather(now);
        }
        self.halted |= failed && self.failhard;
    }

    /// A place is free in a large batch: free places are filled together.
    fn gather(&mut self, now: Instant) {
        const SHARE: usize = 10;
        let is_first = self.waits.is_empty();
        let since = self.free_since.filter(|_| !is_first).unwrap_or(now);
        self.free_since = Some(since);
        self.waits.push(since);
        let free = self.waits.len();
        let is_enough = free >= self.size / SHARE || free >= self.pending.len();
        let until = since + if is_enough { TOGETHER } else { TOGETHER_MAX };
        self.waits.fill(until);
    }

    /// The minions that get the job now.
    pub fn dispatch(&mut self, now: Instant) -> Vec<String> {
        self.waits.retain(|until| *until > now);
        if self.halted {
            return Vec::new();
        }
        let taken = self.active.len() + self.waits.len();
        let free = self.size.saturating_sub(taken).min(self.pending.len());
        let next: Vec<String> = self.pending.drain(..free).collect();
        self.active.extend(next.iter().cloned());
        next
    }

    /// When to dispatch again if nobody returns before.
    pub fn next_timeout(&self) -> Option<Instant> {
        if self.pending.is_empty() || self.halted {
            return None;
        }
        self.waits.iter().min().copied()
    }

    /// Whether a failure has ended it.
    pub fn is_halted(&self) -> bool {
        self.halted
    }

    /// Whether there is nothing more to do or to wait for.
    pub fn is_done(&self) -> bool {
        self.halted || (self.pending.is_empty() && self.active.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(text: &str) -> Vec<String> {
        text.chars().map(String::from).collect()
    }

    #[test]
    fn sizes_are_numbers_or_parts() {
        for (text, minions, size) in [
            ("3", 10, 3),
            ("0", 10, 1),
            ("-2", 10, 1),
            ("25%", 10, 2),
            ("1%", 10, 1),
            ("%50", 10, 5),
            ("100%", 7, 7),
            ("0%", 7, 1),
        ] {
            assert_eq!(
                BatchSize::parse(text).unwrap().count(minions),
                size,
                "{text}"
            );
        }
        for text in ["", "x", "x%", "1.5", "inf%", "-1%"] {
            assert_eq!(BatchSize::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_free_place_is_given_on_at_once() {
        let now = Instant::now();
        let mut batch = Batch::new(ids("abcd"), BatchSize::Minions(2), Duration::ZERO, false);
        assert_eq!(batch.dispatch(now), ids("ab"));
        assert!(batch.dispatch(now).is_empty());
        batch.ended("a", true, now);
        batch.ended("a", true, now);
        assert_eq!(batch.dispatch(now), ids("c"));
        batch.ended("b", false, now);
        batch.ended("c", false, now);
        assert_eq!(batch.dispatch(now), ids("d"));
        assert!(!batch.is_done());
        batch.ended("d", false, now);
        assert!(batch.is_done() && !batch.is_halted());
    }

    #[test]
    fn free_places_of_a_large_batch_are_given_on_together() {
        let now = Instant::now();
        let size = BatchSize::Minions(TOGETHER_FROM);
        let mut batch = Batch::new(ids("abcdefghijklm"), size, Duration::ZERO, false);
        assert_eq!(batch.dispatch(now), ids("abcdefghij"));
        batch.ended("a", false, now);
        assert!(batch.dispatch(now).is_empty());
        assert_eq!(batch.next_timeout(), Some(now + TOGETHER));
        batch.ended("b", false, now + TOGETHER / 2);
        assert_eq!(batch.dispatch(now + TOGETHER), ids("kl"));
        assert_eq!(batch.next_timeout(), None);
        for id in ids("cdefghijkl") {
            batch.ended(&id, false, now + TOGETHER);
        }
        // All have returned: nobody else is waited for.
        assert_eq!(batch.dispatch(now + TOGETHER), ids("m"));
        batch.ended("m", false, now + TOGETHER);
        assert!(batch.is_done() && !batch.is_halted());
    }

    #[test]
    fn few_places_of_a_large_batch_wait_for_more() {
        let now = Instant::now();
        let minions: Vec<String> = (0..205).map(|n| format!("m{n}")).collect();
        let mut batch = Batch::new(minions, BatchSize::Minions(100), Duration::ZERO, false);
        let first = batch.dispatch(now);
        for id in &first[..9] {
            batch.ended(id, false, now);
        }
        assert_eq!(batch.next_timeout(), Some(now + TOGETHER_MAX));
        assert!(batch.dispatch(now + TOGETHER).is_empty());
        // A tenth of them is free.
        batch.ended(&first[9], false, now + TOGETHER);
        assert_eq!(batch.dispatch(now + TOGETHER).len(), 10);
        // A slow tenth is not waited for.
        let later = now + TOGETHER;
        batch.ended(&first[10], false, later);
        assert_eq!(batch.dispatch(later + TOGETHER_MAX).len(), 1);
        for id in &first[11..] {
            batch.ended(id, false, later + TOGETHER_MAX);
        }
        assert_eq!(batch.dispatch(later + TOGETHER_MAX + TOGETHER).len(), 89);
        // The last five are not kept for places that nobody needs.
        let last = later + TOGETHER_MAX + TOGETHER;
        for id in 100..105 {
            batch.ended(&format!("m{id}"), false, last);
        }
        assert_eq!(batch.dispatch(last + TOGETHER).len(), 5);
    }

    #[test]
    fn a_place_waits_before_it_is_given_on() {
        let now = Instant::now();
        let wait = Duration::from_secs(3);
        let mut batch = Batch::new(ids("ab"), BatchSize::Minions(1), wait, false);
        assert_eq!(batch.dispatch(now), ids("a"));
        batch.ended("a", false, now);
        assert!(batch.dispatch(now).is_empty());
        assert_eq!(batch.next_timeout(), Some(now + wait));
        assert_eq!(batch.dispatch(now + wait), ids("b"));
        assert_eq!(batch.next_timeout(), None);
    }

    #[test]
    fn a_failure_ends_it_on_demand() {
        let now = Instant::now();
        let mut batch = Batch::new(ids("abc"), BatchSize::Minions(1), Duration::ZERO, true);
        assert_eq!(batch.dispatch(now), ids("a"));
        batch.ended("a", true, now);
        assert!(batch.is_done() && batch.is_halted());
        assert!(batch.dispatch(now).is_empty());
    }
}
