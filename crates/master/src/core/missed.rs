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
    /// Those who may have returned it: the job cache could not be read. They get it when
    /// it is known that they have not.
    pub(crate) undecided: HashSet<MinionId>,
}

/// Whether minions have returned jobs, as the job cache says later.
pub(crate) type Decisions = HashMap<Jid, HashMap<MinionId, bool>>;

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
            let rest = job.returned.iter().chain(&job.undecided);
            for id in job.open.iter().chain(rest) {
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
        let is_due = |job: &&mut Job| job.open.contains(id) || job.undecided.contains(id);
        if let Some(job) = jobs.find(|job| job.jid == *jid && is_due(job)) {
            job.undecided.remove(id);
            job.returned.insert(id.clone());
            if job.open.remove(id) {
                close(&mut self.open, id);
            }
        }
    }

    /// The jobs of minions that may have returned them.
    pub(crate) fn undecided(&mut self, now_s: u64) -> Vec<(Jid, MinionId)> {
        self.forget_old(now_s);
        let of = |job: &Job| -> Vec<_> {
            let ids = job.undecided.iter().cloned();
            ids.map(|id| (job.jid.clone(), id)).collect()
        };
        self.jobs.iter().flat_map(of).collect()
    }

    /// Decides about minions that may have returned a job. The jobs that are open by this,
    /// as heard of now, each with those minions alone.
    pub(crate) fn decide(&mut self, now_s: u64, decisions: &Decisions) -> Vec<OpenJob> {
        self.forget_old(now_s);
        let mut opened = Vec::new();
        for at in 0..self.jobs.len() {
            let Some(decided) = decisions.get(&self.jobs[at].jid) else {
                continue;
            };
            // A peer may have told of the same job since.
            let told = self.open_minions(&self.jobs[at].jid);
            let job = &mut self.jobs[at];
            let mut missed_it = HashSet::new();
            for (id, has_returned) in decided {
                if !job.undecided.remove(id) {
                    continue;
                }
                if *has_returned || told.contains(id) {
                    job.returned.insert(id.clone());
                    continue;
                }
                job.open.insert(id.clone());
                *self.open.entry(id.clone()).or_default() += 1;
                missed_it.insert(id);
            }
            if !missed_it.is_empty() {
                job.heard_s = now_s;
                opened.push(job.open_for(now_s, |id| missed_it.contains(id)));
            }
        }
        opened
    }

    /// The minions that have not returned a job, of all its parts.
    fn open_minions(&self, jid: &Jid) -> HashSet<MinionId> {
        let parts = self.jobs.iter().filter(|job| job.jid == *jid);
        parts.flat_map(|job| job.open.iter().cloned()).collect()
    }

    /// Whether a job is still remembered.
    pub(crate) fn remembers(&self, jid: &Jid) -> bool {
        self.jobs.iter().any(|job| job.jid == *jid)
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
mod tests;
