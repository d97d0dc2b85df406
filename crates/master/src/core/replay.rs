//! Remembers the nonces of a session's requests, so that a recorded request cannot
//! be replayed to the master.
//!
//! Invariant: a request is accepted at most once per session key. A nonce that the
//! bounded memory has dropped is refused by its age. A minion whose clock went
//! backwards gets a new session key, which also makes every old recording
//! worthless.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

/// Nonces remembered per session. At the limit the oldest is forgotten and
/// requests older than it are refused.
pub const NONCES_MAX: usize = 4096;

/// How much older than the newest request of a session one may be, by the minion's
/// clock. No request is on its way for longer, so an idle minion, which asks a few
/// times a minute for a whole day, has few nonces here.
pub const NONCE_AGE_MAX_S: i64 = 600;

/// For how many nonces a memory keeps its room when all are forgotten.
const NONCES_ROOM_KEPT: usize = 64;

/// The key of the nonces' hashes: one for all sessions, since each remembers its own
/// nonces and nobody outside learns a hash.
fn hasher() -> &'static RandomState {
    static HASHER: OnceLock<RandomState> = OnceLock::new();
    HASHER.get_or_init(RandomState::new)
}

/// The result of checking a request's nonce and time.
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
    /// Hashes and times, in the order of arrival.
    seen: VecDeque<(u64, i64)>,
    newest: i64,
    floor: i64,
}

impl Default for NonceMemory {
    /// The memory of a session that begins.
    fn default() -> Self {
        Self {
            seen: VecDeque::new(),
            newest: i64::MIN,
            floor: i64::MIN,
        }
    }
}

impl NonceMemory {
    /// Judges a request and remembers it if it is fresh.
    pub fn admit(&mut self, nonce: &[u8], ts: i64) -> Freshness {
        // 64 bits of a keyed hash: a chance meeting costs the minion one more
        // sign-in, and nobody can aim for one. To look at all of them costs less
        // than to open the request.
        let hash = hasher().hash_one(nonce);
        if self.seen.iter().any(|(seen, _)| *seen == hash) {
            return Freshness::Replayed;
        }
        if ts < self.floor {
            return Freshness::TooOld;
        }
        if self.seen.len() >= NONCES_MAX {
            self.forget_oldest();
        }
        self.newest = self.newest.max(ts);
        let floor = self.newest.saturating_sub(NONCE_AGE_MAX_S);
        self.floor = self.floor.max(floor);
        while self.seen.front().is_some_and(|(_, ts)| *ts < floor) {
            self.forget_oldest();
        }
        if self.seen.capacity() > NONCES_ROOM_KEPT && self.seen.len() < self.seen.capacity() / 4 {
            self.seen
                .shrink_to(NONCES_ROOM_KEPT.max(self.seen.len() * 2));
        }
        self.seen.push_back((hash, ts));
        Freshness::Fresh
    }

    fn forget_oldest(&mut self) {
        if let Some((_, ts)) = self.seen.pop_front() {
            self.floor = self.floor.max(ts);
        }
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
            let ts = 100 + i64::try_from(n).unwrap() / 10;
            assert_eq!(memory.admit(&n.to_be_bytes(), ts), Freshness::Fresh);
        }
        assert_eq!(memory.seen.len(), NONCES_MAX);
        assert_eq!(memory.admit(b"older", 99), Freshness::TooOld);
        assert_eq!(
            memory.admit(b"late but young enough", 100),
            Freshness::Fresh
        );
    }

    #[test]
    fn a_minion_that_asks_now_and_then_has_few_nonces() {
        const EVERY_S: usize = 20;
        let mut memory = NonceMemory::default();
        for n in 0..86_400 / EVERY_S {
            let ts = i64::try_from(n * EVERY_S).unwrap();
            assert_eq!(memory.admit(&n.to_be_bytes(), ts), Freshness::Fresh);
            // The one before it is a recording as long as it is not too old.
            assert_eq!(memory.admit(&n.to_be_bytes(), ts), Freshness::Replayed);
        }
        let bytes = memory.seen.capacity() * size_of::<(u64, i64)>();
        assert!(bytes <= 1024, "{bytes}");
        assert_eq!(memory.admit(&0_usize.to_be_bytes(), 0), Freshness::TooOld);
    }

    #[test]
    fn after_a_burst_the_memory_is_small_again() {
        let mut memory = NonceMemory::default();
        for n in 0..NONCES_MAX {
            assert_eq!(memory.admit(&n.to_be_bytes(), 0), Freshness::Fresh);
        }
        let later = NONCE_AGE_MAX_S + 1;
        assert_eq!(memory.admit(b"later", later), Freshness::Fresh);
        assert_eq!(memory.seen.len(), 1);
        assert!(memory.seen.capacity() <= 2 * NONCES_ROOM_KEPT);
        assert_eq!(memory.admit(&7_usize.to_be_bytes(), 0), Freshness::TooOld);
    }

    #[test]
    fn a_flood_within_one_second_is_served() {
        let mut memory = NonceMemory::default();
        for n in 0..3 * NONCES_MAX {
            assert_eq!(memory.admit(&n.to_be_bytes(), 7), Freshness::Fresh);
        }
    }
}
