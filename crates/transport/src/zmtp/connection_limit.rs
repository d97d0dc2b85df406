//! How many connections there may be, in all and from one address.
//!
//! Invariant: strangers cannot take the last descriptors of the process, nor
//! can a few addresses take all the connections there may be from the others.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::sys::resource::{Resource, getrlimit};
use tokio::sync::Notify;

use crate::contract::Origin;
use crate::limits::{CONNECTIONS_KEPT_PER_ORIGIN, CONNECTIONS_MAX, DESCRIPTORS_KEPT_MIN};

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
    next: u64,
    all: usize,
    /// The connections of each sender, the newest last.
    by_origin: HashMap<Origin, BTreeMap<u64, Arc<Notify>>>,
}

impl State {
    fn count_of(&self, origin: Origin) -> usize {
        self.by_origin.get(&origin).map_or(0, BTreeMap::len)
    }

    fn remove(&mut self, origin: Origin, number: u64) -> Option<Arc<Notify>> {
        let held = self.by_origin.get_mut(&origin)?;
        let given_up = held.remove(&number)?;
        if held.is_empty() {
            self.by_origin.remove(&origin);
        }
        self.all -= 1;
        Some(given_up)
    }

    /// Ends the newest connection of the sender that has most, if that is far
    /// more than one who wants another has. Whether it did.
    fn make_room_for(&mut self, origin: Origin) -> bool {
        let own = self.count_of(origin);
        let most = self.by_origin.iter().max_by_key(|(_, held)| held.len());
        let Some((&whose, held)) = most else {
            return false;
        };
        if held.len() <= CONNECTIONS_KEPT_PER_ORIGIN || held.len() / 2 <= own {
            return false;
        }
        let newest = held.keys().next_back().copied();
        let given_up = newest.and_then(|number| self.remove(whose, number));
        given_up.is_some_and(|given_up| {
            given_up.notify_one();
            true
        })
    }
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
    /// Where all places are taken, who has most of them gives one up for who has
    /// far fewer.
    pub(crate) fn admit(self: &Arc<Self>, address: Option<IpAddr>) -> Option<ConnectionPermit> {
        let origin = Origin::of(address);
        let mut state = self.lock();
        let share = (self.max / PART_OF_AN_ADDRESS).max(1);
        if origin != Origin::Local && state.count_of(origin) >= share {
            return None;
        }
        if state.all >= self.max && !state.make_room_for(origin) {
            return None;
        }
        state.all += 1;
        state.next += 1;
        let (number, given_up) = (state.next, Arc::<Notify>::default());
        let held = state.by_origin.entry(origin).or_default();
        held.insert(number, Arc::clone(&given_up));
        Some(ConnectionPermit {
            limit: Arc::clone(self),
            origin,
            number,
            given_up,
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
    number: u64,
    /// Notified when the connection has to end for another. It does not count
    /// any more then.
    pub(crate) given_up: Arc<Notify>,
}

impl ConnectionPermit {
    /// Where the connection comes from.
    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.limit.lock().remove(self.origin, self.number);
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

    #[test]
    fn a_few_addresses_leave_a_place_to_everybody_else() {
        const MAX: usize = 100;
        let limit = Arc::new(ConnectionLimit::new(MAX));
        let from = |last| Some(IpAddr::from([10, 0, 0, last]));
        let mut held: Vec<_> = (0..MAX)
            .map(|n| limit.admit(from(if n < MAX / 2 { 1 } else { 2 })).unwrap())
            .collect();
        // Both have all of them; whoever comes gets a few.
        for minion in 3..=6 {
            let permits = (0..4).map(|_| limit.admit(from(minion)).unwrap());
            held.extend(permits.collect::<Vec<_>>());
        }
        assert_eq!(limit.lock().all, MAX);
        let given_up = |permit: &ConnectionPermit| {
            let counted = limit.lock();
            let held = counted.by_origin.get(&permit.origin);
            !held.is_some_and(|held| held.contains_key(&permit.number))
        };
        let ended: Vec<usize> = (0..held.len()).filter(|n| given_up(&held[*n])).collect();
        assert_eq!(ended.len(), 16);
        // The newest of the two that had most, and nobody else's.
        assert!(
            ended
                .iter()
                .all(|n| (42..50).contains(n) || (92..100).contains(n)),
            "{ended:?}"
        );
        held.clear();
        assert_eq!(limit.lock().all, 0);
    }

    #[test]
    fn nobody_who_has_few_gives_one_up() {
        let limit = Arc::new(ConnectionLimit::new(2 * CONNECTIONS_KEPT_PER_ORIGIN));
        let from = |last| Some(IpAddr::from([10, 0, 0, last]));
        let of = |last| (0..CONNECTIONS_KEPT_PER_ORIGIN).map(move |_| from(last));
        let held: Vec<_> = of(1)
            .chain(of(2))
            .map(|at| limit.admit(at).unwrap())
            .collect();
        assert!(limit.admit(from(3)).is_none());
        drop(held);
        assert!(limit.admit(from(3)).is_some());
    }
}
