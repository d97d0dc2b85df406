//! The minions that are expected to return, those that have, and the deadlines of the
//! others.
//!
//! Invariant: no step looks at all minions for each one that returns, so that a
//! job of ten thousand costs ten thousand times that of one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

#[derive(Debug, Default)]
pub(crate) struct Awaited {
    expected: BTreeSet<String>,
    found: BTreeSet<String>,
    /// Minions that are known to have no connection and are not waited for.
    away: BTreeSet<String>,
    /// Expected minions that have not returned, and their deadlines.
    pending: BTreeMap<String, Instant>,
    /// Those of them that are connected, by their deadlines.
    ends: BTreeSet<(Instant, String)>,
}

impl Awaited {
    /// Expects this one; who was expected before keeps its time.
    pub(crate) fn expect(&mut self, id: String, until: Instant) {
        if self.found.contains(&id) || self.pending.contains_key(&id) {
            self.expected.insert(id);
            return;
        }
        self.give(id, until);
    }

    /// Expects this one, and gives it time until then.
    pub(crate) fn give(&mut self, id: String, until: Instant) {
        self.expected.insert(id.clone());
        if self.found.contains(&id) {
            return;
        }
        self.forget_end(&id);
        if !self.away.contains(&id) {
            self.ends.insert((until, id.clone()));
        }
        self.pending.insert(id, until);
    }

    /// This one has returned; false if it had before.
    pub(crate) fn find(&mut self, id: &str) -> bool {
        self.forget_end(id);
        self.pending.remove(id);
        self.found.insert(id.to_owned())
    }

    /// Does not expect this one any more.
    pub(crate) fn give_up(&mut self, id: &str) {
        self.forget_end(id);
        self.pending.remove(id);
        self.expected.remove(id);
    }

    fn forget_end(&mut self, id: &str) {
        if let Some((id, until)) = self.pending.get_key_value(id) {
            self.ends.remove(&(*until, id.clone()));
        }
    }

    /// These have no connection now, all others may have one.
    pub(crate) fn set_away(&mut self, ids: impl IntoIterator<Item = String>) {
        self.away = ids.into_iter().collect();
        let here = self
            .pending
            .iter()
            .filter(|(id, _)| !self.away.contains(*id));
        self.ends = here.map(|(id, until)| (*until, id.clone())).collect();
    }

    /// How many are expected.
    pub(crate) fn expected_count(&self) -> usize {
        self.expected.len()
    }

    /// All minions that are or were expected, in order.
    pub(crate) fn expected(&self) -> impl Iterator<Item = &String> {
        self.expected.iter()
    }

    pub(crate) fn has_returned(&self, id: &str) -> bool {
        self.found.contains(id)
    }

    pub(crate) fn is_pending(&self, id: &str) -> bool {
        self.pending.contains_key(id)
    }

    /// Expected minions that have not returned, in order.
    pub(crate) fn pending(&self) -> impl Iterator<Item = &str> {
        self.pending.keys().map(String::as_str)
    }

    /// Those of them that are worth waiting for, in order.
    pub(crate) fn worth_waiting(&self) -> impl Iterator<Item = &str> {
        self.pending().filter(|id| !self.away.contains(*id))
    }

    /// Whether nobody is worth waiting for.
    pub(crate) fn is_over(&self) -> bool {
        self.ends.is_empty()
    }

    /// The last deadline.
    pub(crate) fn last_end(&self) -> Option<Instant> {
        self.ends.last().map(|(until, _)| *until)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_last_end_is_of_those_who_are_awaited() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut awaited = Awaited::default();
        awaited.expect("web1".to_owned(), at(1));
        awaited.expect("web2".to_owned(), at(2));
        awaited.expect("web1".to_owned(), at(9));
        assert_eq!(awaited.last_end(), Some(at(2)), "the first time counts");
        awaited.give("web1".to_owned(), at(5));
        assert_eq!(awaited.last_end(), Some(at(5)));
        awaited.set_away(["web1".to_owned()]);
        assert_eq!(awaited.last_end(), Some(at(2)));
        awaited.set_away([]);
        assert_eq!(awaited.last_end(), Some(at(5)), "it has not lost its time");
        assert!(awaited.find("web1"));
        assert!(!awaited.find("web1"));
        assert_eq!(awaited.last_end(), Some(at(2)));
        awaited.give_up("web2");
        assert!(awaited.is_over() && awaited.pending().next().is_none());
        assert_eq!(awaited.expected().collect::<Vec<_>>(), ["web1"]);
    }

    #[test]
    fn who_returned_before_it_was_named_is_not_waited_for() {
        let mut awaited = Awaited::default();
        assert!(awaited.find("web1"));
        awaited.expect("web1".to_owned(), Instant::now());
        assert!(awaited.is_over() && !awaited.is_pending("web1"));
        assert_eq!(awaited.expected_count(), 1);
    }
}
