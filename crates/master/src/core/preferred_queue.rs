//! A queue in which some go before the others, each kind in turns of its senders.
//!
//! Invariant: while both wait, of `PREFERRED_IN_A_ROW + 1` that are served one is of the
//! others, so that nobody waits for ever.

use std::hash::Hash;

use crate::core::fair_queue::FairQueue;
use crate::limits::PREFERRED_IN_A_ROW;

/// Before whom one is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// Before the others.
    Preferred,
    /// Among the others.
    Other,
}

/// A queue of two ranks. `K` is whom something comes from.
#[derive(Debug)]
pub struct PreferredQueue<K, T> {
    preferred: FairQueue<K, T>,
    others: FairQueue<K, T>,
    /// How many preferred ones were served since the last of the others.
    in_a_row: usize,
}

impl<K, T> Default for PreferredQueue<K, T> {
    fn default() -> Self {
        Self {
            preferred: FairQueue::default(),
            others: FairQueue::default(),
            in_a_row: 0,
        }
    }
}

impl<K: Copy + Eq + Hash + Ord, T> PreferredQueue<K, T> {
    /// How many wait.
    pub fn len(&self) -> usize {
        self.preferred.len() + self.others.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many are served at most before the next of a sender, if that one is not
    /// preferred.
    pub fn ahead_of(&self, from: K) -> usize {
        let others = self.others.ahead_of(from);
        let between = PREFERRED_IN_A_ROW.saturating_mul(others + 1);
        others + between.min(self.preferred.len())
    }

    /// Queues something that weighs so much.
    pub fn push(&mut self, rank: Rank, from: K, weight: usize, item: T) {
        match rank {
            Rank::Preferred => self.preferred.push(from, weight, item),
            Rank::Other => self.others.push(from, weight, item),
        }
    }

    /// The next in turn of those whose turn it may be.
    pub fn pop_of(&mut self, may: impl Fn(&K) -> bool) -> Option<T> {
        let is_turn_of_others = self.in_a_row >= PREFERRED_IN_A_ROW;
        let other = match is_turn_of_others {
            true => self.others.pop_of(&may),
            false => None,
        };
        if other.is_none()
            && let Some(item) = self.preferred.pop_of(&may)
        {
            self.in_a_row = match self.others.is_empty() {
                true => 0,
                false => self.in_a_row.saturating_add(1),
            };
            return Some(item);
        }
        self.in_a_row = 0;
        other.or_else(|| self.others.pop_of(&may))
    }

    /// What gives way to a new one of this rank: of the others the last from whom the most
    /// waits, for a preferred one in any case, and otherwise if that is more than what
    /// waits from `from` and `weight` besides.
    pub fn give_up_for(&mut self, rank: Rank, from: K, weight: usize) -> Option<T> {
        match rank {
            Rank::Other => self.others.give_up_for(from, weight),
            Rank::Preferred => {
                let other = self.others.give_up_last();
                other.or_else(|| self.preferred.give_up_for(from, weight))
            }
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(items: &[(Rank, &'static str, usize)]) -> PreferredQueue<&'static str, usize> {
        let mut queue = PreferredQueue::default();
        for &(rank, from, item) in items {
            queue.push(rank, from, 1, item);
        }
        queue
    }

    #[test]
    fn who_is_preferred_goes_before_the_own_address_and_others_get_a_part() {
        let mut queue = queue(&[]);
        for number in 0..1_000 {
            queue.push(Rank::Other, "flood", 1, number);
        }
        queue.push(Rank::Preferred, "flood", 1, 5_000);
        assert_eq!(queue.pop_of(|_| true), Some(5_000));
        for number in 0..20 {
            queue.push(Rank::Preferred, "many", 1, 6_000 + number);
        }
        let taken = std::iter::from_fn(|| queue.pop_of(|_| true));
        let taken: Vec<_> = taken.take(25).collect();
        let others = taken.iter().filter(|item| **item < 5_000).count();
        assert_eq!(others, 5, "{taken:?}");
        assert!(taken[..3].iter().all(|item| *item >= 6_000), "{taken:?}");
    }

    #[test]
    fn preferred_ones_take_turns_and_a_busy_sender_keeps_its_own() {
        let preferred = [("a", 1), ("a", 2), ("b", 3)];
        let items = preferred.map(|(from, item)| (Rank::Preferred, from, item));
        let mut queue = queue(&items);
        queue.push(Rank::Other, "c", 1, 4);
        assert_eq!(queue.pop_of(|from| *from == "c"), Some(4));
        let taken: Vec<_> = std::iter::from_fn(|| queue.pop_of(|_| true)).collect();
        assert_eq!(taken, [1, 3, 2]);
        assert!(queue.is_empty());
    }

    #[test]
    fn who_is_not_preferred_waits_for_a_part_of_those_who_are() {
        let mut queue = queue(&[(Rank::Other, "flood", 0), (Rank::Other, "flood", 1)]);
        assert_eq!(["flood", "web1"].map(|of| queue.ahead_of(of)), [2, 1]);
        for number in 0..100 {
            queue.push(Rank::Preferred, "many", 1, number);
        }
        let behind = 1 + 2 * PREFERRED_IN_A_ROW;
        assert_eq!(queue.ahead_of("web1"), behind);
    }

    #[test]
    fn the_others_give_way_first_and_the_heaviest_of_them() {
        let mut queue = queue(&[
            (Rank::Other, "flood", 0),
            (Rank::Other, "flood", 1),
            (Rank::Other, "web1", 2),
            (Rank::Preferred, "flood", 3),
        ]);
        assert_eq!(queue.give_up_for(Rank::Other, "flood", 1), None);
        for given_up in [1, 2, 0] {
            let found = queue.give_up_for(Rank::Preferred, "flood", 1);
            assert_eq!(found, Some(given_up));
        }
        assert_eq!(queue.give_up_for(Rank::Preferred, "flood", 1), None);
        assert_eq!((queue.len(), queue.pop_of(|_| true)), (1, Some(3)));
    }
}
