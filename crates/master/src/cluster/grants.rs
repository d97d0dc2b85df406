//! Session keys that every master of a cluster can derive.
//!
//! A key follows from the minion, its public key, and a *grant*: the master that
//! gave it, that master's start, and the number of the grant. A master accepts the
//! keys of a grant if it was running when the grant began, since it then knows
//! every nonce that was used with them.
//!
//! Invariant: a master accepts no grant that began before its own start, none that
//! began before it missed a message of a peer, and none older than
//! `publish_session`.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use halite_crypto::{DerivationRoot, SymmetricKey};
use halite_mesh::{Incarnation, PeerId};
use halite_proto::{MinionId, Nonce};

use crate::limits::{EARLY_NONCES_MAX, GRANT_PAUSE_S, GRANTS_PER_MASTER_MAX, GRANTS_SPOILED_MAX};

/// The name of a grant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GrantId {
    /// The master that gives keys under it.
    pub(crate) master: PeerId,
    /// The life of that master.
    pub(crate) life: Incarnation,
    /// Its number in that life.
    pub(crate) number: u64,
}

/// A grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    /// Its name.
    pub(crate) id: GrantId,
    /// When it began, in Unix seconds of the master that gives it.
    pub(crate) born: i64,
    /// The masters that were there, each in its life.
    pub(crate) witnesses: Vec<(PeerId, Incarnation)>,
}

/// The grants of this master and those of its peers.
pub(crate) struct Grants {
    root: DerivationRoot,
    own: (PeerId, Incarnation),
    lifetime_s: i64,
    state: Mutex<State>,
}

struct State {
    current: Grant,
    /// The youngest at the front.
    known: VecDeque<Grant>,
    /// After something was missed: the peers that have begun a grant since.
    renewed: Option<HashSet<PeerId>>,
    /// Uses of keys of grants that are not known yet.
    early: VecDeque<EarlyUse>,
    /// Grants of which not all uses are known.
    spoiled: VecDeque<GrantId>,
}

/// A request that a peer let through with a key of a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EarlyUse {
    /// Whose key.
    pub(crate) minion: MinionId,
    /// Its grant.
    pub(crate) grant: GrantId,
    /// The request's nonce and time.
    pub(crate) nonce: (Nonce, i64),
}

impl Grants {
    /// The first grant of a life.
    pub(crate) fn begin(
        root: DerivationRoot,
        own: (PeerId, Incarnation),
        lifetime_s: u64,
        now: i64,
    ) -> Self {
        let current = Grant {
            id: GrantId {
                master: own.0.clone(),
                life: own.1,
                number: 1,
            },
            born: now,
            witnesses: Vec::new(),
        };
        Self {
            root,
            own,
            lifetime_s: i64::try_from(lifetime_s).unwrap_or(i64::MAX),
            state: Mutex::new(State {
                known: VecDeque::from([current.clone()]),
                current,
                renewed: None,
                early: VecDeque::new(),
                spoiled: VecDeque::new(),
            }),
        }
    }

    /// The grant that minions are given keys of now.
    pub(crate) fn current(&self) -> Grant {
        self.state().current.clone()
    }

    /// Whether the current grant is too old for new keys.
    pub(crate) fn is_due(&self, now: i64) -> bool {
        now.saturating_sub(self.state().current.born) >= self.lifetime_s
    }

    /// Whether another grant may begin because a minion cannot use its session any
    /// more: a grant is of the whole fleet, and not for one minion to end.
    pub(crate) fn may_follow(&self, now: i64) -> bool {
        now.saturating_sub(self.state().current.born) >= GRANT_PAUSE_S
    }

    /// Begins the next grant; these peers are there.
    pub(crate) fn renew(&self, witnesses: Vec<(PeerId, Incarnation)>, now: i64) -> Grant {
        let mut state = self.state();
        state.current.id.number += 1;
        state.current.born = now;
        state.current.witnesses = witnesses;
        let grant = state.current.clone();
        state.add(grant.clone());
        grant
    }

