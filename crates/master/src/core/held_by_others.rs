//! Results of this master's jobs that another master has. The minions report that
//! they gave them away while this master could not be reached.
//!
//! Invariant: the memory is bounded; the oldest entries are forgotten first.

use std::collections::{HashMap, VecDeque};

use halite_proto::{Jid, MinionId};

/// Results that are remembered.
pub const RESULTS_MAX: usize = 20_000;

/// Longest name of a master that is kept, in characters.
pub const MASTER_CHARS_MAX: usize = 255;

/// The masters that have the results that this one has not.
#[derive(Debug, Default)]
pub struct HeldByOthers {
    masters: HashMap<(Jid, MinionId), String>,
    order: VecDeque<(Jid, MinionId)>,
}

impl HeldByOthers {
    /// A minion has given its result of a job to another master.
    pub fn record(&mut self, jid: Jid, id: MinionId, master: &str) {
        // It is shown on terminals.
        let shown = master.chars().filter(|c| !c.is_control());
        let master = shown.take(MASTER_CHARS_MAX).collect();
        let key = (jid, id);
        if self.masters.insert(key.clone(), master).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > RESULTS_MAX {
            if let Some(oldest) = self.order.pop_front() {
                self.masters.remove(&oldest);
            }
        }
    }

    /// The master that has a minion's result of a job.
    pub fn holder(&self, jid: &Jid, id: &MinionId) -> Option<&str> {
        let master = self.masters.get(&(jid.clone(), id.clone()))?;
        Some(master)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_results_are_remembered() {
        let mut held = HeldByOthers::default();
        let id = MinionId::parse("web1").unwrap();
        let jid = |n: usize| Jid::parse(format!("{n:020}")).unwrap();
        for n in 0..=RESULTS_MAX {
            held.record(jid(n), id.clone(), "m2");
            held.record(jid(n), id.clone(), "m3");
        }
        assert_eq!(held.holder(&jid(0), &id), None);
        assert_eq!(held.holder(&jid(1), &id), Some("m3"));
        assert_eq!(held.masters.len(), RESULTS_MAX);
        assert_eq!(held.order.len(), RESULTS_MAX);
    }

    #[test]
    fn a_long_name_is_cut() {
        let mut held = HeldByOthers::default();
        let id = MinionId::parse("web1").unwrap();
        let jid = Jid::parse("20261120141841939742").unwrap();
        held.record(jid.clone(), id.clone(), &"m".repeat(10_000));
        let kept = held.holder(&jid, &id).map(str::len);
        assert_eq!(kept, Some(MASTER_CHARS_MAX));
    }
}
