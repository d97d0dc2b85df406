//! The status of the links and of the messages kept for peers.

use std::time::{Duration, Instant};

use super::Shared;
use crate::peer::{Incarnation, PeerId, Way};

/// The state of one peer, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerStatus {
    /// The peer.
    pub peer: PeerId,
    /// How it was dialled, while that connection holds.
    pub dialled: Option<Way>,
    /// Its life, while it is connected to us.
    pub heard: Option<Incarnation>,
    /// Messages that it has not acknowledged.
    pub behind: u64,
    /// How many of them are kept for it, and for how long the oldest.
    pub kept: (usize, Option<Duration>),
}

impl PeerStatus {
    /// Whether there are links both ways.
    pub fn is_connected(&self) -> bool {
        self.dialled.is_some() && self.heard.is_some()
    }
}

/// What is kept to be told again, and what could not be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogStatus {
    /// Messages that are kept.
    pub messages: usize,
    /// Their bytes.
    pub bytes: usize,
    /// Messages that were forgotten before a peer was told them, for each such peer.
    pub skipped: u64,
}

impl Shared {
    /// See [`Mesh::peers`](crate::Mesh::peers).
    pub(crate) fn peers(&self) -> Vec<PeerStatus> {
        let last = *self.last.borrow();
        let own = self.pins.owner(self.tls.own());
        let now = Instant::now();
        let state = self.state();
        let mut peers = self.pins.peers();
        peers.retain(|peer| Some(peer) != own.as_ref());
        let status = |peer: PeerId| {
            let dialled = state.dialled.get(&peer);
            let acknowledged = dialled.map_or(0, |dialled| dialled.acknowledged);
            PeerStatus {
                kept: self.log().behind(acknowledged, now),
                dialled: dialled.map(|dialled| dialled.way.clone()),
                heard: state.heard_by.get(&peer).map(|(life, _)| *life),
                behind: last - acknowledged.min(last),
                peer,
            }
        };
        peers.into_iter().map(status).collect()
    }

    /// See [`Mesh::living`](crate::Mesh::living).
    pub(crate) fn living(&self) -> Vec<(PeerId, Incarnation)> {
        let state = self.state();
        let heard = state.heard_by.iter();
        heard
            .filter(|(peer, _)| self.pins.has(peer))
            .map(|(peer, (life, _))| (peer.clone(), *life))
            .collect()
    }

    /// See [`Mesh::log`](crate::Mesh::log).
    pub(crate) fn log_status(&self) -> LogStatus {
        let (messages, bytes) = self.log().depth();
        LogStatus {
            messages,
            bytes,
            skipped: self.state().skipped_count,
        }
    }
}
