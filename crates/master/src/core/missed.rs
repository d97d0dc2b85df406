//! The jobs of the last while, for minions that come back and ask what they
//! have missed.
//!
//! Pure: time comes in. Invariant: a minion is told only of jobs that were
//! meant for it, are younger than the window and that it has not returned.

use std::collections::{HashSet, VecDeque};

use halite_proto::{Jid, Map, MinionId};

/// A job and who has not returned it.
#[derive(Debug)]
struct Job {
    jid: Jid,
    published_s: u64,
    load: Map,
    bytes: usize,
    open: HashSet<MinionId>,
    returned: HashSet<MinionId>,
}

/// The jobs that can be asked for.
#[derive(Debug)]
pub(crate) struct Missed {
    window_s: u64,
    bytes_max: usize,
    bytes: usize,
    jobs: VecDeque<Job>,
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
        }
    }

    /// Whether anything is remembered at all.
    pub(crate) fn is_on(&self) -> bool {
        self.window_s > 0
    }

    /// Remembers a job that is about to be published; `bytes` is its size.
    pub(crate) fn record(
        &mut self,
        now_s: u64,
        jid: Jid,
        load: Map,
        bytes: usize,
        minions: impl IntoIterator<Item = MinionId>,
    ) {
        if !self.is_on() || bytes > self.bytes_max {
            return;
        }
        self.bytes += bytes;
        self.jobs.push_back(Job {
            jid,
            published_s: now_s,
            load,
            bytes,
            open: minions.into_iter().collect(),
            returned: HashSet::new(),
        });
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

    /// How many jobs were published since.
    pub(crate) fn count_since(&self, since_s: u64) -> usize {
        let is_since = |job: &&Job| job.published_s >= since_s;
        self.jobs.iter().filter(is_since).count()
    }

    /// The jobs that were published since, each with the minions that have not
    /// returned it.
    pub(crate) fn open_since(&mut self, now_s: u64, since_s: u64) -> Vec<(Map, Vec<MinionId>)> {
        self.forget_old(now_s);
        let open = self
            .jobs
            .iter()
            .filter(|job| job.published_s >= since_s && !job.open.is_empty());
        open.map(|job| (job.load.clone(), job.open.iter().cloned().collect()))
            .collect()
    }

    /// Records that a minion has returned a job.
    pub(crate) fn returned(&mut self, jid: &Jid, id: &MinionId) {
        // The job is among the last ones, if it is there at all; the parts of a batch
        // have one id.
        let mut jobs = self.jobs.iter_mut().rev();
        if let Some(job) = jobs.find(|job| job.jid == *jid && job.open.contains(id)) {
            job.open.remove(id);
            job.returned.insert(id.clone());
        }
    }

    /// Whether a minion has returned a job that is remembered.
    pub(crate) fn has_returned(&self, jid: &Jid, id: &MinionId) -> bool {
        let mut jobs = self.jobs.iter().rev();
        jobs.any(|job| job.jid == *jid && job.returned.contains(id))
    }

    /// The same as [`open_since`](Self::open_since) of the last `max` jobs, and how many
    /// older ones are left out.
    pub(crate) fn last_open(
        &mut self,
        now_s: u64,
        since_s: u64,
        max: usize,
    ) -> (Vec<(Map, Vec<MinionId>)>, usize) {
        let mut open = self.open_since(now_s, since_s);
        // Those that are closed count as well: minions have seen them.
        let last = self.jobs.iter().rev().take(max);
        let last_open = last.filter(|job| job.published_s >= since_s && !job.open.is_empty());
        let left_out = open.len() - last_open.count();
        open.drain(..left_out);
        (open, left_out)
    }

    /// The jobs that a minion may have missed, in the order of publication.
    pub(crate) fn missed_by(&mut self, now_s: u64, id: &MinionId) -> Vec<Map> {
        self.forget_old(now_s);
        // Also where an old one stands behind a younger one: a clock was set
        // while no master ran.
        let open = self.jobs.iter().filter(|job| {
            now_s.saturating_sub(job.published_s) <= self.window_s && job.open.contains(id)
        });
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> MinionId {
        MinionId::parse(name).unwrap()
    }

    fn record(missed: &mut Missed, now_s: u64, n: u64, minions: &[&str]) -> Jid {
        let jid = Jid::parse(format!("{n:020}")).unwrap();
        let load = Map::from([("jid", jid.as_str())]);
        missed.record(
            now_s,
            jid.clone(),
            load,
            100,
            minions.iter().map(|name| id(name)),
        );
        jid
    }

    fn jids(missed: &mut Missed, now_s: u64, name: &str) -> Vec<u64> {
        let jid = |load: Map| load.get("jid").unwrap().as_str().unwrap().parse().unwrap();
        missed
            .missed_by(now_s, &id(name))
            .into_iter()
            .map(jid)
            .collect()
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
        assert_eq!(missed.count_since(105), 2);
        let open = missed.open_since(107, 105);
        let [(load, minions)] = open.as_slice() else {
            panic!("{open:?}")
        };
        assert_eq!(load.get("jid").unwrap().as_str(), Some(second.as_str()));
        assert_eq!(minions, &[id("py1")]);
        assert!(missed.has_returned(&second, &id("web1")));
        assert!(!missed.has_returned(&second, &id("py1")));
        let (last, left_out) = missed.last_open(107, 100, 2);
        assert_eq!((last.len(), left_out), (1, 1));
        assert_eq!(missed.last_open(107, 100, 3).1, 0);
        assert!(missed.open_since(140, 105).is_empty());
        assert!(!missed.is_open(&second, &[id("py1")]));
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
