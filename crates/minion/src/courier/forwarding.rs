//! What a master is told, once it is there again, of its results that another
//! master has: whoever waits for them there learns where to look.
//!
//! Invariant: the notes are bounded; the oldest are forgotten. They are a
//! courtesy: the results themselves are safe.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use halite_proto::request::{MinionRequest, Whereabouts};
use halite_proto::{Jid, MinionId};
use tracing::debug;

use crate::core::sign_in::chain;
use crate::limits::WHEREABOUTS_MAX;
use crate::state::Master;

/// The notes for one master.
#[derive(Default)]
pub(super) struct Forwarding {
    notes: Mutex<VecDeque<Whereabouts>>,
}

impl Forwarding {
    /// Another master has the result of one of this master's jobs.
    pub(super) fn note(&self, jid: Jid, at: &str) {
        let mut notes = self.lock();
        if notes.len() >= WHEREABOUTS_MAX {
            notes.pop_front();
        }
        notes.push_back(Whereabouts {
            jid,
            master: at.to_owned(),
        });
    }

    /// Tells the master, if there is something to tell and it understands.
    pub(super) async fn tell(&self, minion: &crate::state::Minion, master: &Master) {
        let id: &MinionId = &minion.id;
        let notes: Vec<Whereabouts> = self.lock().drain(..).collect();
        if notes.is_empty() || !master.channel.capabilities().whereabouts {
            return;
        }
        let load = MinionRequest::Whereabouts(notes.clone()).to_map(id);
        if let Err(error) = master.channel.request(load, minion.patience).await {
            debug!(
                master = master.name,
                "not told where its results are: {}",
                chain(&error)
            );
            let mut kept = self.lock();
            for note in notes.into_iter().rev() {
                if kept.len() < WHEREABOUTS_MAX {
                    kept.push_front(note);
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Whereabouts>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_notes_are_kept() {
        let forwarding = Forwarding::default();
        for n in 0..=WHEREABOUTS_MAX {
            forwarding.note(Jid::parse(format!("{n:020}")).unwrap(), "m2");
        }
        let notes = forwarding.lock();
        assert_eq!(notes.len(), WHEREABOUTS_MAX);
        assert_eq!(notes[0].jid.as_str(), format!("{:020}", 1));
    }
}
