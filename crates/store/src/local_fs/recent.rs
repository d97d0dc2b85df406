//! The jobs that this process has prepared itself and need not look up.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use halite_proto::Jid;

use crate::limits::JOBS_REMEMBERED_MAX;

/// The record of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// Its returns are stored.
    Stored,
    /// Its returns are stored, and they are all that is known of it.
    FromReturns,
    /// Its returns are dropped.
    NoCache,
}

/// The last jobs prepared or seen, the oldest forgotten first.
#[derive(Debug, Default)]
pub(crate) struct Recent(Mutex<Jobs>);

#[derive(Debug, Default)]
struct Jobs {
    known: HashMap<Jid, Known>,
    order: VecDeque<Jid>,
}

impl Recent {
    pub(crate) fn get(&self, jid: &Jid) -> Option<Known> {
        self.lock().known.get(jid).copied()
    }

    pub(crate) fn insert(&self, jid: &Jid, known: Known) {
        let mut jobs = self.lock();
        if jobs.known.insert(jid.clone(), known).is_none() {
            jobs.order.push_back(jid.clone());
            if jobs.order.len() > JOBS_REMEMBERED_MAX
                && let Some(oldest) = jobs.order.pop_front()
            {
                jobs.known.remove(&oldest);
            }
        }
    }

    pub(crate) fn clear(&self) {
        *self.lock() = Jobs::default();
    }

    fn lock(&self) -> MutexGuard<'_, Jobs> {
        // The two halves may differ after a panic, which costs a lookup.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use halite_proto::time::jid_from_micros;

    use super::*;

    #[test]
    fn the_oldest_job_is_forgotten_first() {
        let recent = Recent::default();
        let jid = |number: usize| jid_from_micros(number as u64);
        for number in 0..=JOBS_REMEMBERED_MAX {
            recent.insert(&jid(number), Known::Stored);
        }
        assert_eq!(recent.get(&jid(0)), None);
        assert_eq!(recent.get(&jid(1)), Some(Known::Stored));
        recent.insert(&jid(1), Known::NoCache);
        assert_eq!(recent.get(&jid(1)), Some(Known::NoCache));
        recent.clear();
        assert_eq!(recent.get(&jid(1)), None);
    }
}
