//! One registry of jobs for all masters: a job runs once, whichever masters sent
//! it, and running jobs can be listed and ended.
//!
//! Invariant: an id names one job for each master, and for the minion itself, but
//! not for all of them together.

use std::collections::{HashMap, VecDeque};

use halite_proto::Jid;

use super::origin::{JobName, Origin};

/// Job ids remembered by default (`minion_jid_queue_hwm`).
pub const JIDS_REMEMBERED: usize = 100;

/// The jobs of a minion: those it has claimed lately and those that run now.
#[derive(Debug)]
pub struct Jobs<J> {
    known: HashMap<Jid, Vec<Known<J>>>,
    /// The oldest first.
    order: VecDeque<(Jid, Ticket)>,
    remembered_max: usize,
    next: u64,
}

/// The number of a job that was claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(u64);

#[derive(Debug)]
struct Known<J> {
    ticket: Ticket,
    /// Everybody who has sent it.
    origins: Vec<Origin>,
    running: Option<J>,
    /// Whether it is among those that are forgotten in order.
    is_in_order: bool,
}

impl<J> Known<J> {
    fn is(&self, origin: &Origin) -> bool {
        self.origins.iter().any(|known| known.is(origin))
    }

    fn is_of(&self, master: &str) -> bool {
        self.origins.iter().any(|known| known.is_master(master))
    }

    /// Records a further master that has sent it.
    fn add(&mut self, origin: &Origin) {
        if let Origin::Master { name, .. } = origin
            && !self.is_of(name)
        {
            self.origins.push(origin.clone());
        }
    }
}

impl<J> Jobs<J> {
    /// A registry that remembers the last `remembered_max` jobs.
    pub fn new(remembered_max: usize) -> Self {
        Self {
            known: HashMap::new(),
            order: VecDeque::new(),
            remembered_max: remembered_max.max(1),
            next: 0,
        }
    }

    /// Claims a job: a ticket for the first caller, nothing for everyone after.
    /// A running job stays claimed however many came after it.
    pub fn claim(&mut self, job: &JobName) -> Option<Ticket> {
        let mut known = self.known.get_mut(&job.jid).into_iter().flatten();
        if let Some(known) = known.find(|known| known.is(&job.origin)) {
            known.add(&job.origin);
            return None;
        }
        Some(self.add(job))
    }

    /// Adds a job of the minion's own, which runs whatever else has its id.
    pub fn add(&mut self, job: &JobName) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        self.known.entry(job.jid.clone()).or_default().push(Known {
            ticket,
            origins: vec![job.origin.clone()],
            running: None,
            is_in_order: true,
        });
        self.order.push_back((job.jid.clone(), ticket));
        self.forget_old();
        ticket
    }

    fn forget_old(&mut self) {
        while self.order.len() > self.remembered_max {
            let Some((jid, ticket)) = self.order.pop_front() else {
                return;
            };
            if let Some(known) = self.with(&jid, ticket)
                && known.running.is_some()
            {
                // It is put back when it ends.
                known.is_in_order = false;
                continue;
            }
            let Some(known) = self.known.get_mut(&jid) else {
                continue;
            };
            known.retain(|known| known.ticket != ticket);
            if known.is_empty() {
                self.known.remove(&jid);
            }
        }
    }

    /// Whether a job has been claimed, as far as is remembered.
    pub fn knows(&self, job: &JobName) -> bool {
        let mut known = self.of_id(&job.jid);
        known.any(|known| known.is(&job.origin))
    }

    /// Whether a master has sent another job with the id of this one.
    pub fn has_another(&self, job: &JobName, master: &str) -> bool {
        let mut known = self.of_id(&job.jid);
        known.any(|known| known.is_of(master) && !known.is(&job.origin))
    }

    /// Records that a claimed job runs now.
    pub fn start(&mut self, jid: &Jid, ticket: Ticket, job: J) {
        if let Some(known) = self.with(jid, ticket) {
            known.running = Some(job);
        }
    }

    /// Records that a job has ended.
    pub fn finish(&mut self, jid: &Jid, ticket: Ticket) -> Option<J> {
        let known = self.with(jid, ticket)?;
        let ended = known.running.take();
        if !std::mem::replace(&mut known.is_in_order, true) {
            self.order.push_back((jid.clone(), ticket));
            self.forget_old();
        }
        ended
    }

    /// The running job that a master means by an id: its own, or else another's.
    pub fn running(&self, jid: &Jid, asker: Option<&str>) -> Option<&J> {
        let own = asker.and_then(|asker| self.of_id(jid).find(|known| known.is_of(asker)));
        match own {
            Some(own) => own.running.as_ref(),
            None => self.of_id(jid).find_map(|known| known.running.as_ref()),
        }
    }

    /// All running jobs.
    pub fn all_running(&self) -> impl Iterator<Item = (&Jid, &J)> {
        self.known.iter().flat_map(|(jid, known)| {
            let running = known.iter().filter_map(|known| known.running.as_ref());
            running.map(move |job| (jid, job))
        })
    }

    fn of_id(&self, jid: &Jid) -> impl Iterator<Item = &Known<J>> {
        self.known.get(jid).into_iter().flatten()
    }

    fn with(&mut self, jid: &Jid, ticket: Ticket) -> Option<&mut Known<J>> {
        let mut known = self.known.get_mut(jid)?.iter_mut();
        known.find(|known| known.ticket == ticket)
    }
}

