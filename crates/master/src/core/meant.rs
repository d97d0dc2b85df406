//! Which minions the jobs of the last while were meant for.
//!
//! Pure and bounded: the oldest jobs are forgotten, and then the job cache is
//! asked.

use std::collections::{HashMap, HashSet, VecDeque};

use halite_proto::{Jid, MinionId};

/// The minions of the jobs that are remembered.
#[derive(Debug)]
pub struct Meant {
    ids_max: usize,
    ids: usize,
    jobs: HashMap<Jid, HashSet<MinionId>>,
    order: VecDeque<Jid>,
}

impl Meant {
    /// Remembers jobs with so many ids in all, those of the job that came last
    /// in any case.
    pub fn new(ids_max: usize) -> Self {
        Self {
            ids_max,
            ids: 0,
            jobs: HashMap::new(),
            order: VecDeque::new(),
        }
    }

    /// Whether a job is remembered.
    pub fn knows(&self, jid: &Jid) -> bool {
        self.jobs.contains_key(jid)
    }

    /// Records minions of a job, beside those that are known.
    pub fn record(&mut self, jid: &Jid, minions: impl IntoIterator<Item = MinionId>) {
        if !self.knows(jid) {
            self.order.push_back(jid.clone());
            // A job for nobody takes room too.
            self.ids += 1;
        }
        let meant = self.jobs.entry(jid.clone()).or_default();
        let before = meant.len();
        meant.extend(minions);
        self.ids += meant.len() - before;
        while self.ids > self.ids_max && self.order.len() > 1 {
            if let Some(oldest) = self.order.pop_front() {
                let gone = self.jobs.remove(&oldest).map_or(0, |meant| meant.len());
                self.ids -= gone + 1;
            }
        }
    }

    /// Whether a job was meant for a minion; `None` if it is not remembered.
    pub fn is_meant(&self, jid: &Jid, id: &MinionId) -> Option<bool> {
        self.jobs.get(jid).map(|meant| meant.contains(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jid(n: usize) -> Jid {
        Jid::parse(format!("{n:020}")).unwrap()
    }

    fn id(name: &str) -> MinionId {
        MinionId::parse(name).unwrap()
    }

    #[test]
    fn parts_of_a_job_add_up() {
        let mut meant = Meant::new(100);
        meant.record(&jid(1), [id("a")]);
        meant.record(&jid(1), [id("b"), id("a")]);
        assert_eq!(meant.is_meant(&jid(1), &id("a")), Some(true));
        assert_eq!(meant.is_meant(&jid(1), &id("c")), Some(false));
        assert_eq!(meant.is_meant(&jid(2), &id("a")), None);
        assert_eq!(meant.ids, 3);
    }

    #[test]
    fn the_oldest_are_forgotten_and_the_last_is_not() {
        let mut meant = Meant::new(10);
        for n in 0..20 {
            meant.record(&jid(n), [id("a"), id("b")]);
        }
        assert!(!meant.knows(&jid(16)) && meant.knows(&jid(17)));
        assert_eq!((meant.jobs.len(), meant.order.len(), meant.ids), (3, 3, 9));
        meant.record(&jid(30), (0..50).map(|n| id(&format!("m{n}"))));
        assert_eq!((meant.jobs.len(), meant.order.len()), (1, 1));
        assert_eq!(meant.is_meant(&jid(30), &id("m49")), Some(true));
    }
}
