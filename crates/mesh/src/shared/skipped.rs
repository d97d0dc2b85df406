//! Messages that were dropped before a peer got them. An acknowledgement of the
//! peer does not cover these.

use super::Shared;
use crate::limits::PEERS_MAX;
use crate::peer::PeerId;

impl Shared {
    /// A peer that was told the messages up to `told` is told that those up to `number`
    /// are forgotten.
    pub(crate) fn record_skipped(&self, peer: &PeerId, told: u64, number: u64) {
        let mut state = self.state();
        // One that has heard nothing yet has missed nothing.
        if told > 0 {
            state.skipped_count += number.saturating_sub(told);
        }
        if state.skipped.len() >= 2 * PEERS_MAX {
            let peers = self.pins.peers();
            state.skipped.retain(|peer, _| peers.contains(peer));
        }
        state.skipped.insert(peer.clone(), number);
    }

    /// Whether some linked peer has handled a message itself, and no gap in its place.
    pub(crate) fn is_handled_by_one(&self, number: u64) -> bool {
        let state = self.state();
        let is_skipped = |peer| state.skipped.get(peer).is_some_and(|last| *last >= number);
        let mut dialled = state.dialled.iter();
        dialled.any(|(peer, of)| of.acknowledged >= number && !is_skipped(peer))
    }

    /// Whether a linked peer was told that a message is forgotten, and no other one has
    /// handled it.
    pub(crate) fn is_skipped(&self, number: u64) -> bool {
        let is_skipped = {
            let state = self.state();
            let mut linked = state.dialled.keys();
            linked.any(|peer| state.skipped.get(peer).is_some_and(|last| *last >= number))
        };
        is_skipped && !self.is_handled_by_one(number)
    }
}
