//! A queue that serves its senders in turns.
//!
//! Invariant: a busy sender delays only itself. With work of `n` other senders
//! waiting, the first item of any sender is at most `n` turns away.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::Hash;

/// A queue that serves its senders in turn. `K` identifies a sender.
#[derive(Debug)]
pub struct FairQueue<K, T> {
    waiting: HashMap<K, Line<T>>,
    turns: VecDeque<K>,
    by_weight: BTreeSet<(usize, K)>,
    len: usize,
}

/// The waiting items of one sender.
#[derive(Debug)]
struct Line<T> {
    items: VecDeque<(usize, T)>,
    weight: usize,
}

impl<K, T> Default for FairQueue<K, T> {
    fn default() -> Self {
        Self {
            waiting: HashMap::new(),
            turns: VecDeque::new(),
            by_weight: BTreeSet::new(),
            len: 0,
        }
    }
}

impl<K: Copy + Eq + Hash + Ord, T> FairQueue<K, T> {
    /// How many wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many are served at most before the next of a sender.
    pub fn ahead_of(&self, from: K) -> usize {
        let own = self.waiting.get(&from).map_or(0, |line| line.items.len());
        let turns = self.turns.len().saturating_mul(own + 1);
        turns.min(self.len)
    }

    /// Queues something that weighs so much.
    pub fn push(&mut self, from: K, weight: usize, item: T) {
        let line = self.waiting.entry(from).or_insert_with(|| {
            self.turns.push_back(from);
            Line {
                items: VecDeque::new(),
                weight: 0,
            }
        });
        self.by_weight.remove(&(line.weight, from));
        line.weight = line.weight.saturating_add(weight);
        self.by_weight.insert((line.weight, from));
        line.items.push_back((weight, item));
        self.len += 1;
    }

    /// The next in turn.
    pub fn pop(&mut self) -> Option<T> {
        self.pop_of(|_| true)
    }

    /// The next in turn of those whose turn it may be; the others keep theirs.
    pub fn pop_of(&mut self, may: impl Fn(&K) -> bool) -> Option<T> {
        let at = self.turns.iter().position(may)?;
        let from = self.turns.remove(at)?;
        let item = self.take(from, VecDeque::pop_front);
        if self.waiting.contains_key(&from) {
            self.turns.push_back(from);
        }
        item
    }

    /// The last item of the sender with the most waiting, if that is more than the
    /// waiting items of `from` and `weight` together.
    pub fn give_up_for(&mut self, from: K, weight: usize) -> Option<T> {
        let own = self.waiting.get(&from).map_or(0, |line| line.weight);
        let (heaviest, whose) = *self.by_weight.last()?;
        if whose == from || heaviest <= own.saturating_add(weight) {
            return None;
        }
        self.give_up_of(whose)
    }

    /// The last from whom the most waits.
    pub fn give_up_last(&mut self) -> Option<T> {
        let (_, whose) = *self.by_weight.last()?;
        self.give_up_of(whose)
    }

    fn give_up_of(&mut self, whose: K) -> Option<T> {
        let item = self.take(whose, VecDeque::pop_back);
        if !self.waiting.contains_key(&whose) {
            self.turns.retain(|of| *of != whose);
        }
        item
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Takes one item; the caller keeps the turns.
    fn take(
        &mut self,
        from: K,
        which: impl FnOnce(&mut VecDeque<(usize, T)>) -> Option<(usize, T)>,
    ) -> Option<T> {
        let line = self.waiting.get_mut(&from)?;
        let (weight, item) = which(&mut line.items)?;
        self.len -= 1;
        self.by_weight.remove(&(line.weight, from));
        line.weight = line.weight.saturating_sub(weight);
        if line.items.is_empty() {
            self.waiting.remove(&from);
        } else {
            self.by_weight.insert((line.weight, from));
        }
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_one_is_one_turn_to_others() {
        let mut queue = FairQueue::default();
        for n in 0..100 {
            queue.push("flood", 1, n);
        }
        queue.push("web1", 1, 1000);
        queue.push("web1", 1, 1001);
        assert_eq!(
            ["flood", "web1", "web2"].map(|of| queue.ahead_of(of)),
            [102, 6, 2]
        );
        let taken: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(taken[..5], [0, 1000, 1, 1001, 2]);
        assert_eq!(taken.len(), 102);
        assert!(queue.is_empty() && queue.turns.is_empty() && queue.by_weight.is_empty());
    }

    #[test]
    fn who_may_not_yet_keeps_the_turn() {
        let mut queue = FairQueue::default();
        for (from, item) in [("a", 1), ("b", 2), ("a", 3)] {
            queue.push(from, 1, item);
        }
        assert_eq!(queue.pop_of(|from| *from == "b"), Some(2));
        assert_eq!(queue.pop_of(|from| *from == "b"), None);
        assert_eq!(queue.pop(), Some(1));
        assert_eq!(queue.pop(), Some(3));
        assert!(queue.is_empty());
    }

    #[test]
    fn from_whom_the_most_waits_gives_way() {
        let mut queue = FairQueue::default();
        queue.push("flood", 5, "first");
        queue.push("flood", 5, "last");
        queue.push("web1", 1, "a");
        // Nobody gives way for what would make another the heaviest.
        assert_eq!(queue.give_up_for("flood", 1), None);
        assert_eq!(queue.give_up_for("web1", 9), None);
        assert_eq!(queue.give_up_for("web1", 8), Some("last"));
        assert_eq!(queue.give_up_for("web2", 4), Some("first"));
        assert_eq!(queue.give_up_for("web2", 4), None);
        assert_eq!((queue.len(), queue.pop()), (1, Some("a")));
        assert_eq!(queue.pop(), None);
    }
}
