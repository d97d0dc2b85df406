//! Which peers are dialled and how, with and without a bus.

use super::Shared;
use crate::peer::{PeerId, Way};

impl Shared {
    /// How peers are to be dialled now: at their addresses, or all that are known by
    /// the bus.
    pub(crate) fn wanted_ways(&self) -> Vec<Way> {
        if self.bus.is_some() {
            let peers = self.pins.peers().into_iter();
            let others = peers.filter(|peer| !self.is_own(peer));
            return others.map(Way::Bus).collect();
        }
        let state = self.state();
        let addresses = self.addresses.iter().chain(&state.learnt);
        addresses.cloned().map(Way::Direct).collect()
    }

    /// Whether a peer is still to be dialled so.
    pub(crate) fn is_wanted(&self, way: &Way) -> bool {
        match way {
            Way::Direct(address) => self.is_address(address),
            Way::Bus(peer) => self.pins.peers().contains(peer),
        }
    }

    /// What a linked peer has acknowledged.
    pub(crate) fn acknowledged_by(&self, peer: &PeerId) -> u64 {
        let state = self.state();
        state.dialled.get(peer).map_or(0, |of| of.acknowledged)
    }

    /// Whether somebody is linked, and all who are have handled a message.
    pub(crate) fn is_handled_by_all(&self, number: u64) -> bool {
        let acknowledged = self.acknowledged();
        !acknowledged.is_empty() && acknowledged.iter().all(|of| *of >= number)
    }

    fn is_own(&self, peer: &PeerId) -> bool {
        self.bus
            .as_ref()
            .is_some_and(|bus| bus.options.own == *peer)
    }
}
