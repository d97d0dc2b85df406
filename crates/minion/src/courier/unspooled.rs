//! Returns that could not be written to the disk. They wait in memory until they
//! can be, or until a master has acknowledged them.
//!
//! Invariant: numbers are unique, also against those of the spool on disk.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use halite_spool::{Moment, Pending};

use crate::limits::UNSPOOLED_BYTES_MAX;

/// Set in the number of every return in memory, never in that of a spooled one.
const IN_MEMORY: u64 = 1 << 63;

/// Returns in memory, oldest first.
#[derive(Debug, Default)]
pub(super) struct Unspooled {
    returns: VecDeque<HeldReturn>,
    bytes: usize,
    next: u64,
}

/// A return in memory.
#[derive(Debug)]
pub(super) struct HeldReturn {
    /// Its number.
    pub(super) sequence: u64,
    /// The packed return.
    pub(super) packed: Vec<u8>,
    since: Instant,
}

impl Unspooled {
    /// Whether a number belongs to a return in memory.
    pub(super) fn has_number(sequence: u64) -> bool {
        sequence & IN_MEMORY != 0
    }

    pub(super) fn len(&self) -> usize {
        self.returns.len()
    }

    /// Their bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How long the oldest has waited.
    pub(super) fn oldest_age(&self, now: Moment) -> Option<Duration> {
        let oldest = self.returns.front()?;
        Some(now.steady.saturating_duration_since(oldest.since))
    }

    /// Stores a return. Returns its number, and how many older ones were dropped to make
    /// room.
    pub(super) fn put(&mut self, now: Moment, packed: Vec<u8>) -> (u64, usize) {
        let mut dropped = 0;
        while self.bytes + packed.len() > UNSPOOLED_BYTES_MAX
            && let Some(oldest) = self.returns.pop_front()
        {
            self.bytes -= oldest.packed.len();
            dropped += 1;
        }
        let sequence = IN_MEMORY | self.next;
        self.next += 1;
        self.bytes += packed.len();
        self.returns.push_back(HeldReturn {
            sequence,
            packed,
            since: now.steady,
        });
        (sequence, dropped)
    }

    /// Removes and returns the oldest one whose number `wanted` accepts.
    pub(super) fn take(&mut self, wanted: impl Fn(u64) -> bool) -> Option<HeldReturn> {
        let returns = self.returns.iter();
        let at = returns.map(|held| held.sequence).position(wanted)?;
        let taken = self.returns.remove(at)?;
        self.bytes -= taken.packed.len();
        Some(taken)
    }

    /// Puts back what `take` has removed.
    pub(super) fn give_back(&mut self, held: HeldReturn) {
        self.bytes += held.packed.len();
        let after = |known: &HeldReturn| known.sequence < held.sequence;
        let at = self.returns.partition_point(after);
        self.returns.insert(at, held);
    }

    /// Drops what has waited for longer than `age_max`. Returns how many.
    pub(super) fn expire(&mut self, now: Moment, age_max: Duration) -> usize {
        let before = self.returns.len();
        let age = |held: &HeldReturn| now.steady.saturating_duration_since(held.since);
        while let Some(oldest) = self.returns.front()
            && age(oldest) > age_max
        {
            self.bytes -= oldest.packed.len();
            self.returns.pop_front();
        }
        before - self.returns.len()
    }

    /// Copies of the oldest ones whose numbers `wanted` accepts, at most `count`.
    pub(super) fn pending(
        &self,
        now: Moment,
        count: usize,
        wanted: impl Fn(u64) -> bool,
    ) -> Vec<Pending> {
        let returns = self.returns.iter();
        let wanted = returns.filter(|held| wanted(held.sequence));
        let pending = wanted.take(count).map(|held| Pending {
            sequence: held.sequence,
            age: now.steady.saturating_duration_since(held.since),
            payload: held.packed.clone(),
        });
        pending.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any(_: u64) -> bool {
        true
    }

    #[test]
    fn returns_wait_in_order_within_bounds() {
        let now = Moment::now();
        let mut unspooled = Unspooled::default();
        let third = UNSPOOLED_BYTES_MAX / 3;
        let put = |unspooled: &mut Unspooled, bytes| unspooled.put(now, vec![0; bytes]);
        let (first, _) = put(&mut unspooled, third);
        let (second, _) = put(&mut unspooled, third);
        let (third_one, dropped) = put(&mut unspooled, third);
        assert_eq!(dropped, 0);
        assert!(Unspooled::has_number(first) && !Unspooled::has_number(1));
        let taken = unspooled.take(|sequence| sequence == second).unwrap();
        unspooled.give_back(taken);
        let numbers = |unspooled: &Unspooled| -> Vec<u64> {
            let pending = unspooled.pending(now, 9, any);
            pending.iter().map(|held| held.sequence).collect()
        };
        assert_eq!(numbers(&unspooled), [first, second, third_one]);
        let (fourth, dropped) = put(&mut unspooled, third);
        assert_eq!(
            (dropped, numbers(&unspooled)),
            (1, vec![second, third_one, fourth])
        );
        // One that is larger than all may be is kept alone.
        let (large, dropped) = put(&mut unspooled, UNSPOOLED_BYTES_MAX + 1);
        assert_eq!((dropped, numbers(&unspooled)), (3, vec![large]));
        while unspooled.take(any).is_some() {}
        assert_eq!((unspooled.len(), unspooled.bytes), (0, 0));
    }

    #[test]
    fn what_waits_too_long_goes() {
        let mut unspooled = Unspooled::default();
        let begin = Moment::now();
        let after = |seconds| Moment {
            steady: begin.steady + Duration::from_secs(seconds),
            ..begin
        };
        unspooled.put(begin, vec![1]);
        unspooled.put(after(50), vec![2]);
        assert_eq!(unspooled.expire(after(61), Duration::from_secs(60)), 1);
        let left = unspooled.pending(after(61), 9, any);
        assert_eq!((left.len(), left[0].age), (1, Duration::from_secs(11)));
    }
}
