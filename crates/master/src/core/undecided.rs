//! Pending keys: anybody can send them, and each takes a file.
//!
//! Invariant: all together are bounded, and one sender has at most a tenth of the
//! room that the others leave. So a sender of thousands leaves room for everybody
//! else.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use halite_proto::MinionId;

/// The part of the room that one sender may have.
const PART_OF_ONE: usize = 10;

/// The keys that are pending or rejected and that this process filed, by their senders.
#[derive(Debug)]
pub struct Undecided<K> {
    max: usize,
    count: usize,
    filed: HashMap<K, HashSet<MinionId>>,
}

impl<K: Eq + Hash> Undecided<K> {
    /// At most this many.
    pub fn new(max: usize) -> Self {
        Self {
            max,
            count: 0,
            filed: HashMap::new(),
        }
    }

    /// Whether one more key may be filed for this sender, which counts then.
    pub fn admit(&mut self, from: K, id: &MinionId) -> bool {
        let own = self.filed.get(&from).map_or(0, HashSet::len);
        let others = self.count.saturating_sub(own);
        let part = self.max.saturating_sub(others).div_ceil(PART_OF_ONE);
        if self.count >= self.max || own >= part {
            return false;
        }
        self.count += 1;
        self.filed.entry(from).or_default().insert(id.clone());
        true
    }

    /// The present undecided keys.
    pub fn recount(&mut self, ids: &HashSet<MinionId>) {
        self.count = ids.len();
        for filed in self.filed.values_mut() {
            filed.retain(|id| ids.contains(id));
        }
        self.filed.retain(|_, filed| !filed.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(undecided: &mut Undecided<u8>, from: u8, tries: usize) -> usize {
        let ids = (0..tries).map(|n| MinionId::parse(format!("{from}-{n}")).unwrap());
        ids.filter(|id| undecided.admit(from, id)).count()
    }

    #[test]
    fn one_sender_leaves_room_for_the_others() {
        let mut undecided = Undecided::new(1000);
        assert_eq!(admitted(&mut undecided, 1, 5000), 100);
        assert_eq!(admitted(&mut undecided, 1, 1), 0);
        assert_eq!(admitted(&mut undecided, 2, 5000), 90);
        for from in 3..=20 {
            admitted(&mut undecided, from, 5000);
        }
        assert!(admitted(&mut undecided, 21, 5000) >= 10);
        // All that the first has sent is decided.
        let left = (0..50).map(|n| MinionId::parse(format!("2-{n}")).unwrap());
        undecided.recount(&left.collect());
        assert_eq!(admitted(&mut undecided, 1, 5000), 95);
    }

    #[test]
    fn all_together_are_bounded() {
        let mut undecided = Undecided::new(20);
        let all: usize = (0..100).map(|from| admitted(&mut undecided, from, 5)).sum();
        assert_eq!(all, 20);
    }
}
