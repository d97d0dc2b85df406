//! Places for long operations: commands, logins, connections.
//!
//! Invariant: the queue for a place is bounded, and callers without credentials
//! never hold all of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::StatusCode;
use halite_transport::fleet::Origin;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::fault::Fault;
use crate::limits::WAITING_PER_PLACE;

/// Slots for commands.
#[derive(Debug)]
pub(crate) struct Slots {
    /// Those that run or wait.
    taken: Semaphore,
    running: Semaphore,
    taken_max: usize,
}

/// A place, until dropped.
#[derive(Debug)]
pub(crate) struct Slot<'a> {
    _running: SemaphorePermit<'a>,
    _taken: SemaphorePermit<'a>,
}

impl Slots {
    /// So many places for what runs, and as many times [`WAITING_PER_PLACE`] for
    /// what waits.
    pub(crate) fn new(running_max: usize) -> Self {
        let running_max = running_max.max(1);
        let taken_max = running_max.saturating_mul(1 + WAITING_PER_PLACE);
        Self {
            taken: Semaphore::new(taken_max),
            running: Semaphore::new(running_max),
            taken_max,
        }
    }

    /// How many run or wait.
    pub(crate) fn taken(&self) -> usize {
        self.taken_max
            .saturating_sub(self.taken.available_permits())
    }

    /// Waits for a place.
    ///
    /// # Errors
    /// With 503 when too many wait already.
    pub(crate) async fn take(&self) -> Result<Slot<'_>, Fault> {
        let full = || {
            let why = "Too many commands are under way already";
            Fault::new(StatusCode::SERVICE_UNAVAILABLE, why)
        };
        let taken = self.taken.try_acquire().map_err(|_| full())?;
        // The semaphore is never closed.
        let running = self.running.acquire().await.map_err(|_| full())?;
        Ok(Slot {
            _running: running,
            _taken: taken,
        })
    }
}

/// Slots of which one origin has only a part.
#[derive(Clone, Debug)]
pub(crate) struct Shares {
    taken: Arc<Mutex<Taken>>,
    each_max: usize,
    all_max: usize,
}

#[derive(Debug, Default)]
struct Taken {
    by: HashMap<Origin, usize>,
    all: usize,
}

/// A place of an origin's, until dropped.
#[derive(Debug)]
pub(crate) struct Share {
    taken: Arc<Mutex<Taken>>,
    from: Origin,
}

impl Shares {
    /// So many for one origin and for all.
    pub(crate) fn new(each_max: usize, all_max: usize) -> Self {
        Self {
            taken: Arc::default(),
            each_max,
            all_max,
        }
    }

    /// One more place; nothing when there is none.
    pub(crate) fn take(&self, from: Origin) -> Option<Share> {
        let mut taken = lock(&self.taken);
        let own = taken.by.get(&from).copied().unwrap_or_default();
        if own >= self.each_max || taken.all >= self.all_max {
            return None;
        }
        taken.by.insert(from, own + 1);
        taken.all += 1;
        let taken = Arc::clone(&self.taken);
        Some(Share { taken, from })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = lock(&self.taken);
        taken.all = taken.all.saturating_sub(1);
        let left = taken.by.remove(&self.from).unwrap_or_default();
        if left > 1 {
            taken.by.insert(self.from, left - 1);
        }
    }
}

fn lock(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::net::IpAddr;

    #[tokio::test]
    async fn only_so_many_wait_for_a_place() {
        let places = Slots::new(2);
        let first = places.take().await.unwrap();
        let _second = places.take().await.unwrap();
        let mut waiting: Vec<_> = (0..2 * WAITING_PER_PLACE)
            .map(|_| Box::pin(places.take()))
            .collect();
        for waiting in &mut waiting {
            assert!(waiting.now_or_never().is_none());
        }
        let refused = places.take().await.unwrap_err();
        assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
        drop(first);
        assert!(waiting.remove(0).await.is_ok());
    }

    #[test]
    fn one_address_leaves_places_for_others() {
        let origin = |last: u8| Origin::of(Some(IpAddr::from([10, 0, 0, last])));
        let shares = Shares::new(2, 3);
        let mut held = vec![
            shares.take(origin(1)).unwrap(),
            shares.take(origin(1)).unwrap(),
        ];
        assert!(shares.take(origin(1)).is_none());
        held.push(shares.take(origin(2)).unwrap());
        assert!(shares.take(origin(3)).is_none());
        held.remove(0);
        held.push(shares.take(origin(1)).unwrap());
        held.clear();
        assert!(lock(&shares.taken).by.is_empty());
        assert_eq!(lock(&shares.taken).all, 0);
    }
}
