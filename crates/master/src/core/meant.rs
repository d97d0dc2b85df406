//! For which minions recent jobs were.
//!
//! Pure and bounded: the oldest jobs are forgotten, and then the job cache is
//! asked. Jobs share their ids: most are for the same minions as those before.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use halite_proto::{Jid, MinionId};

/// The minions of the jobs that are remembered.
#[derive(Debug)]
pub struct Meant {
    ids_max: usize,
    ids: usize,
    jobs: HashMap<Jid, Job>,
    order: VecDeque<Jid>,
    /// Each id of any of the jobs once.
    known: HashSet<Arc<MinionId>>,
}

#[derive(Debug)]
struct Job {
    /// In order, each once: half of what a set takes.
    minions: Vec<Arc<MinionId>>,
    /// All its targets name ids.
    by_ids: bool,
}

impl Job {
    fn holds(&self, id: &MinionId) -> bool {
        self.minions
            .binary_search_by(|held| (**held).cmp(id))
            .is_ok()
    }
}

/// Whether a job was sent to a minion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It was sent to the minion.
    Meant,
    /// It may have been: the target is about data that the minion knows better than the
    /// master, or the job is another master's.
    Perhaps,
    /// It was sent to others, by their ids.
    ForOthers,
}

/// Whether a target of this type is about nothing but ids.
pub fn is_by_ids(tgt_type: &str) -> bool {
    matches!(tgt_type, "glob" | "pcre" | "list")
}

impl Meant {
    /// Remembers jobs with this many ids in all, those of the latest job in any case.
    pub fn new(ids_max: usize) -> Self {
        Self {
            ids_max,
            ids: 0,
            jobs: HashMap::new(),
            order: VecDeque::new(),
            known: HashSet::new(),
        }
    }

    /// Whether a job is remembered.
    pub fn knows(&self, jid: &Jid) -> bool {
        self.jobs.contains_key(jid)
    }

    /// Records minions of a job, beside those that are known, and whether they
    /// are all that its target can mean.
    pub fn record<'i>(
        &mut self,
        jid: &Jid,
        minions: impl IntoIterator<Item = &'i MinionId>,
        by_ids: bool,
    ) {
        if !self.knows(jid) {
            self.order.push_back(jid.clone());
            // A job for nobody takes room too.
            self.ids += 1;
        }
        let job = self.jobs.entry(jid.clone()).or_insert_with(|| Job {
            minions: Vec::new(),
            by_ids,
        });
        job.by_ids &= by_ids;
        let before = job.minions.len();
        let known = &mut self.known;
        job.minions
            .extend(minions.into_iter().map(|id| shared(known, id)));
        job.minions.sort();
        job.minions.dedup();
        job.minions.shrink_to_fit();
        self.ids += job.minions.len() - before;
        while self.ids > self.ids_max && self.order.len() > 1 {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let oldest = self.order.pop_front();
        let Some(job) = oldest.and_then(|jid| self.jobs.remove(&jid)) else {
            return;
        };
        self.ids -= job.minions.len() + 1;
        for id in job.minions {
            // Held here and by `known` alone.
            if Arc::strong_count(&id) == 2 {
                self.known.remove(&id);
            }
        }
    }

    /// Whether a job was sent to a minion.
    pub fn standing(&self, jid: &Jid, id: &MinionId) -> Standing {
        match self.jobs.get(jid) {
            Some(job) if job.holds(id) => Standing::Meant,
            Some(job) if job.by_ids => Standing::ForOthers,
            _ => Standing::Perhaps,
        }
    }
}

/// The id as all jobs share it.
fn shared(known: &mut HashSet<Arc<MinionId>>, id: &MinionId) -> Arc<MinionId> {
    if let Some(id) = known.get(id) {
        return Arc::clone(id);
    }
    let id = Arc::new(id.clone());
    known.insert(Arc::clone(&id));
    id
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
        meant.record(&jid(1), [&id("a")], true);
        meant.record(&jid(1), [&id("b"), &id("a")], true);
        assert_eq!(meant.standing(&jid(1), &id("a")), Standing::Meant);
        assert_eq!(meant.standing(&jid(1), &id("c")), Standing::ForOthers);
        assert_eq!(meant.standing(&jid(2), &id("a")), Standing::Perhaps);
        assert_eq!(meant.ids, 3);
        meant.record(&jid(1), [], false);
        assert_eq!(meant.standing(&jid(1), &id("c")), Standing::Perhaps);
    }

    #[test]
    fn the_oldest_are_forgotten_and_the_last_is_not() {
        let mut meant = Meant::new(10);
        for n in 0..20 {
            meant.record(&jid(n), [&id("a"), &id("b")], true);
        }
        assert!(!meant.knows(&jid(16)) && meant.knows(&jid(17)));
        assert_eq!((meant.jobs.len(), meant.order.len(), meant.ids), (3, 3, 9));
        assert_eq!(meant.known.len(), 2);
        let many: Vec<MinionId> = (0..50).map(|n| id(&format!("m{n}"))).collect();
        meant.record(&jid(30), &many, true);
        assert_eq!((meant.jobs.len(), meant.order.len()), (1, 1));
        // Nor is an id kept that no job names.
        assert_eq!(meant.known.len(), 50);
        assert_eq!(meant.standing(&jid(30), &id("m49")), Standing::Meant);
    }
}
