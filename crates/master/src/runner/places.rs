//! The places of runners: how many run at once, and how a reaction waits for one.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::NotStarted;

/// So many places.
pub(super) struct Places {
    state: Mutex<State>,
    changed: Condvar,
    max: usize,
}

#[derive(Default)]
struct State {
    taken: usize,
    is_closed: bool,
}

/// A place that is taken until this is dropped.
pub(super) struct Place(Arc<Places>);

impl Places {
    /// None is taken.
    pub(super) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            max,
        })
    }

    /// Takes a place, if there is one.
    pub(super) fn take(self: &Arc<Self>) -> Result<Place, NotStarted> {
        let mut state = self.lock();
        if state.taken >= self.max {
            return Err(NotStarted::TooMany);
        }
        state.taken += 1;
        Ok(Place(Arc::clone(self)))
    }

    /// Takes a place as soon as fewer than `below` are taken. Blocks until then.
    ///
    /// # Errors
    /// When there is none until `deadline`, or the master stops.
    pub(super) fn wait_below(
        self: &Arc<Self>,
        below: usize,
        deadline: Instant,
    ) -> Result<Place, NotStarted> {
        let mut state = self.lock();
        while !state.is_closed && state.taken >= below.min(self.max) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(NotStarted::NoPlace);
            }
            state = self
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        if state.is_closed {
            return Err(NotStarted::Closed);
        }
        state.taken += 1;
        Ok(Place(Arc::clone(self)))
    }

    /// Whoever waits for a place waits no longer.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.lock().taken -= 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn who_waits_leaves_places_to_others() {
        let places = Places::new(3);
        let [one, two] = [places.take(), places.take()].map(Result::unwrap);
        let now = Instant::now();
        let refused = places.wait_below(2, now);
        assert!(matches!(refused, Err(NotStarted::NoPlace)));
        let third = places.take().unwrap();
        assert!(matches!(places.take(), Err(NotStarted::TooMany)));
        let waiting = {
            let places = Arc::clone(&places);
            thread::spawn(move || places.wait_below(2, Instant::now() + PATIENCE).map(drop))
        };
        drop((one, two));
        assert!(waiting.join().unwrap().is_ok());
        drop(third);
        assert_eq!(places.lock().taken, 0);
    }

    #[test]
    fn the_end_of_the_master_ends_waiting() {
        let places = Places::new(1);
        let _one = places.take().unwrap();
        let waiting = {
            let places = Arc::clone(&places);
            thread::spawn(move || places.wait_below(1, Instant::now() + PATIENCE).map(drop))
        };
        places.close();
        assert!(matches!(waiting.join().unwrap(), Err(NotStarted::Closed)));
    }
}
