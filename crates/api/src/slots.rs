//! Places for long operations: commands, logins, connections.
//!
//! Invariant: the queue for a place is bounded, and callers without credentials
//! never hold all of them.

use std::collections::HashMap;
use std::hash::Hash;
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

/// Slots of which one holder, an address or a user, has only a part.
#[derive(Clone, Debug)]
pub(crate) struct Shares<H: Eq + Hash = Origin> {
    taken: Arc<Mutex<Taken<H>>>,
    each_max: usize,
    all_max: usize,
}

#[derive(Debug)]
struct Taken<H> {
    by: HashMap<H, usize>,
    all: usize,
}

/// A place of a holder's, until dropped.
#[derive(Debug)]
pub(crate) struct Share<H: Eq + Hash = Origin> {
    taken: Arc<Mutex<Taken<H>>>,
    holder: H,
}

impl<H: Eq + Hash + Clone> Shares<H> {
    /// So many for one holder and for all.
    pub(crate) fn new(each_max: usize, all_max: usize) -> Self {
        Self {
            taken: Arc::new(Mutex::new(Taken {
                by: HashMap::new(),
                all: 0,
            })),
            each_max,
            all_max,
        }
    }

    /// One more place; nothing when there is none.
    pub(crate) fn take(&self, holder: H) -> Option<Share<H>> {
        let mut taken = lock(&self.taken);
        let own = taken.by.get(&holder).copied().unwrap_or_default();
        if own >= self.each_max || taken.all >= self.all_max {
            return None;
        }
        taken.by.insert(holder.clone(), own + 1);
        taken.all += 1;
        let taken = Arc::clone(&self.taken);
        Some(Share { taken, holder })
    }

    /// How many are taken.
    pub(crate) fn taken(&self) -> usize {
        lock(&self.taken).all
    }
}

impl<H: Eq + Hash> Drop for Share<H> {
    fn drop(&mut self) {
        let mut taken = lock(&self.taken);
        taken.all = taken.all.saturating_sub(1);
        let Some(own) = taken.by.get_mut(&self.holder) else {
            return;
        };
        *own = own.saturating_sub(1);
        if *own == 0 {
            taken.by.remove(&self.holder);
        }
    }
}

fn lock<H>(taken: &Mutex<Taken<H>>) -> MutexGuard<'_, Taken<H>> {
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
