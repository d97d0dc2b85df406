//! How many connections there may be, in all and from one address.
//!
//! Invariant: strangers cannot take the last descriptors of the process, nor
//! can one address alone take all the connections there may be.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::sys::resource::{Resource, getrlimit};

use crate::contract::Origin;
use crate::limits::{CONNECTIONS_MAX, DESCRIPTORS_KEPT_MIN};

/// One address may have this part of the connections.
const PART_OF_AN_ADDRESS: usize = 2;

/// Descriptors of the process: this part is not for connections.
const PART_KEPT: usize = 8;

/// The connections that are open, and how many there may be.
#[derive(Debug)]
pub(crate) struct ConnectionLimit {
    max: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    all: usize,
    by_origin: HashMap<Origin, usize>,
}

/// The one limit of this process, whose ports share its descriptors.
static OF_PROCESS: Mutex<Option<Arc<ConnectionLimit>>> = Mutex::new(None);

impl ConnectionLimit {
    /// At most `max` connections.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max: max.max(1),
            state: Mutex::default(),
        }
    }

    /// The one of this process.
    pub(crate) fn of_process() -> Arc<Self> {
        let mut slot = OF_PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slot.get_or_insert_with(|| Arc::new(Self::new(room_for_connections()))))
    }

    /// Counts a connection in, if there is room; local programs have no address.
    pub(crate) fn admit(self: &Arc<Self>, address: Option<IpAddr>) -> Option<ConnectionPermit> {
        let mut state = self.lock();
        let share = (self.max / PART_OF_AN_ADDRESS).max(1);
        let origin = Origin::of(address);
        let of_origin = state.by_origin.get(&origin).copied().unwrap_or(0);
        if state.all >= self.max || (origin != Origin::Local && of_origin >= share) {
            return None;
        }
        state.all += 1;
        state.by_origin.insert(origin, of_origin + 1);
        Some(ConnectionPermit {
            limit: Arc::clone(self),
            origin,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many connections the descriptors of this process allow.
fn room_for_connections() -> usize {
    let Ok((soft, _)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return CONNECTIONS_MAX;
    };
    let soft = usize::try_from(soft).unwrap_or(usize::MAX);
    let kept = (soft / PART_KEPT).max(DESCRIPTORS_KEPT_MIN);
    soft.saturating_sub(kept).min(CONNECTIONS_MAX)
}

/// One connection that counts; dropping this counts it out.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    limit: Arc<ConnectionLimit>,
    origin: Origin,
}

impl ConnectionPermit {
    /// Where the connection comes from.
    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut state = self.limit.lock();
        state.all -= 1;
        if let Some(count) = state.by_origin.get_mut(&self.origin) {
            *count -= 1;
            if *count == 0 {
                state.by_origin.remove(&self.origin);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_does_not_take_all_places() {
        let limit = Arc::new(ConnectionLimit::new(4));
        let (bad, good) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let held: Vec<_> = (0..2).map(|_| limit.admit(Some(bad)).unwrap()).collect();
        assert!(limit.admit(Some(bad)).is_none());
        let other = limit.admit(Some(good)).unwrap();
        let local = limit.admit(None).unwrap();
        assert!(limit.admit(None).is_none());
        drop((held, other, local));
        assert_eq!(limit.lock().all, 0);
        assert!(limit.lock().by_origin.is_empty());
    }
}
