//! The counters of a herd's minions.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::limits::SAMPLES_MAX;

/// Counts of a herd, over all its minions and their links.
#[derive(Debug, Default)]
pub struct Tally {
    /// Minions that run.
    pub running: AtomicU64,
    /// Links that are ready now.
    pub ready: AtomicU64,
    /// Times that a link became ready.
    pub joined: AtomicU64,
    /// Times that a link that was ready was lost.
    pub lost: AtomicU64,
    /// Jobs that were taken.
    pub jobs: AtomicU64,
    /// When the last one was, in microseconds of Unix time.
    pub last_job: AtomicU64,
    /// Returns that the master that asked has acknowledged.
    pub acknowledged: AtomicU64,
    /// Returns that wait in a spool, or waited there.
    pub spooled: AtomicU64,
    /// Events that a master has taken.
    pub events: AtomicU64,
    /// Events that no master has taken, or that were not sent.
    pub events_failed: AtomicU64,
    /// Minions that could not be started.
    pub failed: AtomicU64,
    /// Links that have been ready.
    pub ready_once: ReadyOnce,
    /// From the start of a minion to its link being ready; a minion that is started
    /// again counts again.
    pub first_ready: Samples,
    /// From the loss of a link to its being ready again.
    pub ready_again: Samples,
    /// From an event's sending to its acknowledgement.
    pub event_times: Samples,
}

/// Which links have been ready, each counted once, however often its minion is started
/// again.
#[derive(Debug, Default)]
pub struct ReadyOnce {
    were: Box<[AtomicBool]>,
    count: AtomicU64,
}

/// Durations of one kind.
#[derive(Debug, Default)]
pub struct Samples(Mutex<Vec<u32>>);

/// Percentiles of durations, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Percentiles {
    /// How many there are.
    pub count: usize,
    /// Half of them are no longer.
    pub p50_ms: u32,
    /// 99 of a hundred are no longer.
    pub p99_ms: u32,
    /// None is longer.
    pub max_ms: u32,
}

/// Adds to a count.
pub fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Reads a count.
pub fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Tally {
    /// For so many links.
    pub fn for_links(links: usize) -> Self {
        Self {
            ready_once: ReadyOnce {
                were: (0..links).map(|_| AtomicBool::new(false)).collect(),
                count: AtomicU64::new(0),
            },
            ..Self::default()
        }
    }

    /// A job has been taken now.
    pub fn take_job(&self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let micros = now.map_or(0, |now| u64::try_from(now.as_micros()).unwrap_or(u64::MAX));
        self.last_job.fetch_max(micros, Ordering::Relaxed);
        count(&self.jobs);
    }
}

impl ReadyOnce {
    /// The link with this number is ready.
    pub fn record(&self, link: usize) {
        let is_new = (self.were.get(link)).is_some_and(|was| !was.swap(true, Ordering::Relaxed));
        if is_new {
            count(&self.count);
        }
    }

    /// How many links have been.
    pub fn count(&self) -> u64 {
        read(&self.count)
    }
}

impl Samples {
    /// Adds a duration, unless there are too many already.
    pub fn add(&self, took: Duration) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < SAMPLES_MAX {
            all.push(u32::try_from(took.as_millis()).unwrap_or(u32::MAX));
        }
    }

    /// Their percentiles.
    pub fn percentiles(&self) -> Percentiles {
        let mut all = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        all.sort_unstable();
        let at = |percent: usize| {
            let index = (all.len() * percent).div_ceil(100).saturating_sub(1);
            all.get(index).copied().unwrap_or(0)
        };
        Percentiles {
            count: all.len(),
            p50_ms: at(50),
            p99_ms: at(99),
            max_ms: at(100),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_is_ready_again_is_counted_once() {
        let tally = Tally::for_links(3);
        for link in [0, 2, 0, 2, 2, 3] {
            tally.ready_once.record(link);
        }
        assert_eq!(tally.ready_once.count(), 2);
    }

    #[test]
    fn percentiles_are_those_of_the_samples() {
        let samples = Samples::default();
        assert_eq!(samples.percentiles(), Percentiles::default());
        for ms in (1..=200).rev() {
            samples.add(Duration::from_millis(ms));
        }
        let expected = Percentiles {
            count: 200,
            p50_ms: 100,
            p99_ms: 198,
            max_ms: 200,
        };
        assert_eq!(samples.percentiles(), expected);
    }
}