    /// A peer has begun a grant: this master may open what is sealed with its keys.
    /// The uses of them that it has heard of already; `None` if it may not.
    pub(crate) fn learn(&self, from: &PeerId, grant: Grant) -> Option<Vec<EarlyUse>> {
        let mut state = self.state();
        let is_witness = grant.witnesses.contains(&self.own);
        let is_renewed = |renewed: &HashSet<PeerId>| renewed.contains(from);
        let may_have_missed = !state.renewed.as_ref().is_none_or(is_renewed);
        let is_spoiled = state.spoiled.contains(&grant.id);
        if grant.id.master != *from || !is_witness || may_have_missed || is_spoiled {
            return None;
        }
        let (of_grant, others) = std::mem::take(&mut state.early)
            .into_iter()
            .partition(|early| early.grant == grant.id);
        state.early = others;
        state.add(grant);
        Some(Vec::from(of_grant))
    }

    /// As [`learn`](Self::learn), of a grant that was begun because this master has
    /// asked for it.
    pub(crate) fn learn_renewed(&self, from: &PeerId, grant: Grant) -> Option<Vec<EarlyUse>> {
        if let Some(renewed) = &mut self.state().renewed {
            renewed.insert(from.clone());
        }
        self.learn(from, grant)
    }

    /// Messages of peers were lost, which may have announced uses of keys: no earlier
    /// grant is valid any more. The own grant has to be renewed, and the peers asked for
    /// theirs.
    pub(crate) fn forget(&self) {
        let mut state = self.state();
        state.known.clear();
        state.early.clear();
        state.renewed = Some(HashSet::new());
    }

    /// Whether a peer has to begin a grant before one of it is learnt.
    pub(crate) fn needs_renewal(&self, peer: &PeerId) -> bool {
        let state = self.state();
        let renewed = state.renewed.as_ref();
        renewed.is_some_and(|renewed| !renewed.contains(peer))
    }

    /// Returns a use of a key if its grant is known, and otherwise keeps it: the peer
    /// that began the grant may announce it later than the one that let the request
    /// through.
    pub(crate) fn known_or_kept(&self, early: EarlyUse) -> Option<EarlyUse> {
        let mut state = self.state();
        if state.known.iter().any(|known| known.id == early.grant) {
            return Some(early);
        }
        state.early.push_back(early);
        if state.early.len() <= EARLY_NONCES_MAX {
            return None;
        }
        if let Some(EarlyUse { grant, .. }) = state.early.pop_front()
            && !state.spoiled.contains(&grant)
        {
            state.spoiled.push_front(grant);
            state.spoiled.truncate(GRANTS_SPOILED_MAX);
        }
        None
    }

    /// Whether keys of a grant hold.
    pub(crate) fn holds(&self, id: &GrantId, now: i64) -> bool {
        self.living(now).iter().any(|known| known.id == *id)
    }

    /// The grants whose keys hold, the youngest first.
    pub(crate) fn living(&self, now: i64) -> Vec<Grant> {
        let state = self.state();
        // A peer's clock may differ: its grants hold as long again.
        let is_young = |grant: &&Grant| now.saturating_sub(grant.born) < 2 * self.lifetime_s;
        state.known.iter().filter(is_young).cloned().collect()
    }

    /// The key of a minion under a grant; `mark` tells its public key from others.
    pub(crate) fn key(&self, grant: &GrantId, minion: &MinionId, mark: &str) -> SymmetricKey {
        self.root.key(&[
            grant.master.as_str().as_bytes(),
            &grant.life.0.to_be_bytes(),
            &grant.number.to_be_bytes(),
            minion.as_str().as_bytes(),
            mark.as_bytes(),
        ])
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add(&mut self, grant: Grant) {
        if self.known.iter().any(|known| known.id == grant.id) {
            return;
        }
        let mut of_master = 0;
        let master = grant.id.master.clone();
        self.known.push_front(grant);
        // What one master begins, however often, takes nothing from the others.
        self.known.retain(|known| {
            of_master += usize::from(known.id.master == master);
            known.id.master != master || of_master <= GRANTS_PER_MASTER_MAX
        });
    }
}

#[cfg(test)]
mod tests {
    use halite_crypto::PrivateKey;

    use super::*;

    const NOW: i64 = 1_900_000_000;

    fn grants(key: &PrivateKey, name: &str, life: u64) -> Grants {
        let root = DerivationRoot::of_key(key, b"test").unwrap();
        let own = (PeerId::parse(name).unwrap(), Incarnation(life));
        Grants::begin(root, own, 100, NOW)
    }

