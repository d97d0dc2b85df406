//! Which master of a cluster does what must be done once: the schedule, engines,
//! presence events.
//!
//! Pure: time comes in. It is the first by name of those that are connected to each
//! other. Invariant: a master that has just started does none of it before its
//! links are up or [`LEAD_AFTER`] is over, so that it is not a second one while
//! they connect.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use halite_mesh::{Incarnation, PeerId};

use crate::limits::LEAD_AFTER;

/// The state of the links, to decide which master leads.
#[derive(Debug)]
pub(crate) struct Lead {
    own: PeerId,
    begun: Instant,
    /// All peers of the configuration were linked at some time.
    is_settled: bool,
    /// Each peer that was connected.
    peers: BTreeMap<PeerId, Known>,
}

/// A peer that was connected.
#[derive(Debug)]
struct Known {
    life: Incarnation,
    away: Option<Away>,
}

/// A peer is not connected.
#[derive(Debug)]
struct Away {
    since: Instant,
    /// This master has led in that time.
    led: bool,
}

/// A peer is back that has lived on while the link to it was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Met {
    /// How long it was cut.
    pub(crate) apart: Duration,
    /// This master did what is to be done once meanwhile; the peer's half may have
    /// done it too.
    pub(crate) led: bool,
}

impl Lead {
    /// A master that starts now.
    pub(crate) fn new(own: PeerId, now: Instant) -> Self {
        Self {
            own,
            begun: now,
            is_settled: false,
            peers: BTreeMap::new(),
        }
    }

    /// Whether this master leads. `is_linked` says that all peers of the
    /// configuration are linked.
    pub(crate) fn leads(&mut self, now: Instant, is_linked: bool) -> bool {
        self.is_settled |= is_linked || now.duration_since(self.begun) >= LEAD_AFTER;
        self.is_settled && *self.first() == self.own
    }

    /// The master that leads as this one sees it.
    pub(crate) fn first(&self) -> &PeerId {
        let here = self.peers.iter().filter(|(_, of)| of.away.is_none());
        here.map(|(peer, _)| peer)
            .chain([&self.own])
            .min()
            .unwrap_or(&self.own)
    }

    /// A peer has connected.
    pub(crate) fn is_up(&mut self, now: Instant, peer: &PeerId, life: Incarnation) -> Option<Met> {
        self.note_led();
        let before = self
            .peers
            .insert(peer.clone(), Known { life, away: None })?;
        let away = before.away.filter(|_| before.life == life)?;
        Some(Met {
            apart: now.duration_since(away.since),
            led: away.led,
        })
    }

    /// A peer is away.
    pub(crate) fn is_down(&mut self, now: Instant, peer: &PeerId) {
        self.note_led();
        if let Some(of) = self.peers.get_mut(peer) {
            of.away.get_or_insert(Away {
                since: now,
                led: false,
            });
        }
    }

    /// Remembers that this master leads, if it does, for all peers that are away. To be
    /// called before a peer comes or goes: then it may lead no longer.
    fn note_led(&mut self) {
        if self.is_settled && *self.first() == self.own {
            let away = self.peers.values_mut().filter_map(|of| of.away.as_mut());
            away.for_each(|away| away.led = true);
        }
    }

    /// Forgets masters that are no longer members.
    pub(crate) fn retain(&mut self, is_member: impl Fn(&PeerId) -> bool) {
        self.peers.retain(|peer, _| is_member(peer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(name: &str) -> PeerId {
        PeerId::parse(name).unwrap()
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_first_of_those_that_are_connected_leads() {
        let begun = Instant::now();
        let mut m2 = Lead::new(peer("m2"), begun);
        // Not for the moment that its links take.
        assert!(!m2.leads(begun + SECOND, false));
        assert!(m2.leads(begun + LEAD_AFTER, false));
        assert_eq!(m2.is_up(begun, &peer("m1"), Incarnation(1)), None);
        assert_eq!(m2.is_up(begun, &peer("m3"), Incarnation(1)), None);
        assert!(!m2.leads(begun + 9 * SECOND, true));
        assert_eq!(*m2.first(), peer("m1"));
        m2.is_down(begun, &peer("m1"));
        assert!(m2.leads(begun + 9 * SECOND, false));
        let mut linked = Lead::new(peer("m2"), begun);
        assert!(linked.leads(begun, true) && linked.leads(begun, false));
    }

    #[test]
    fn halves_that_meet_say_so_and_a_master_that_has_started_anew_does_not() {
        let begun = Instant::now();
        let mut m1 = Lead::new(peer("m1"), begun);
        let (m2, m3) = (peer("m2"), peer("m3"));
        m1.is_up(begun, &m2, Incarnation(1));
        m1.is_up(begun, &m3, Incarnation(1));
        assert!(m1.leads(begun, true));
        m1.is_down(begun + SECOND, &m2);
        m1.is_down(begun + 2 * SECOND, &m2);
        m1.is_down(begun + SECOND, &m3);
        let met = m1.is_up(begun + 5 * SECOND, &m2, Incarnation(1));
        let apart = 4 * SECOND;
        assert_eq!(met, Some(Met { apart, led: true }));
        assert_eq!(m1.is_up(begun + 5 * SECOND, &m3, Incarnation(2)), None);
        let mut other = Lead::new(m3, begun);
        other.is_up(begun, &m2, Incarnation(1));
        other.is_up(begun, &peer("m1"), Incarnation(1));
        assert!(!other.leads(begun, true));
        other.is_down(begun, &peer("m1"));
        let met = other.is_up(begun + SECOND, &peer("m1"), Incarnation(1));
        assert_eq!(met.map(|met| met.led), Some(false));
        // The last one was alone: it has led for both, also when one of them is back.
        other.is_down(begun + 2 * SECOND, &peer("m1"));
        other.is_down(begun + 2 * SECOND, &m2);
        let met =
            [peer("m1"), m2.clone()].map(|of| other.is_up(begun + 3 * SECOND, &of, Incarnation(1)));
        assert_eq!(met.map(|met| met.map(|met| met.led)), [Some(true); 2]);
        other.retain(|peer| *peer == m2);
        assert_eq!(*other.first(), m2);
    }
}
