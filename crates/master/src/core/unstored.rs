//! Results whose events were fired although they could not be stored. A minion
//! returns such a result again until it is stored; its event is fired once.
//!
//! Pure and bounded: an event whose result is forgotten is fired again.

use std::collections::{HashSet, VecDeque};

use halite_proto::{Jid, MinionId};

/// How many are remembered.
pub const UNSTORED_MAX: usize = 10_000;

/// The results whose events were fired and that are not stored.
#[derive(Debug, Default)]
pub struct UnstoredReturns {
    known: HashSet<(Jid, MinionId)>,
    order: VecDeque<(Jid, MinionId)>,
}

impl UnstoredReturns {
    /// Whether a result that cannot be stored comes for the first time.
    pub fn first_seen(&mut self, jid: &Jid, id: &MinionId) -> bool {
        let result = (jid.clone(), id.clone());
        if !self.known.insert(result.clone()) {
            return false;
        }
        self.order.push_back(result);
        while self.order.len() > UNSTORED_MAX {
            if let Some(oldest) = self.order.pop_front() {
                self.known.remove(&oldest);
            }
        }
        true
    }

    /// Records that a result is stored now. Whether its event was not fired yet.
    pub fn stored(&mut self, jid: &Jid, id: &MinionId) -> bool {
        if self.known.is_empty() {
            return true;
        }
        let result = (jid.clone(), id.clone());
        if !self.known.remove(&result) {
            return true;
        }
        self.order.retain(|known| *known != result);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(n: usize) -> (Jid, MinionId) {
        let jid = Jid::parse(format!("{n:020}")).unwrap();
        (jid, MinionId::parse("web1").unwrap())
    }

    #[test]
    fn each_result_is_seen_first_once() {
        let mut unstored = UnstoredReturns::default();
        let (jid, id) = result(1);
        assert!(unstored.stored(&jid, &id));
        assert!(unstored.first_seen(&jid, &id));
        assert!(!unstored.first_seen(&jid, &id));
        assert!(
            !unstored.stored(&jid, &id),
            "its event was fired while it was not stored"
        );
        assert!(unstored.stored(&jid, &id));
        assert!(unstored.known.is_empty() && unstored.order.is_empty());
    }

    #[test]
    fn it_is_bounded() {
        let mut unstored = UnstoredReturns::default();
        for n in 0..=UNSTORED_MAX {
            let (jid, id) = result(n);
            assert!(unstored.first_seen(&jid, &id));
        }
        assert_eq!(
            (unstored.known.len(), unstored.order.len()),
            (UNSTORED_MAX, UNSTORED_MAX)
        );
        let (jid, id) = result(0);
        assert!(unstored.first_seen(&jid, &id));
    }
}
