//! Returns that the disk does not take: they wait in memory until it does, or
//! until a master has them.
//!
//! Invariant: no two letters have one number, and none has a number of the
//! spool.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use halite_spool::{Moment, Pending};

use crate::limits::SHELF_BYTES_MAX;

/// Numbers with this bit are of the shelf.
const OF_SHELF: u64 = 1 << 63;

/// The returns in memory.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    letters: VecDeque<Letter>,
    bytes: usize,
    next: u64,
}

/// A return in memory.
#[derive(Debug)]
pub(super) struct Letter {
    /// Its number.
    pub(super) sequence: u64,
    /// What it holds.
    pub(super) packed: Vec<u8>,
    since: Instant,
}

impl Shelf {
    /// Whether a number is of the shelf.
    pub(super) fn is_its(sequence: u64) -> bool {
        sequence & OF_SHELF != 0
    }

    pub(super) fn len(&self) -> usize {
        self.letters.len()
    }

    /// Puts a return on the shelf; how many older ones that has cost is
    /// returned beside its number.
    pub(super) fn put(&mut self, now: Moment, packed: Vec<u8>) -> (u64, usize) {
        let mut cost = 0;
        while self.bytes + packed.len() > SHELF_BYTES_MAX
            && let Some(oldest) = self.letters.pop_front()
        {
            self.bytes -= oldest.packed.len();
            cost += 1;
        }
        let sequence = OF_SHELF | self.next;
        self.next += 1;
        self.bytes += packed.len();
        self.letters.push_back(Letter {
            sequence,
            packed,
            since: now.steady,
        });
        (sequence, cost)
    }

    /// Takes the oldest one away that `wanted` likes, if there is one.
    pub(super) fn take(&mut self, wanted: impl Fn(u64) -> bool) -> Option<Letter> {
        let letters = self.letters.iter();
        let at = letters.map(|letter| letter.sequence).position(wanted)?;
        let taken = self.letters.remove(at)?;
        self.bytes -= taken.packed.len();
        Some(taken)
    }

    /// Puts one back that was taken away just now.
    pub(super) fn give_back(&mut self, letter: Letter) {
        self.bytes += letter.packed.len();
        let after = |known: &Letter| known.sequence < letter.sequence;
        let at = self.letters.partition_point(after);
        self.letters.insert(at, letter);
    }

    /// Removes those that have waited for longer; how many is returned.
    pub(super) fn expire(&mut self, now: Moment, age_max: Duration) -> usize {
        let before = self.letters.len();
        let age = |letter: &Letter| now.steady.saturating_duration_since(letter.since);
        while let Some(oldest) = self.letters.front()
            && age(oldest) > age_max
        {
            self.bytes -= oldest.packed.len();
            self.letters.pop_front();
        }
        before - self.letters.len()
    }

    /// Copies of the oldest ones that `wanted` likes, at most `count`.
    pub(super) fn pending(
        &self,
        now: Moment,
        count: usize,
        wanted: impl Fn(u64) -> bool,
    ) -> Vec<Pending> {
        let letters = self.letters.iter();
        let wanted = letters.filter(|letter| wanted(letter.sequence));
        let pending = wanted.take(count).map(|letter| Pending {
            sequence: letter.sequence,
            age: now.steady.saturating_duration_since(letter.since),
            payload: letter.packed.clone(),
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
    fn letters_wait_in_order_within_bounds() {
        let now = Moment::now();
        let mut shelf = Shelf::default();
        let third = SHELF_BYTES_MAX / 3;
        let put = |shelf: &mut Shelf, bytes| shelf.put(now, vec![0; bytes]);
        let (first, _) = put(&mut shelf, third);
        let (second, _) = put(&mut shelf, third);
        let (third_one, cost) = put(&mut shelf, third);
        assert_eq!(cost, 0);
        assert!(Shelf::is_its(first) && !Shelf::is_its(1));
        let taken = shelf.take(|sequence| sequence == second).unwrap();
        shelf.give_back(taken);
        let numbers = |shelf: &Shelf| -> Vec<u64> {
            let pending = shelf.pending(now, 9, any);
            pending.iter().map(|letter| letter.sequence).collect()
        };
        assert_eq!(numbers(&shelf), [first, second, third_one]);
        let (fourth, cost) = put(&mut shelf, third);
        assert_eq!(
            (cost, numbers(&shelf)),
            (1, vec![second, third_one, fourth])
        );
        // One that is larger than all may be is kept alone.
        let (large, cost) = put(&mut shelf, SHELF_BYTES_MAX + 1);
        assert_eq!((cost, numbers(&shelf)), (3, vec![large]));
        while shelf.take(any).is_some() {}
        assert_eq!((shelf.len(), shelf.bytes), (0, 0));
    }

    #[test]
    fn what_waits_too_long_goes() {
        let mut shelf = Shelf::default();
        let begin = Moment::now();
        let after = |seconds| Moment {
            steady: begin.steady + Duration::from_secs(seconds),
            ..begin
        };
        shelf.put(begin, vec![1]);
        shelf.put(after(50), vec![2]);
        assert_eq!(shelf.expire(after(61), Duration::from_secs(60)), 1);
        let left = shelf.pending(after(61), 9, any);
        assert_eq!((left.len(), left[0].age), (1, Duration::from_secs(11)));
    }
}
