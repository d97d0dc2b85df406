//! The recent jobs, for minions that come back and ask what they have missed.
//!
//! Pure: time comes in. Invariant: a minion gets only jobs that were for it, are
//! younger than the window, and that it has not returned.

use std::collections::{HashMap, HashSet, VecDeque};

use halite_proto::{Jid, Map, MinionId};

/// A job, who has not returned it, and who has.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) jid: Jid,
    /// When a master has published it.
    pub(crate) published_s: u64,
    /// When this master has heard of it: later, if another one has published it.
    pub(crate) heard_s: u64,
    pub(crate) load: Map,
    /// Its size.
    pub(crate) bytes: usize,
    pub(crate) open: HashSet<MinionId>,
    pub(crate) returned: HashSet<MinionId>,
}

/// A job that was not returned by all.
#[derive(Debug)]
pub(crate) struct OpenJob {
    pub(crate) load: Map,
    /// The minions that have not returned it.
    pub(crate) minions: Vec<MinionId>,
    /// For how long it has been published.
    pub(crate) age_s: u64,
}

/// How many jobs are sent again at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AgainMax {
    /// Jobs in all; the oldest are left out.
    pub(crate) jobs: usize,
    /// A minion with this many jobs published since may have forgotten the id of one.
    pub(crate) newer: usize,
}

/// The jobs that can be asked for.
#[derive(Debug)]
pub(crate) struct Missed {
    window_s: u64,
    bytes_max: usize,
    bytes: usize,
    jobs: VecDeque<Job>,
    /// How many of them each minion has not returned; nobody is here with none.
    open: HashMap<MinionId, u32>,
}

impl Missed {
    /// A memory of `window_s` seconds (0: none) and `bytes_max` bytes of jobs;
    /// the oldest are forgotten first.
    pub(crate) fn new(window_s: u64, bytes_max: usize) -> Self {
        Self {
            window_s,
            bytes_max,
            bytes: 0,
            jobs: VecDeque::new(),
            open: HashMap::new(),
        }
    }

    /// Whether anything is remembered at all.
    pub(crate) fn is_on(&self) -> bool {
        self.window_s > 0
    }

    /// Remembers a job, in the order of publication.
    pub(crate) fn record(&mut self, now_s: u64, job: Job) {
        if !self.is_on() || job.bytes > self.bytes_max {
            return;
        }
        self.bytes += job.bytes;
        for id in &job.open {
            match self.open.get_mut(id) {
                Some(count) => *count += 1,
                None => drop(self.open.insert(id.clone(), 1)),
            }
        }
        let is_earlier = |other: &Job| other.published_s <= job.published_s;
        let place = self.jobs.iter().rposition(is_earlier);
        self.jobs.insert(place.map_or(0, |place| place + 1), job);
        self.forget_old(now_s);
        while self.bytes > self.bytes_max {
            self.forget_oldest();
        }
    }

    /// Whether all of these minions can ask for a job, and have not returned it. The
    /// parts of a batch have one id.
    pub(crate) fn is_open(&self, jid: &Jid, minions: &[MinionId]) -> bool {
        let parts: Vec<&Job> = self.jobs.iter().filter(|job| job.jid == *jid).collect();
        let is_open = |id| parts.iter().any(|job| job.open.contains(id));
        minions.iter().all(is_open) && !parts.is_empty()
    }

