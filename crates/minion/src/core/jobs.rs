//! One registry of jobs for all masters: a job id runs once, whichever masters
//! sent it, and what runs can be asked about and ended.

use std::collections::{HashMap, HashSet, VecDeque};

use halite_proto::Jid;

/// Job ids remembered by default (`minion_jid_queue_hwm`).
pub const JIDS_REMEMBERED: usize = 100;

/// The jobs of a minion: those it has claimed lately and those that run now.
#[derive(Debug)]
pub struct Jobs<J> {
    seen: HashSet<Jid>,
    order: VecDeque<Jid>,
    remembered_max: usize,
    running: HashMap<Jid, J>,
}

impl<J> Jobs<J> {
    /// A registry that remembers the last `remembered_max` job ids.
    pub fn new(remembered_max: usize) -> Self {
        Self {
            seen: HashSet::new(),
            order: VecDeque::new(),
            remembered_max: remembered_max.max(1),
            running: HashMap::new(),
        }
    }

    /// Claims a job: true for the first caller, false for everyone after.
    /// A running job stays claimed however many came after it.
    pub fn claim(&mut self, jid: &Jid) -> bool {
        if self.running.contains_key(jid) || !self.seen.insert(jid.clone()) {
            return false;
        }
        self.order.push_back(jid.clone());
        while self.order.len() > self.remembered_max {
            if let Some(oldest) = self.order.pop_front() {
                self.seen.remove(&oldest);
            }
        }
        true
    }

    /// Whether a job has been claimed, as far as is remembered.
    pub fn knows(&self, jid: &Jid) -> bool {
        self.running.contains_key(jid) || self.seen.contains(jid)
    }

    /// Notes that a claimed job runs now.
    pub fn start(&mut self, jid: Jid, job: J) {
        self.running.insert(jid, job);
    }

    /// Notes that a job has ended.
    pub fn finish(&mut self, jid: &Jid) -> Option<J> {
        self.running.remove(jid)
    }

    /// A running job.
    pub fn running(&self, jid: &Jid) -> Option<&J> {
        self.running.get(jid)
    }

    /// All running jobs.
    pub fn all_running(&self) -> impl Iterator<Item = (&Jid, &J)> {
        self.running.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jid(n: u64) -> Jid {
        Jid::parse(format!("{n:020}")).unwrap()
    }

    #[test]
    fn a_job_is_claimed_once() {
        let mut jobs: Jobs<()> = Jobs::new(100);
        assert!(jobs.claim(&jid(1)));
        assert!(!jobs.claim(&jid(1)));
        assert!(jobs.knows(&jid(1)) && !jobs.knows(&jid(2)));
        assert!(jobs.claim(&jid(2)));
    }

    #[test]
    fn memory_is_bounded_but_a_running_job_is_never_forgotten() {
        let mut jobs = Jobs::new(3);
        assert!(jobs.claim(&jid(0)));
        jobs.start(jid(0), "long");
        for n in 1..100 {
            assert!(jobs.claim(&jid(n)));
        }
        assert_eq!(jobs.order.len(), 3);
        assert_eq!(jobs.seen.len(), 3);
        assert!(!jobs.claim(&jid(0)), "it still runs");
        assert_eq!(jobs.finish(&jid(0)), Some("long"));
        assert!(jobs.claim(&jid(50)), "long forgotten");
    }
}
