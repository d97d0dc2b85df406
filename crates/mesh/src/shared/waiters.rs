//! Who waits until a peer has handled a message of this master.
//!
//! An acknowledgement wakes those alone that wait for a message up to its number: with
//! many that wait, to wake all each time would cost more than the messages.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// All that wait.
#[derive(Default)]
pub(crate) struct Waiters(Mutex<State>);

#[derive(Default)]
struct State {
    next: u64,
    /// By the number of the message, then by who came first.
    by_number: BTreeMap<(u64, u64), oneshot::Sender<()>>,
}

/// A place among those that wait, until it is dropped.
pub(crate) struct Waiting<'a> {
    waiters: &'a Waiters,
    key: (u64, u64),
    woken: oneshot::Receiver<()>,
}

impl Waiters {
    /// Begins to wait for the message of this number.
    pub(crate) fn begin(&self, number: u64) -> Waiting<'_> {
        let (wake, woken) = oneshot::channel();
        let mut state = self.state();
        let key = (number, state.next);
        state.next += 1;
        state.by_number.insert(key, wake);
        Waiting {
            waiters: self,
            key,
            woken,
        }
    }

    /// A peer has handled all messages up to this number.
    pub(super) fn wake_up_to(&self, number: u64) {
        let mut state = self.state();
        let later = match number.checked_add(1) {
            Some(next) => state.by_number.split_off(&(next, 0)),
            None => BTreeMap::new(),
        };
        let due = std::mem::replace(&mut state.by_number, later);
        drop(state);
        for wake in due.into_values() {
            // Whoever waits no longer does not mind.
            let _ = wake.send(());
        }
    }

    /// Something else has changed that they may wait for.
    pub(super) fn wake_all(&self) {
        self.wake_up_to(u64::MAX);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting<'_> {
    /// Waits until it is woken, once.
    pub(crate) async fn woken(&mut self) {
        // It fails only if it was woken before.
        let _ = (&mut self.woken).await;
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.waiters.state().by_number.remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_woken(waiting: &mut Waiting<'_>) -> bool {
        waiting.woken.try_recv().is_ok()
    }

    #[test]
    fn an_acknowledgement_wakes_who_waits_for_it_or_less() {
        let waiters = Waiters::default();
        let mut waiting = [3, 5, 5, 6].map(|number| waiters.begin(number));
        waiters.wake_up_to(2);
        assert_eq!(waiting.each_mut().map(is_woken), [false; 4]);
        waiters.wake_up_to(5);
        assert_eq!(waiting.each_mut().map(is_woken), [true, true, true, false]);
        waiters.wake_all();
        assert!(is_woken(&mut waiting[3]));
    }

    #[test]
    fn who_waits_no_longer_is_forgotten() {
        let waiters = Waiters::default();
        let first = waiters.begin(1);
        drop(waiters.begin(1));
        assert_eq!(waiters.state().by_number.len(), 1);
        drop(first);
        assert!(waiters.state().by_number.is_empty());
    }
}