    /// The jobs that this master has heard of since, each with the minions that have not
    /// returned it and cannot have forgotten its id; and how many jobs are left out for
    /// some minion or for all.
    pub(crate) fn again_since(
        &mut self,
        now_s: u64,
        since_s: u64,
        max: AgainMax,
    ) -> (Vec<OpenJob>, usize) {
        self.forget_old(now_s);
        let is_wanted = |job: &Job| job.heard_s >= since_s && !job.open.is_empty();
        let first = self.jobs.iter().position(is_wanted);
        let mut newer: HashMap<&MinionId, usize> = HashMap::new();
        let (mut again, mut left_out) = (Vec::new(), 0);
        for job in self.jobs.range(first.unwrap_or(self.jobs.len())..).rev() {
            if is_wanted(job) {
                let knows_it = |id: &&MinionId| newer.get(id).is_none_or(|of| *of < max.newer);
                let open = job.open_for(now_s, knows_it);
                left_out += usize::from(open.minions.len() < job.open.len());
                if !open.minions.is_empty() {
                    again.push(open);
                }
            }
            for id in job.open.iter().chain(&job.returned) {
                *newer.entry(id).or_default() += 1;
            }
        }
        left_out += again.len().saturating_sub(max.jobs);
        again.truncate(max.jobs);
        again.reverse();
        (again, left_out)
    }

    /// Records that a minion has returned a job.
    pub(crate) fn returned(&mut self, jid: &Jid, id: &MinionId) {
        // The job is among the last ones, if it is there at all; the parts of a batch
        // have one id.
        let mut jobs = self.jobs.iter_mut().rev();
        if let Some(job) = jobs.find(|job| job.jid == *jid && job.open.contains(id)) {
            job.open.remove(id);
            job.returned.insert(id.clone());
            close(&mut self.open, id);
        }
    }

    /// Whether there is a job that a minion may have missed.
    pub(crate) fn has_missed(&mut self, now_s: u64, id: &MinionId) -> bool {
        self.forget_old(now_s);
        self.open.contains_key(id)
    }

    /// Whether a minion has returned a job that is remembered.
    pub(crate) fn has_returned(&self, jid: &Jid, id: &MinionId) -> bool {
        let mut jobs = self.jobs.iter().rev();
        jobs.any(|job| job.jid == *jid && job.returned.contains(id))
    }

    /// Of the last `max` jobs, those that were published since and not returned by all,
    /// and how many older ones are left out.
    pub(crate) fn last_open(
        &mut self,
        now_s: u64,
        since_s: u64,
        max: usize,
    ) -> (Vec<OpenJob>, usize) {
        self.forget_old(now_s);
        let is_open = |job: &&Job| job.published_s >= since_s && !job.open.is_empty();
        // Those that are closed count as well: minions have seen them.
        let last = self.jobs.len().saturating_sub(max);
        let left_out = self.jobs.range(..last).filter(is_open).count();
        let open = self.jobs.range(last..).filter(is_open);
        let open = open.map(|job| job.open_for(now_s, |_| true)).collect();
        (open, left_out)
    }

    /// The jobs that a minion may have missed, in the order of publication.
    pub(crate) fn missed_by(&mut self, now_s: u64, id: &MinionId) -> Vec<Map> {
        self.forget_old(now_s);
        let open = self.jobs.iter().filter(|job| job.open.contains(id));
        open.map(|job| job.load.clone()).collect()
    }

