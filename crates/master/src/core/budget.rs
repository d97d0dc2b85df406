//! How often something may be done, for each caller and for all together.
//!
//! Invariant: a caller that has used up its share takes nothing from the others;
//! the memory is bounded by the share of all.

use std::collections::HashMap;
use std::hash::Hash;

/// Counts over an interval.
#[derive(Debug)]
pub struct Budget<K> {
    each_max: usize,
    all_max: usize,
    interval_s: i64,
    since: i64,
    used: HashMap<K, usize>,
    used_by_all: usize,
}

impl<K: Eq + Hash> Budget<K> {
    /// So much in an interval for each and for all.
    pub fn new(each_max: usize, all_max: usize, interval_s: i64) -> Self {
        Self {
            each_max,
            all_max,
            interval_s,
            since: 0,
            used: HashMap::new(),
            used_by_all: 0,
        }
    }

    /// Takes one; false if the budget is spent.
    pub fn take(&mut self, of: K, now: i64) -> bool {
        self.take_some(of, 1, now)
    }

    /// Takes this many at once, or none of them.
    pub fn take_some(&mut self, of: K, some: usize, now: i64) -> bool {
        if !(0..self.interval_s).contains(&now.saturating_sub(self.since)) {
            self.since = now;
            self.used.clear();
            self.used_by_all = 0;
        }
        if self.used_by_all.saturating_add(some) > self.all_max {
            return false;
        }
        let used = self.used.entry(of).or_default();
        if used.saturating_add(some) > self.each_max {
            return false;
        }
        *used += some;
        self.used_by_all += some;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_part_and_all_together_theirs() {
        let mut budget = Budget::new(2, 5, 60);
        let taken = |budget: &mut Budget<char>, of, now| {
            std::iter::from_fn(|| budget.take(of, now).then_some(())).count()
        };
        assert_eq!(taken(&mut budget, 'a', 1000), 2);
        assert_eq!(taken(&mut budget, 'b', 1059), 2);
        assert_eq!(taken(&mut budget, 'c', 1059), 1);
        assert_eq!(taken(&mut budget, 'a', 1059), 0);
        assert_eq!(taken(&mut budget, 'a', 1060), 2);
        assert!(!budget.take_some('c', 3, 1060) && budget.take_some('c', 2, 1060));
        // A clock that goes back begins anew.
        assert_eq!(taken(&mut budget, 'a', 10), 2);
    }
}
