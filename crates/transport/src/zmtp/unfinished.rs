//! What all connections together keep of messages that are not there yet, or
//! that the program has no room for.
//!
//! Invariant: the sum stays below its bound, but for what those that were told
//! to go have not given back yet. Who makes it too much is not refused: the
//! message that began first goes, for it is the slowest.

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

/// One connection's part of it.
#[derive(Debug)]
pub(crate) struct Share {
    account: Arc<Unfinished>,
    begun: Option<u64>,
    /// Told when the connection has to go.
    pub(crate) told_to_go: Arc<Notify>,
}

impl Share {
    /// Nothing yet.
    pub(crate) fn new(account: &Arc<Unfinished>) -> Self {
        Self {
            account: Arc::clone(account),
            begun: None,
            told_to_go: Arc::new(Notify::new()),
        }
    }

    /// Says how much the connection keeps now; 0 ends the message.
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
        let entry = (bytes, Arc::clone(&self.told_to_go));
        let before = state.begun.insert(number, entry);
        state.total = state.total + bytes - before.map_or(0, |(bytes, _)| bytes);
        // One that is larger than the bound on its own must pass some time.
        while state.total > self.account.max && state.begun.len() > 1 {
            let Some((_, (bytes, told_to_go))) = state.begun.pop_first() else {
                break;
            };
            state.total -= bytes;
            told_to_go.notify_one();
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
        slow.told_to_go.notified().await;
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
