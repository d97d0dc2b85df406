//! Under which numbers returns were sent to the peers, and for which peers nothing
//! waits.
//!
//! Pure: time comes in. Invariant: a repeated return is not sent again while its
//! first message is on the way.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use halite_mesh::{Incarnation, PeerId};
use halite_proto::{Jid, MinionId};

/// The returns that were sent to peers since the start of the master; the oldest are
/// forgotten.
#[derive(Debug)]
pub(crate) struct ReturnsTold {
    max: usize,
    numbers: HashMap<(Jid, MinionId), Option<u64>>,
    order: VecDeque<(Jid, MinionId)>,
}

impl ReturnsTold {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max,
            numbers: HashMap::new(),
            order: VecDeque::new(),
        }
    }

    /// Records the message number of a return, or that it could not be sent.
    pub(crate) fn record(&mut self, jid: &Jid, id: &MinionId, number: Option<u64>) {
        let key = (jid.clone(), id.clone());
        if self.numbers.insert(key.clone(), number).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > self.max
            && let Some(oldest) = self.order.pop_front()
        {
            self.numbers.remove(&oldest);
        }
    }

    /// The message number of a return; the inner `None` means that it could not be sent.
    pub(crate) fn number(&self, jid: &Jid, id: &MinionId) -> Option<Option<u64>> {
        self.numbers.get(&(jid.clone(), id.clone())).copied()
    }
}

/// The peers that have not acknowledged a return in time.
#[derive(Debug, Default)]
pub(crate) struct Stalled(Option<(Instant, Vec<(PeerId, Incarnation)>)>);

impl Stalled {
    /// None of these has acknowledged in time: they are not waited for during `pause`.
    /// Whether that is news.
    pub(crate) fn record(
        &mut self,
        now: Instant,
        peers: Vec<(PeerId, Incarnation)>,
        pause: Duration,
    ) -> bool {
        let is_new = !self.is_stalled(now, &peers);
        if is_new {
            self.0 = Some((now + pause, peers));
        }
        is_new
    }

    /// Whether none of the peers is worth waiting for.
    pub(crate) fn is_stalled(&self, now: Instant, peers: &[(PeerId, Incarnation)]) -> bool {
        self.0.as_ref().is_some_and(|(until, stalled)| {
            now < *until && peers.iter().all(|peer| stalled.contains(peer))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jid(n: u64) -> Jid {
        Jid::parse(format!("{n:020}")).unwrap()
    }

    fn peer(name: &str) -> (PeerId, Incarnation) {
        (PeerId::parse(name).unwrap(), Incarnation(1))
    }

    #[test]
    fn the_numbers_of_the_last_returns_are_known() {
        let web1 = MinionId::parse("web1").unwrap();
        let mut told = ReturnsTold::new(2);
        told.record(&jid(1), &web1, Some(7));
        told.record(&jid(2), &web1, None);
        told.record(&jid(1), &web1, Some(9));
        assert_eq!(told.number(&jid(1), &web1), Some(Some(9)));
        assert_eq!(told.number(&jid(2), &web1), Some(None));
        told.record(&jid(3), &web1, Some(10));
        assert_eq!(told.number(&jid(1), &web1), None);
        assert_eq!((told.numbers.len(), told.order.len()), (2, 2));
    }

    #[test]
    fn a_peer_that_stalls_is_not_waited_for_unless_there_is_another() {
        let now = Instant::now();
        let pause = Duration::from_secs(30);
        let mut stalled = Stalled::default();
        assert!(!stalled.is_stalled(now, &[peer("m2")]));
        assert!(stalled.record(now, vec![peer("m2")], pause));
        assert!(!stalled.record(now, vec![peer("m2")], pause));
        assert!(stalled.is_stalled(now, &[peer("m2")]));
        assert!(!stalled.is_stalled(now, &[peer("m2"), peer("m3")]));
        assert!(!stalled.is_stalled(now + pause, &[peer("m2")]));
    }
}
