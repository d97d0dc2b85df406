//! Tokens that another master has just refused.
//!
//! Pure. A caller that repeats one costs the other master only one request.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::limits::{TOKENS_REFUSED_FOR, TOKENS_REFUSED_MAX};

/// They are remembered by a number that only this process can reckon.
#[derive(Debug, Default)]
pub(super) struct Refused {
    hasher: RandomState,
    all: Mutex<Tokens>,
}

#[derive(Debug, Default)]
struct Tokens {
    at: HashMap<u64, Instant>,
    order: VecDeque<(u64, Instant)>,
}

impl Refused {
    pub(super) fn has(&self, token: &str, now: Instant) -> bool {
        let key = self.hasher.hash_one(token);
        let all = self.lock();
        let at = all.at.get(&key);
        at.is_some_and(|at| now.saturating_duration_since(*at) < TOKENS_REFUSED_FOR)
    }

    pub(super) fn add(&self, token: &str, now: Instant) {
        let key = self.hasher.hash_one(token);
        let mut all = self.lock();
        while all.order.len() >= TOKENS_REFUSED_MAX {
            let Some((oldest, at)) = all.order.pop_front() else {
                break;
            };
            if all.at.get(&oldest) == Some(&at) {
                all.at.remove(&oldest);
            }
        }
        all.at.insert(key, now);
        all.order.push_back((key, now));
    }

    fn lock(&self) -> MutexGuard<'_, Tokens> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_token_is_remembered_for_a_while() {
        let refused = Refused::default();
        let now = Instant::now();
        assert!(!refused.has("aa", now));
        refused.add("aa", now);
        assert!(refused.has("aa", now) && !refused.has("bb", now));
        assert!(!refused.has("aa", now + TOKENS_REFUSED_FOR));
        for number in 0..2 * TOKENS_REFUSED_MAX {
            refused.add(&number.to_string(), now);
        }
        let all = refused.lock();
        assert!(all.at.len() <= TOKENS_REFUSED_MAX && all.order.len() <= TOKENS_REFUSED_MAX);
    }
}
