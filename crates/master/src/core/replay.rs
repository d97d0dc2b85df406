//! Remembers the nonces of a session's requests, so that a recorded request cannot
//! be replayed to the master.
//!
//! Invariant: a request is accepted at most once per session key. A nonce that the
//! bounded memory has dropped is refused by its age. A minion whose clock went
//! backwards gets a new session key, which also makes every old recording
//! worthless.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};

/// Nonces remembered per session. At the limit the oldest is forgotten and
/// requests older than it are refused.
pub const NONCES_MAX: usize = 4096;

/// What is thought of a request's nonce and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Not seen before.
    Fresh,
    /// Seen before.
    Replayed,
    /// Older than what the memory still covers.
    TooOld,
}

/// The nonces of one session.
#[derive(Debug)]
pub struct NonceMemory {
    seen: HashSet<u64>,
    order: VecDeque<(u64, i64)>,
    hasher: RandomState,
    floor: i64,
}

impl Default for NonceMemory {
    /// The memory of a session that begins.
    fn default() -> Self {
        Self {
            seen: HashSet::new(),
            order: VecDeque::new(),
            hasher: RandomState::new(),
            floor: i64::MIN,
        }
    }
}

impl NonceMemory {
    /// Judges a request and remembers it if it is fresh.
    pub fn admit(&mut self, nonce: &[u8], ts: i64) -> Freshness {
        // 64 bits of a keyed hash: a chance meeting costs the minion one more
        // sign-in, and nobody can aim for one.
        let hash = self.hasher.hash_one(nonce);
        if self.seen.contains(&hash) {
            return Freshness::Replayed;
        }
        if ts < self.floor {
            return Freshness::TooOld;
        }
        if self.order.len() >= NONCES_MAX
            && let Some((oldest, its_ts)) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
            self.floor = self.floor.max(its_ts);
        }
        self.seen.insert(hash);
        self.order.push_back((hash, ts));
        Freshness::Fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_nonce_is_let_through_once() {
        let mut memory = NonceMemory::default();
        assert_eq!(memory.admit(b"a", 10), Freshness::Fresh);
        assert_eq!(memory.admit(b"b", 10), Freshness::Fresh);
        assert_eq!(memory.admit(b"a", 10), Freshness::Replayed);
        assert_eq!(memory.admit(b"a", 99), Freshness::Replayed);
    }

    #[test]
    fn what_was_forgotten_is_refused_by_its_age() {
        let mut memory = NonceMemory::default();
        for n in 0..=NONCES_MAX {
            let ts = 100 + i64::try_from(n).unwrap();
            assert_eq!(memory.admit(&n.to_be_bytes(), ts), Freshness::Fresh);
        }
        assert_eq!(memory.order.len(), NONCES_MAX);
        assert_eq!(memory.seen.len(), NONCES_MAX);
        assert_eq!(memory.admit(b"older", 99), Freshness::TooOld);
        assert_eq!(
            memory.admit(b"late but young enough", 101),
            Freshness::Fresh
        );
    }

    #[test]
    fn a_flood_within_one_second_is_served() {
        let mut memory = NonceMemory::default();
        for n in 0..3 * NONCES_MAX {
            assert_eq!(memory.admit(&n.to_be_bytes(), 7), Freshness::Fresh);
        }
    }
}
