//! Results of one master's jobs that another master has taken. The first master
//! learns of them when it is reachable again, so that it can tell callers where to
//! look.
//!
//! Invariant: the list is bounded; the oldest entries are forgotten. Losing one
//! costs a hint, never a result.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use halite_proto::request::{MinionRequest, Whereabouts};
use halite_proto::{Jid, MinionId};
use tracing::debug;

use crate::core::sign_in::chain;
use crate::limits::WHEREABOUTS_MAX;
use crate::minion::Master;

/// What one master has still to learn.
#[derive(Default)]
pub(super) struct Forwarding {
    unsent: Mutex<VecDeque<Whereabouts>>,
}

impl Forwarding {
    /// Records that the master `at` has the result of one of this master's jobs.
    pub(super) fn record(&self, jid: Jid, at: &str) {
        let mut unsent = self.lock();
        if unsent.len() >= WHEREABOUTS_MAX {
            unsent.pop_front();
        }
        unsent.push_back(Whereabouts {
            jid,
            master: at.to_owned(),
        });
    }

    /// Sends what is recorded, if the master understands it.
    pub(super) async fn send(&self, minion: &crate::minion::Minion, master: &Master) {
        let id: &MinionId = &minion.id;
        let results: Vec<Whereabouts> = self.lock().drain(..).collect();
        if results.is_empty() || !master.channel.capabilities().whereabouts {
            return;
        }
        let load = MinionRequest::Whereabouts(results.clone()).to_map(id);
        if let Err(error) = master.channel.request(load, minion.patience).await {
            debug!(
                master = master.name,
                "could not tell the master where its results are: {}",
                chain(&error)
            );
            let mut unsent = self.lock();
            for result in results.into_iter().rev() {
                if unsent.len() < WHEREABOUTS_MAX {
                    unsent.push_front(result);
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Whereabouts>> {
        self.unsent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_entries_are_kept() {
        let forwarding = Forwarding::default();
        for n in 0..=WHEREABOUTS_MAX {
            forwarding.record(Jid::parse(format!("{n:020}")).unwrap(), "m2");
        }
        let unsent = forwarding.lock();
        assert_eq!(unsent.len(), WHEREABOUTS_MAX);
        assert_eq!(unsent[0].jid.as_str(), format!("{:020}", 1));
    }
}
