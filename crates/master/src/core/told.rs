//! Results that were told of although they could not be stored: a minion hands
//! each in again until it is, and listeners have heard of it.
//!
//! Pure and bounded: of the oldest it is told again.

use std::collections::{HashSet, VecDeque};

use halite_proto::{Jid, MinionId};

/// How many are remembered.
pub const TOLD_MAX: usize = 10_000;

/// The results that were told of and are not stored.
#[derive(Debug, Default)]
pub struct Told {
    known: HashSet<(Jid, MinionId)>,
    order: VecDeque<(Jid, MinionId)>,
}

impl Told {
    /// Whether nobody was told of a result that cannot be stored.
    pub fn is_news(&mut self, jid: &Jid, id: &MinionId) -> bool {
        let result = (jid.clone(), id.clone());
        if !self.known.insert(result.clone()) {
            return false;
        }
        self.order.push_back(result);
        while self.order.len() > TOLD_MAX {
            if let Some(oldest) = self.order.pop_front() {
                self.known.remove(&oldest);
            }
        }
        true
    }

    /// A result is stored by now; whether that is news.
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
    fn each_result_is_told_of_once() {
        let mut told = Told::default();
        let (jid, id) = result(1);
        assert!(told.stored(&jid, &id));
        assert!(told.is_news(&jid, &id));
        assert!(!told.is_news(&jid, &id));
        assert!(!told.stored(&jid, &id), "it was told of when it was not");
        assert!(told.stored(&jid, &id));
        assert!(told.known.is_empty() && told.order.is_empty());
    }

    #[test]
    fn it_is_bounded() {
        let mut told = Told::default();
        for n in 0..=TOLD_MAX {
            let (jid, id) = result(n);
            assert!(told.is_news(&jid, &id));
        }
        assert_eq!((told.known.len(), told.order.len()), (TOLD_MAX, TOLD_MAX));
        let (jid, id) = result(0);
        assert!(told.is_news(&jid, &id));
    }
}
