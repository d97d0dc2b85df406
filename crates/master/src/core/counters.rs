//! How many requests were served and refused, and which refusals are worth a
//! line in the log.
//!
//! Invariant: a flood of bad requests costs a few log lines, not one each.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use super::gate::Cause;

/// After a line about a cause, the next one comes this much later at the
/// earliest, and says how many it stands for.
pub const COMPLAINT_INTERVAL_S: i64 = 60;

/// Counts since the start.
#[derive(Debug, Default)]
pub struct Counters {
    served: AtomicU64,
    refused: [AtomicU64; Cause::ALL.len()],
    told: [AtomicU64; Cause::ALL.len()],
    told_at: [AtomicI64; Cause::ALL.len()],
}

impl Counters {
    /// Counts an answered request.
    pub fn serve(&self) {
        self.served.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a refused request. The number of refusals to speak of, this one
    /// included, if it is time to speak of them.
    pub fn refuse(&self, cause: Cause, now: i64) -> Option<u64> {
        let at = cause as usize;
        let count = self.refused[at].fetch_add(1, Ordering::Relaxed) + 1;
        let told_at = self.told_at[at].load(Ordering::Relaxed);
        let is_first = self.told[at].load(Ordering::Relaxed) == 0;
        if !is_first && now.saturating_sub(told_at) < COMPLAINT_INTERVAL_S {
            return None;
        }
        let turn =
            self.told_at[at].compare_exchange(told_at, now, Ordering::Relaxed, Ordering::Relaxed);
        if turn.is_err() {
            return None;
        }
        let told = self.told[at].swap(count, Ordering::Relaxed);
        Some(count.saturating_sub(told).max(1))
    }

    /// Requests answered so far.
    pub fn served(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }

    /// Requests refused so far for this cause.
    pub fn refused(&self, cause: Cause) -> u64 {
        self.refused[cause as usize].load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_told_once_a_minute_with_its_size() {
        let counters = Counters::default();
        assert_eq!(counters.refuse(Cause::Replayed, 1000), Some(1));
        for _ in 0..50 {
            assert_eq!(counters.refuse(Cause::Replayed, 1030), None);
        }
        assert_eq!(counters.refuse(Cause::BadToken, 1030), Some(1));
        assert_eq!(counters.refuse(Cause::Replayed, 1060), Some(51));
        assert_eq!(counters.refused(Cause::Replayed), 52);
    }

    #[test]
    fn every_cause_has_its_own_place() {
        for (n, cause) in Cause::ALL.iter().enumerate() {
            assert_eq!(*cause as usize, n);
        }
    }
}
