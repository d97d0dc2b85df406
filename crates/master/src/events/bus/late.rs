//! Which jobs were published by programs that may subscribe to the bus only
//! afterwards: those of Salt. Ours, and the master itself, subscribe first.
//!
//! Pure and bounded: the oldest jobs are forgotten, and a late subscriber does not
//! get their returns.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use halite_proto::Jid;

use crate::limits::LATE_JOBS_MAX;

/// The jobs, and when they were asked for.
#[derive(Debug, Default)]
pub(super) struct LateJobs {
    asked: HashMap<Jid, Instant>,
    order: VecDeque<Jid>,
}

impl LateJobs {
    /// A job is asked for, possibly one more part of it.
    pub(super) fn expect(&mut self, jid: &Jid, now: Instant) {
        if self.asked.insert(jid.clone(), now).is_some() {
            return;
        }
        self.order.push_back(jid.clone());
        while self.order.len() > LATE_JOBS_MAX {
            if let Some(oldest) = self.order.pop_front() {
                self.asked.remove(&oldest);
            }
        }
    }

    /// When a job was asked for, if it is one of them.
    pub(super) fn asked(&self, jid: &Jid) -> Option<Instant> {
        self.asked.get(jid).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn jid(n: usize) -> Jid {
        Jid::parse(format!("{n:020}")).unwrap()
    }

    #[test]
    fn the_last_part_of_a_job_counts() {
        let mut jobs = LateJobs::default();
        let now = Instant::now();
        jobs.expect(&jid(1), now);
        let later = now + Duration::from_secs(1);
        jobs.expect(&jid(1), later);
        assert_eq!(jobs.asked(&jid(1)), Some(later));
        assert_eq!(jobs.asked(&jid(2)), None);
        assert_eq!(jobs.order.len(), 1);
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut jobs = LateJobs::default();
        let now = Instant::now();
        for n in 0..=LATE_JOBS_MAX {
            jobs.expect(&jid(n), now);
        }
        assert_eq!(jobs.asked(&jid(0)), None);
        assert_eq!(jobs.asked(&jid(1)), Some(now));
        assert_eq!(
            (jobs.asked.len(), jobs.order.len()),
            (LATE_JOBS_MAX, LATE_JOBS_MAX)
        );
    }
}