    fn forget_old(&mut self, now_s: u64) {
        let window_s = self.window_s;
        let is_old = |job: &Job| now_s.saturating_sub(job.published_s) > window_s;
        while self.jobs.front().is_some_and(is_old) {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some(job) = self.jobs.pop_front() {
            self.bytes -= job.bytes;
            for id in &job.open {
                close(&mut self.open, id);
            }
        }
    }
}

/// A job of a minion is no longer open.
fn close(open: &mut HashMap<MinionId, u32>, id: &MinionId) {
    match open.get_mut(id) {
        Some(count) if *count > 1 => *count -= 1,
        _ => drop(open.remove(id)),
    }
}

impl Job {
    /// The job for those minions that have not returned it and are wanted.
    fn open_for(&self, now_s: u64, is_wanted: impl FnMut(&&MinionId) -> bool) -> OpenJob {
        OpenJob {
            load: self.load.clone(),
            minions: self.open.iter().filter(is_wanted).cloned().collect(),
            age_s: now_s.saturating_sub(self.published_s),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> MinionId {
        MinionId::parse(name).unwrap()
    }

    const MAX: AgainMax = AgainMax {
        jobs: 100,
        newer: 2,
    };

    fn record(missed: &mut Missed, now_s: u64, n: u64, minions: &[&str]) -> Jid {
        record_late(missed, (now_s, now_s), n, minions)
    }

    /// Records a job that was published and heard of at these times.
    fn record_late(missed: &mut Missed, at: (u64, u64), n: u64, minions: &[&str]) -> Jid {
        let jid = Jid::parse(format!("{n:020}")).unwrap();
        let job = Job {
            jid: jid.clone(),
            published_s: at.0,
            heard_s: at.1,
            load: Map::from([("jid", jid.as_str())]),
            bytes: 100,
            open: minions.iter().map(|name| id(name)).collect(),
            returned: HashSet::new(),
        };
        missed.record(at.1, job);
        jid
    }

    fn number(load: &Map) -> u64 {
        load.get("jid").unwrap().as_str().unwrap().parse().unwrap()
    }

    /// What is sent again, by its numbers, and how many are left out.
    fn again(missed: &mut Missed, now_s: u64, since_s: u64, name: &str) -> (Vec<u64>, usize) {
        let (again, left_out) = missed.again_since(now_s, since_s, MAX);
        let again = again.iter().filter(|job| job.minions.contains(&id(name)));
        (again.map(|job| number(&job.load)).collect(), left_out)
    }

    fn jids(missed: &mut Missed, now_s: u64, name: &str) -> Vec<u64> {
        let missed = missed.missed_by(now_s, &id(name));
        missed.iter().map(number).collect()
    }

    #[test]
    fn who_may_have_missed_a_job_is_known_until_it_returns_or_is_too_old() {
        let mut missed = Missed::new(30, 250);
        let first = record(&mut missed, 100, 1, &["a", "b"]);
        record(&mut missed, 110, 2, &["a"]);
        assert!(missed.has_missed(110, &id("a")) && missed.has_missed(110, &id("b")));
        assert!(!missed.has_missed(110, &id("c")));
        missed.returned(&first, &id("b"));
        missed.returned(&first, &id("b"));
        assert!(!missed.has_missed(110, &id("b")));
        missed.returned(&first, &id("a"));
        // The other one is open.
        assert!(missed.has_missed(140, &id("a")));
        assert!(!missed.has_missed(141, &id("a")));
        // Those that there is no room for are forgotten as well.
        for n in 3..6 {
            record(&mut missed, 150, n, &[&format!("of {n}")]);
        }
        assert!(!missed.has_missed(150, &id("of 3")) && missed.has_missed(150, &id("of 5")));
        assert_eq!(missed.open.len(), missed.jobs.len());
    }

    #[test]
    fn a_minion_hears_of_its_own_open_jobs_in_order() {
        let mut missed = Missed::new(30, 10_000);
        record(&mut missed, 100, 1, &["web1", "web2"]);
        let second = record(&mut missed, 101, 2, &["web1"]);
        record(&mut missed, 102, 3, &["web2"]);
        record(&mut missed, 103, 4, &["web1"]);
        missed.returned(&second, &id("web1"));
        assert_eq!(jids(&mut missed, 104, "web1"), [1, 4]);
        assert_eq!(jids(&mut missed, 104, "web2"), [1, 3]);
        assert!(jids(&mut missed, 104, "web3").is_empty());
    }

    #[test]
    fn what_is_open_since_a_moment_is_told_with_whom_it_waits_for() {
        let mut missed = Missed::new(30, 10_000);
        record(&mut missed, 100, 1, &["web1"]);
        let second = record(&mut missed, 105, 2, &["web1", "py1"]);
        let third = record(&mut missed, 106, 3, &["py1"]);
        assert!(missed.is_open(&second, &[id("web1"), id("py1")]));
        // Another part of a batch.
        assert!(!missed.is_open(&second, &[id("py1"), id("web2")]));
        missed.returned(&second, &id("web1"));
        missed.returned(&third, &id("py1"));
        assert!(missed.has_returned(&second, &id("web1")));
        assert!(!missed.has_returned(&second, &id("py1")));
        let (last, left_out) = missed.last_open(107, 100, 2);
        let [open] = last.as_slice() else {
            panic!("{last:?}")
        };
        assert_eq!((number(&open.load), open.age_s, left_out), (2, 2, 1));
        assert_eq!(open.minions, [id("py1")]);
        assert_eq!(missed.last_open(107, 100, 3).1, 0);
        assert!(missed.last_open(140, 105, 3).0.is_empty());
        assert!(!missed.is_open(&second, &[id("py1")]));
    }

    #[test]
    fn a_job_is_sent_again_only_to_who_cannot_have_forgotten_its_id() {
        let mut missed = Missed::new(30, 10_000);
        record(&mut missed, 100, 1, &["py1", "py2"]);
        let second = record(&mut missed, 101, 2, &["py1"]);
        assert_eq!(again(&mut missed, 102, 100, "py1"), (vec![1, 2], 0));
        // What was returned was seen as well.
        missed.returned(&second, &id("py1"));
        record(&mut missed, 102, 3, &["py1"]);
        assert_eq!(again(&mut missed, 103, 100, "py1"), (vec![3], 1));
        assert_eq!(again(&mut missed, 103, 100, "py2"), (vec![1], 1));
        assert_eq!(again(&mut missed, 103, 103, "py1"), (vec![], 0));
        let few = AgainMax { jobs: 1, newer: 9 };
        let (again, left_out) = missed.again_since(103, 100, few);
        assert_eq!((again.len(), number(&again[0].load), left_out), (1, 3, 1));
    }

    #[test]
    fn a_job_that_is_heard_of_late_is_as_old_as_it_is() {
        let mut missed = Missed::new(30, 10_000);
        record(&mut missed, 110, 1, &["py1"]);
        record(&mut missed, 111, 2, &["py1"]);
        record_late(&mut missed, (105, 112), 3, &["py1"]);
        assert_eq!(jids(&mut missed, 112, "py1"), [3, 1, 2]);
        // Two others were published since.
        assert_eq!(again(&mut missed, 112, 112, "py1"), (vec![], 1));
        record_late(&mut missed, (110, 113), 4, &["py2"]);
        assert_eq!(again(&mut missed, 113, 112, "py2"), (vec![4], 1));
        let (open, _) = missed.last_open(113, 108, 9);
        assert_eq!(open.iter().map(|job| job.age_s).max(), Some(3));
        // It expires when its time is over, and not so long after it was heard of.
        assert_eq!(jids(&mut missed, 136, "py1"), [1, 2]);
    }

    #[test]
    fn an_expired_job_is_never_given_out() {
        let mut missed = Missed::new(30, 10_000);
        record(&mut missed, 100, 1, &["web1"]);
        record(&mut missed, 120, 2, &["web1"]);
        assert_eq!(jids(&mut missed, 130, "web1"), [1, 2]);
        assert_eq!(jids(&mut missed, 131, "web1"), [2]);
        assert!(jids(&mut missed, 200, "web1").is_empty());
        assert_eq!(missed.bytes, 0);
    }

    #[test]
    fn an_expired_job_is_not_given_out_behind_a_younger_one() {
        let mut missed = Missed::new(30, 10_000);
        record(&mut missed, 100, 1, &["web1"]);
        record(&mut missed, 60, 2, &["web1"]);
        assert_eq!(jids(&mut missed, 101, "web1"), [1]);
    }

    #[test]
    fn memory_is_bounded_and_off_is_off() {
        let mut missed = Missed::new(30, 1000);
        for n in 0..50 {
            record(&mut missed, 100, n, &["web1"]);
        }
        assert_eq!(jids(&mut missed, 100, "web1").len(), 10);
        let mut off = Missed::new(0, 1000);
        record(&mut off, 100, 1, &["web1"]);
        assert!(jids(&mut off, 100, "web1").is_empty());
    }
}
