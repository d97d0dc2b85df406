//! How many things of one kind are done at once for each minion or address.
//!
//! Invariant: nobody gets more than the places for one, so nobody can take all of
//! them.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use halite_proto::MinionId;

/// The places of one kind.
#[derive(Debug)]
pub struct Turns<K = MinionId> {
    taken: Arc<Mutex<HashMap<K, usize>>>,
    of_one_max: usize,
    of_all_max: usize,
}

/// A place that is taken until this is dropped.
#[derive(Debug)]
pub struct Turn<K: Eq + Hash = MinionId> {
    taken: Arc<Mutex<HashMap<K, usize>>>,
    id: K,
}

impl<K: Clone + Eq + Hash> Turns<K> {
    /// So many places for one, and for all of them.
    pub fn new(of_one_max: usize, of_all_max: usize) -> Self {
        Self {
            taken: Arc::default(),
            of_one_max,
            of_all_max,
        }
    }

    /// Takes a place; `None` if this one has no place left.
    pub fn take(&self, id: &K) -> Option<Turn<K>> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let of_one = taken.get(id).copied().unwrap_or(0);
        // Sums up few: those that something is being done for.
        let of_all: usize = match self.of_all_max {
            usize::MAX => 0,
            _ => taken.values().sum(),
        };
        if of_one >= self.of_one_max || of_all >= self.of_all_max {
            return None;
        }
        taken.insert(id.clone(), of_one + 1);
        Some(Turn {
            taken: Arc::clone(&self.taken),
            id: id.clone(),
        })
    }
}

impl<K: Eq + Hash> Drop for Turn<K> {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        match taken.get_mut(&self.id) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(taken.remove(&self.id)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_the_places_of_others() {
        let id = |name: &str| MinionId::parse(name).unwrap();
        let turns = Turns::new(2, 3);
        let first = turns.take(&id("evil")).unwrap();
        let _second = turns.take(&id("evil")).unwrap();
        assert!(turns.take(&id("evil")).is_none());
        let third = turns.take(&id("web1")).unwrap();
        assert!(turns.take(&id("web2")).is_none());
        drop(first);
        assert!(turns.take(&id("web2")).is_some());
        drop(third);
        assert!(turns.take(&id("evil")).is_some());
        assert_eq!(turns.taken.lock().unwrap().len(), 1);
    }
}