    #[test]
    fn a_peer_that_was_there_derives_the_same_key() {
        let key = PrivateKey::generate(2048).unwrap();
        let [m1, m2] = [grants(&key, "m1", 1), grants(&key, "m2", 2)];
        let web1 = MinionId::parse("web1").unwrap();
        let before = m1.current();
        assert!(m2.learn(&m1.own.0, before.clone()).is_none());
        let grant = m1.renew(vec![m2.own.clone()], NOW + 1);
        // Nobody else speaks for m1.
        assert!(m2.learn(&m2.own.0, grant.clone()).is_none());
        assert!(m2.learn(&m1.own.0, grant.clone()).is_some());
        assert!(m2.holds(&grant.id, NOW + 1) && !m2.holds(&before.id, NOW + 1));
        let ours = m1.key(&grant.id, &web1, "mark");
        assert!(ours.is_same(&m2.key(&grant.id, &web1, "mark")));
        assert!(!ours.is_same(&m2.key(&before.id, &web1, "mark")));
        assert!(!ours.is_same(&m2.key(&grant.id, &web1, "other")));
        // After a start m2 has heard of no nonces.
        let again = grants(&key, "m2", 3);
        assert!(again.learn(&m1.own.0, grant.clone()).is_none());
        assert!(m1.is_due(NOW + 101) && !m1.is_due(NOW + 100));
        assert!(!m2.holds(&grant.id, NOW + 300));
    }

    #[test]
    fn after_a_gap_only_grants_count_that_were_begun_since() {
        let key = PrivateKey::generate(2048).unwrap();
        let [m1, m2] = [grants(&key, "m1", 1), grants(&key, "m2", 2)];
        let before = m1.renew(vec![m2.own.clone()], NOW);
        assert!(m2.learn(&m1.own.0, before.clone()).is_some());
        m2.forget();
        assert!(m2.living(NOW).is_empty() && m2.needs_renewal(&m1.own.0));
        // It is told again, as whoever comes back is.
        assert!(m2.learn(&m1.own.0, before.clone()).is_none());
        let since = m1.renew(vec![m2.own.clone()], NOW);
        assert!(m2.learn_renewed(&m1.own.0, since.clone()).is_some());
        assert!(m2.holds(&since.id, NOW) && !m2.holds(&before.id, NOW));
        assert!(!m2.needs_renewal(&m1.own.0));
    }

    #[test]
    fn uses_that_are_heard_of_before_the_grant_count() {
        let key = PrivateKey::generate(2048).unwrap();
        let [m1, m2] = [grants(&key, "m1", 1), grants(&key, "m2", 2)];
        let [first, second] = [NOW, NOW].map(|now| m1.renew(vec![m2.own.clone()], now));
        let early = |grant: &Grant, ts| EarlyUse {
            minion: MinionId::parse("web1").unwrap(),
            grant: grant.id.clone(),
            nonce: (Nonce::parse("a".repeat(32)).unwrap(), ts),
        };
        assert!(m2.known_or_kept(early(&first, 1)).is_none());
        assert!(m2.known_or_kept(early(&second, 2)).is_none());
        let uses = m2.learn(&m1.own.0, second.clone()).unwrap();
        assert_eq!(uses, [early(&second, 2)]);
        assert!(m2.known_or_kept(early(&second, 3)).is_some());
        let third = m1.renew(vec![m2.own.clone()], NOW);
        for _ in 0..EARLY_NONCES_MAX {
            assert!(m2.known_or_kept(early(&third, 3)).is_none());
        }
        // One use of the first is not known any more.
        assert!(m2.learn(&m1.own.0, first).is_none());
        let uses = m2.learn(&m1.own.0, third).unwrap();
        assert_eq!(uses.len(), EARLY_NONCES_MAX);
    }

    #[test]
    fn only_the_last_grants_of_each_master_are_known() {
        let key = PrivateKey::generate(2048).unwrap();
        let m1 = grants(&key, "m1", 1);
        let m2 = grants(&key, "m2", 1);
        let of_m2 = m2.renew(vec![m1.own.clone()], NOW);
        assert!(m1.learn(&m2.own.0, of_m2.clone()).is_some());
        for _ in 0..100 {
            m1.renew(Vec::new(), NOW);
        }
        assert!(m1.holds(&of_m2.id, NOW));
        assert_eq!(m1.living(NOW).len(), GRANTS_PER_MASTER_MAX + 1);
        assert_eq!(m1.living(NOW)[0], m1.current());
        assert!(!m1.may_follow(NOW) && m1.may_follow(NOW + GRANT_PAUSE_S));
    }
}