#[cfg(test)]
mod tests {
    use halite_proto::publish::PublishLoad;

    use super::super::origin::JobKey;
    use super::*;

    fn jid(n: u64) -> Jid {
        Jid::parse(format!("{n:020}")).unwrap()
    }

    fn job(n: u64, master: &str, fun: &str) -> JobName {
        let load = PublishLoad::new(fun.into(), Vec::new(), "*".into(), "glob", jid(n));
        JobName {
            jid: jid(n),
            origin: Origin::master(master, Some(JobKey::new(&load, None))),
        }
    }

    fn own(n: u64) -> JobName {
        JobName {
            jid: jid(n),
            origin: Origin::Own,
        }
    }

    #[test]
    fn a_job_is_claimed_once() {
        let mut jobs: Jobs<()> = Jobs::new(100);
        assert!(jobs.claim(&job(1, "m1", "a")).is_some());
        assert!(jobs.claim(&job(1, "m1", "a")).is_none());
        // Another master passes it on.
        assert!(jobs.claim(&job(1, "m2", "a")).is_none());
        assert!(jobs.knows(&job(1, "m3", "a")) && !jobs.knows(&job(2, "m1", "a")));
        assert!(jobs.claim(&job(2, "m1", "a")).is_some());
    }

    #[test]
    fn two_commands_of_one_id_are_two_jobs() {
        let mut jobs = Jobs::new(100);
        let first = jobs.claim(&job(1, "m1", "a")).unwrap();
        let second = jobs.claim(&job(1, "m2", "b")).unwrap();
        assert!(jobs.claim(&job(1, "m2", "b")).is_none());
        assert!(jobs.claim(&own(1)).is_some() && jobs.claim(&own(1)).is_none());
        jobs.start(&jid(1), first, "first");
        jobs.start(&jid(1), second, "second");
        let asked = |jobs: &Jobs<_>, asker| jobs.running(&jid(1), asker).copied();
        assert_eq!(asked(&jobs, Some("m1")), Some("first"));
        assert_eq!(asked(&jobs, Some("m2")), Some("second"));
        assert_eq!(asked(&jobs, Some("m3")), Some("first"));
        assert_eq!(jobs.finish(&jid(1), first), Some("first"));
        assert_eq!(asked(&jobs, Some("m1")), None, "it has ended");
        assert_eq!(asked(&jobs, Some("m2")), Some("second"));
        assert_eq!(asked(&jobs, None), Some("second"));
        assert_eq!(jobs.all_running().count(), 1);
        assert!(jobs.has_another(&job(1, "m1", "a"), "m2"));
        assert!(!jobs.has_another(&job(1, "m1", "a"), "m1"));
        assert!(!jobs.has_another(&job(1, "m1", "a"), "m3"));
    }

    #[test]
    fn memory_is_bounded_but_a_running_job_is_never_forgotten() {
        let mut jobs = Jobs::new(3);
        let long = jobs.claim(&job(0, "m1", "a")).unwrap();
        jobs.start(&jid(0), long, "long");
        for n in 1..100 {
            assert!(jobs.claim(&job(n, "m1", "a")).is_some());
        }
        assert_eq!((jobs.order.len(), jobs.known.len()), (3, 4));
        assert!(jobs.claim(&job(0, "m1", "a")).is_none(), "it still runs");
        assert_eq!(jobs.finish(&jid(0), long), Some("long"));
        assert!(jobs.claim(&job(0, "m1", "a")).is_none(), "it ran just now");
        assert_eq!((jobs.order.len(), jobs.known.len()), (3, 3));
        assert!(jobs.claim(&job(50, "m1", "a")).is_some(), "long forgotten");
        assert_eq!((jobs.order.len(), jobs.known.len()), (3, 3));
    }
}
