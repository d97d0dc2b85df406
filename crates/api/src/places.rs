//! Places for what takes long: commands, and logins under way.
//!
//! Invariant: what waits for a place is bounded, and those who have proven nothing
//! yet never hold all of them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::StatusCode;
use halite_transport::fleet::Origin;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::fault::Fault;
use crate::limits::{LOGINS_MAX, LOGINS_PER_ORIGIN_MAX, WAITING_PER_PLACE};

/// Places for commands.
#[derive(Debug)]
pub(crate) struct Places {
    /// Those that run or wait.
    taken: Semaphore,
    running: Semaphore,
}

/// A place, until dropped.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    _running: SemaphorePermit<'a>,
    _taken: SemaphorePermit<'a>,
}

impl Places {
    /// So many places for what runs, and as many times [`WAITING_PER_PLACE`] for
    /// what waits.
    pub(crate) fn new(running_max: usize) -> Self {
        let running_max = running_max.max(1);
        Self {
            taken: Semaphore::new(running_max.saturating_mul(1 + WAITING_PER_PLACE)),
            running: Semaphore::new(running_max),
        }
    }

    /// Waits for a place.
    ///
    /// # Errors
    /// With 503 when too many wait already.
    pub(crate) async fn take(&self) -> Result<Place<'_>, Fault> {
        let full = || {
            let why = "Too many commands are under way already";
            Fault::new(StatusCode::SERVICE_UNAVAILABLE, why)
        };
        let taken = self.taken.try_acquire().map_err(|_| full())?;
        // The semaphore is never closed.
        let running = self.running.acquire().await.map_err(|_| full())?;
        Ok(Place {
            _running: running,
            _taken: taken,
        })
    }
}

/// Logins that the master is asked about.
#[derive(Debug, Default)]
pub(crate) struct Logins(Mutex<HashMap<Origin, usize>>);

/// A login under way, until dropped.
#[derive(Debug)]
pub(crate) struct Login<'a> {
    logins: &'a Logins,
    from: Origin,
}

impl Logins {
    /// A place for one more login; nothing when there is none.
    pub(crate) fn begin(&self, from: Origin) -> Option<Login<'_>> {
        let mut under_way = self.lock();
        let own = under_way.get(&from).copied().unwrap_or_default();
        if own >= LOGINS_PER_ORIGIN_MAX || under_way.values().sum::<usize>() >= LOGINS_MAX {
            return None;
        }
        under_way.insert(from, own + 1);
        Some(Login { logins: self, from })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Origin, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Login<'_> {
    fn drop(&mut self) {
        let mut under_way = self.logins.lock();
        let left = under_way.remove(&self.from).unwrap_or_default();
        if left > 1 {
            under_way.insert(self.from, left - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::net::IpAddr;

    #[tokio::test]
    async fn only_so_many_wait_for_a_place() {
        let places = Places::new(2);
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
    fn one_address_leaves_places_for_logins_of_others() {
        let origin = |last: u8| Origin::of(Some(IpAddr::from([10, 0, 0, last])));
        let logins = Logins::default();
        let mut held = Vec::new();
        for _ in 0..LOGINS_PER_ORIGIN_MAX {
            held.push(logins.begin(origin(1)).unwrap());
        }
        assert!(logins.begin(origin(1)).is_none());
        for last in 2.. {
            match logins.begin(origin(last)) {
                Some(login) => held.push(login),
                None => break,
            }
        }
        assert_eq!(held.len(), LOGINS_MAX);
        held.clear();
        assert!(logins.begin(origin(1)).is_some());
        assert!(logins.lock().is_empty());
    }
}
