//! What peers have acknowledged, and who is woken by it.

use tokio::sync::watch;

use super::Shared;
use crate::peer::PeerId;

impl Shared {
    /// Changes with every acknowledgement and every link.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Changes with every link.
    pub(crate) fn link_changes(&self) -> watch::Receiver<u64> {
        self.links_changed.subscribe()
    }

    /// A peer says that it has handled all up to a number, of which it can only mean what
    /// was told.
    pub(crate) fn record_acknowledged(&self, peer: &PeerId, number: u64) {
        let number = number.min(*self.last.borrow());
        let is_new = match self.state().dialled.get_mut(peer) {
            Some(dialled) if dialled.acknowledged < number => {
                dialled.acknowledged = number;
                true
            }
            // A sign of life.
            _ => false,
        };
        if is_new {
            count(&self.changed);
            self.waiters.wake_up_to(number);
        }
    }

    /// What the linked peers have acknowledged.
    pub(crate) fn acknowledged(&self) -> Vec<u64> {
        let state = self.state();
        state.dialled.values().map(|of| of.acknowledged).collect()
    }

    /// A link has changed.
    pub(crate) fn note_change(&self) {
        count(&self.changed);
        count(&self.links_changed);
        self.waiters.wake_all();
    }
}

fn count(changes: &watch::Sender<u64>) {
    changes.send_modify(|count| *count = count.wrapping_add(1));
}
