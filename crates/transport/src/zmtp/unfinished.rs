//! The bytes of messages, over all connections, that are incomplete, or that the
//! program has no room for.
//!
//! Invariant: the sum stays below its limit, except for what evicted connections
//! have not freed yet. Above the limit the connection whose message began first is
//! evicted: it is the slowest.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The account of all connections.
#[derive(Debug)]
pub(crate) struct Unfinished {
    max: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    total: usize,
    begun: BTreeMap<u64, (usize, Arc<Notify>)>,
}

impl Unfinished {
    /// An account with a bound.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max,
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection's part of the account.
#[derive(Debug)]
pub(crate) struct Share {
    account: Arc<Unfinished>,
    begun: Option<u64>,
    /// Notified when the connection has to end.
    pub(crate) evicted: Arc<Notify>,
}

impl Share {
    /// Nothing yet.
    pub(crate) fn new(account: &Arc<Unfinished>) -> Self {
        Self {
            account: Arc::clone(account),
            begun: None,
            evicted: Arc::new(Notify::new()),
        }
    }

    /// Records how much the connection keeps now; 0 ends the message.
    pub(crate) fn set(&mut self, bytes: usize) {
        if bytes == 0 && self.begun.is_none() {
            return;
        }
        let mut state = self.account.lock();
        let state = &mut *state;
        if bytes == 0 {
            state.remove(self.begun.take());
            return;
        }
        let number = *self.begun.get_or_insert_with(|| {
            state.next += 1;
            state.next
        });
        let entry = (bytes, Arc::clone(&self.evicted));
        let before = state.begun.insert(number, entry);
        state.total = state.total + bytes - before.map_or(0, |(bytes, _)| bytes);
        // A message larger than the bound may pass while it is the only one.
        while state.total > self.account.max && state.begun.len() > 1 {
            let Some((_, (bytes, evicted))) = state.begun.pop_first() else {
                break;
            };
            state.total -= bytes;
            evicted.notify_one();
        }
    }
}

impl State {
    fn remove(&mut self, number: Option<u64>) {
        if let Some((bytes, _)) = number.and_then(|number| self.begun.remove(&number)) {
            self.total -= bytes;
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.account.lock().remove(self.begun.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_slowest_goes_when_it_is_too_much() {
        let account = Arc::new(Unfinished::new(100));
        let (mut slow, mut quick) = (Share::new(&account), Share::new(&account));
        slow.set(10);
        slow.set(60);
        quick.set(40);
        assert_eq!(account.lock().total, 100);
        quick.set(41);
        slow.evicted.notified().await;
        assert_eq!(account.lock().total, 41);
        // It has nothing to give back any more.
        drop(slow);
        assert_eq!(account.lock().total, 41);
        // Alone it may be as large as a message may be.
        quick.set(1000);
        quick.set(0);
        assert_eq!(account.lock().total, 0);
        assert!(account.lock().begun.is_empty());
    }
}
