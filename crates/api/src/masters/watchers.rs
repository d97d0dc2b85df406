//! Who hears the events of all masters, and with which tokens they may.
//!
//! Other APIs are asked for events only while somebody here listens, and with the
//! token of somebody who does.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halite_crypto::Secret;
use tokio::sync::watch;

/// The streams of all callers.
#[derive(Default)]
pub(super) struct Watchers {
    tokens: Mutex<Tokens>,
    count: watch::Sender<usize>,
}

#[derive(Default)]
struct Tokens {
    by: BTreeMap<u64, Secret<String>>,
    next: u64,
}

/// One stream of a caller's, until dropped.
pub(crate) struct Watching {
    watchers: Arc<Watchers>,
    id: u64,
}

impl Watchers {
    /// A caller with a token begins to listen.
    pub(super) fn begin(self: &Arc<Self>, token: String) -> Watching {
        let mut tokens = self.lock();
        let id = tokens.next;
        tokens.next += 1;
        tokens.by.insert(id, Secret::new(token));
        self.count.send_replace(tokens.by.len());
        drop(tokens);
        let watchers = Arc::clone(self);
        Watching { watchers, id }
    }

    /// So many different tokens, those first whose owners came last.
    pub(super) fn tokens(&self, number_max: usize) -> Vec<String> {
        let mut last = Vec::new();
        for token in self.lock().by.values().rev() {
            if last.len() >= number_max {
                break;
            }
            if !last.contains(token.expose()) {
                last.push(token.expose().clone());
            }
        }
        last
    }

    /// How many there are, now and later.
    pub(super) fn count(&self) -> watch::Receiver<usize> {
        self.count.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Tokens> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut tokens = self.watchers.lock();
        tokens.by.remove(&self.id);
        self.watchers.count.send_replace(tokens.by.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_there_while_their_owners_listen() {
        let watchers = Arc::new(Watchers::default());
        let count = watchers.count();
        let first = watchers.begin("t1".to_owned());
        let second = watchers.begin("t2".to_owned());
        let third = watchers.begin("t2".to_owned());
        assert_eq!(*count.borrow(), 3);
        assert_eq!(watchers.tokens(9), ["t2", "t1"]);
        assert_eq!(watchers.tokens(1), ["t2"]);
        drop((second, third));
        assert_eq!(watchers.tokens(9), ["t1"]);
        drop(first);
        assert_eq!(*count.borrow(), 0);
        assert!(watchers.tokens(9).is_empty());
    }
}
