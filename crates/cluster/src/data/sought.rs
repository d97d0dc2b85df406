//! What somebody waits for and is not here: the peers are asked for it at once.
//!
//! Invariant: a peer that has let one search run out of time is not asked again for a
//! while, so that it delays no further ones.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use super::version::DataName;
use crate::limits::{DATA_SOUGHT_MAX, DATA_STALLED_FOR};
use crate::peer::PeerId;

/// How a search stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// No peer is linked that could be asked.
    Alone,
    /// A peer has still to answer, or what it has given is still to be stored.
    Open,
    /// It was stored, or nobody has it.
    Over,
}

/// All searches of one master.
#[derive(Debug, Default)]
pub(super) struct Sought {
    searches: BTreeMap<DataName, State>,
    /// Until when peers are not asked.
    stalled: BTreeMap<PeerId, Instant>,
}

#[derive(Debug, Default)]
struct State {
    /// How many wait for it.
    seekers: usize,
    /// The peers that have not answered yet.
    asked: BTreeSet<PeerId>,
    was_asked: bool,
    /// A peer has given it, and it is to be stored.
    is_given: bool,
}

impl State {
    fn ask(&mut self, peer: &PeerId) {
        self.asked.insert(peer.clone());
        self.was_asked = true;
    }
}

impl Sought {
    /// Somebody waits for this; which of the linked peers are to be asked. `None` if too
    /// much is sought already.
    pub(super) fn begin<'a>(
        &mut self,
        now: Instant,
        name: &DataName,
        linked: impl Iterator<Item = &'a PeerId>,
    ) -> Option<Vec<PeerId>> {
        self.stalled.retain(|_, until| *until > now);
        let has_room = self.searches.len() < DATA_SOUGHT_MAX || self.searches.contains_key(name);
        if !has_room {
            return None;
        }
        let search = self.searches.entry(name.clone()).or_default();
        search.seekers += 1;
        let stalled = &self.stalled;
        let peers: Vec<PeerId> = linked
            .filter(|peer| !search.asked.contains(*peer) && !stalled.contains_key(*peer))
            .cloned()
            .collect();
        // A search of which all linked peers have stalled is over, and not alone.
        search.was_asked |= !stalled.is_empty();
        peers.iter().for_each(|peer| search.ask(peer));
        Some(peers)
    }

    /// A peer is linked: what it is to be asked for.
    pub(super) fn connected(&mut self, peer: &PeerId) -> Vec<DataName> {
        self.stalled.remove(peer);
        let searches = self.searches.iter_mut();
        searches
            .map(|(name, search)| {
                search.ask(peer);
                name.clone()
            })
            .collect()
    }

    /// A peer is away, and answers nothing any more.
    pub(super) fn disconnected(&mut self, peer: &PeerId) {
        self.stalled.remove(peer);
        for search in self.searches.values_mut() {
            search.asked.remove(peer);
        }
    }

    /// A peer has answered; whether it was asked.
    pub(super) fn answered(&mut self, peer: &PeerId, name: &DataName) -> bool {
        self.stalled.remove(peer);
        let search = self.searches.get_mut(name);
        search.is_some_and(|search| search.asked.remove(peer))
    }

    /// What a peer has given is about to be stored.
    pub(super) fn given(&mut self, name: &DataName) {
        if let Some(search) = self.searches.get_mut(name) {
            search.is_given = true;
        }
    }

    /// It is stored.
    pub(super) fn took(&mut self, name: &DataName) {
        self.searches.remove(name);
    }

    pub(super) fn state(&self, name: &DataName) -> Search {
        match self.searches.get(name) {
            None => Search::Over,
            Some(search) if search.is_given || !search.asked.is_empty() => Search::Open,
            Some(search) if search.was_asked => Search::Over,
            Some(_) => Search::Alone,
        }
    }

    /// Somebody waits no longer. The peers that nobody waits for any more have stalled.
    pub(super) fn end(&mut self, now: Instant, name: &DataName) {
        let Some(search) = self.searches.get_mut(name) else {
            return;
        };
        search.seekers = search.seekers.saturating_sub(1);
        if search.seekers > 0 {
            return;
        }
        let stalled = std::mem::take(&mut search.asked);
        self.searches.remove(name);
        let until = now + DATA_STALLED_FOR;
        self.stalled
            .extend(stalled.into_iter().map(|peer| (peer, until)));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use halite_proto::{Map, MinionId};

    use super::*;
    use crate::clock::Stamp;
    use crate::data::{Content, DataKind, Exchange, Message, Output, Version};

    const WALL: u64 = 1_800_000_000_000_000;

    fn peer(n: usize) -> PeerId {
        PeerId::parse(&format!("m{n}")).unwrap()
    }

    fn token(n: usize) -> DataName {
        let id = MinionId::parse(format!("{n:064}")).unwrap();
        DataName::new(DataKind::Token, id)
    }

    /// A master with links to these peers, which has compared itself with them.
    fn linked(now: Instant, peers: &[usize]) -> Exchange {
        let mut exchange = Exchange::new(peer(0));
        for n in peers {
            exchange.connected(now, peer(*n));
        }
        while exchange.poll(now).is_some() {}
        exchange
    }

    /// Who is asked, and for what.
    fn asked(exchange: &mut Exchange, now: Instant) -> Vec<(PeerId, Vec<DataName>)> {
        let outputs = std::iter::from_fn(|| exchange.poll(now));
        let wants = outputs.filter_map(|output| match output {
            Output::Send(peer, Message::Wants(names)) => Some((peer, names)),
            _ => None,
        });
        wants.collect()
    }

    fn says(exchange: &mut Exchange, now: Instant, from: usize, content: Content) {
        let message = Message::Data(token(1), content);
        let heard = exchange.heard(&peer(from), message, (now, WALL), |_| true);
        heard.unwrap();
    }

    fn found() -> (Version, Content) {
        let version = Version {
            at: Stamp {
                micros: WALL,
                count: 0,
            },
            by: peer(2),
            content: Some(7),
        };
        (version.clone(), Content::Is(version, Map::from([("n", 1)])))
    }

    #[test]
    fn all_peers_are_asked_once_and_the_one_that_has_it_ends_the_search() {
        let now = Instant::now();
        let mut exchange = linked(now, &[1, 2]);
        assert!(exchange.seek(now, &token(1)) && exchange.seek(now, &token(1)));
        let wanted = [1, 2].map(|n| (peer(n), vec![token(1)]));
        assert_eq!(asked(&mut exchange, now), wanted);
        says(&mut exchange, now, 1, Content::Unknown);
        assert_eq!(exchange.search(&token(1)), Search::Open);
        let (version, content) = found();
        says(&mut exchange, now, 2, content.clone());
        // It is there when it is stored.
        assert_eq!(exchange.search(&token(1)), Search::Open);
        assert_eq!(exchange.poll(now), Some(Output::Store(token(1), content)));
        exchange.took(&token(1), &version, WALL);
        assert_eq!(exchange.search(&token(1)), Search::Over);
        // What was here and is not any more is over, or was taken back.
        assert!(!exchange.seek(now, &token(1)));
    }

    #[test]
    fn what_nobody_has_is_over_when_all_have_said_so_or_have_gone() {
        let now = Instant::now();
        let mut exchange = linked(now, &[1, 2]);
        assert!(exchange.seek(now, &token(1)));
        says(&mut exchange, now, 1, Content::Unknown);
        assert_eq!(exchange.search(&token(1)), Search::Open);
        exchange.disconnected(&peer(2));
        assert_eq!(exchange.search(&token(1)), Search::Over);
        exchange.seek_no_more(now, &token(1));
    }

    #[test]
    fn a_peer_that_is_linked_later_is_asked_then() {
        let now = Instant::now();
        let mut exchange = linked(now, &[]);
        assert!(exchange.seek(now, &token(1)));
        assert_eq!(exchange.search(&token(1)), Search::Alone);
        exchange.connected(now, peer(1));
        assert_eq!(asked(&mut exchange, now), [(peer(1), vec![token(1)])]);
        assert_eq!(exchange.search(&token(1)), Search::Open);
    }

    #[test]
    fn a_peer_that_has_stalled_is_not_waited_for_again_until_it_speaks() {
        let now = Instant::now();
        let mut exchange = linked(now, &[1]);
        assert!(exchange.seek(now, &token(1)));
        let late = now + Duration::from_secs(1);
        exchange.seek_no_more(late, &token(1));
        asked(&mut exchange, late);
        assert!(exchange.seek(late, &token(2)));
        assert_eq!(exchange.search(&token(2)), Search::Over);
        assert_eq!(asked(&mut exchange, late), []);
        exchange.seek_no_more(late, &token(2));
        // Its late answer is not taken, but a sign of life.
        says(&mut exchange, late, 1, found().1);
        assert_eq!(exchange.poll(late), None);
        assert!(exchange.seek(late, &token(3)));
        assert_eq!(exchange.search(&token(3)), Search::Open);
        exchange.seek_no_more(late, &token(3));
        let later = late + DATA_STALLED_FOR;
        assert!(exchange.seek(later, &token(4)));
        assert_eq!(exchange.search(&token(4)), Search::Open);
    }

    #[test]
    fn so_much_is_sought_at_a_time() {
        let now = Instant::now();
        let mut exchange = linked(now, &[1]);
        for n in 0..DATA_SOUGHT_MAX {
            assert!(exchange.seek(now, &token(n)));
        }
        assert!(!exchange.seek(now, &token(DATA_SOUGHT_MAX)));
        assert!(exchange.seek(now, &token(0)), "that is sought already");
        exchange.seek_no_more(now, &token(1));
        assert!(exchange.seek(now, &token(DATA_SOUGHT_MAX)));
    }
}
