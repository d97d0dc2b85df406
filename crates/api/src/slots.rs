//! Places for long operations: commands, logins, connections.
//!
//! Invariant: the queue for a place is bounded, and neither callers without
//! credentials nor one user ever hold all of them.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use axum::http::StatusCode;
use halite_transport::fleet::Origin;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use crate::fault::Fault;
use crate::limits::{COMMANDS_PER_HOLDER_PART, WAITING_PER_PLACE};

/// Whose share a command counts towards.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    /// A user with a token.
    User(String),
    /// A password that nobody has checked, by where it comes from: its name may be
    /// anybody's.
    Login(Origin),
}

impl Holder {
    /// A user, by the way and the name of the login. Directories may take a name in
    /// capitals for the same.
    pub(crate) fn user(name: &str) -> Self {
        Self::User(name.to_lowercase())
    }
}

/// Slots for commands, of which one holder has only a part.
#[derive(Debug)]
pub(crate) struct Slots {
    /// Those that run or wait.
    taken: Shares<Holder>,
    running: Semaphore,
    /// What each holder may run, as long as it runs or waits for anything.
    running_of: Mutex<HashMap<Holder, Weak<Semaphore>>>,
    running_each_max: usize,
}

/// A place, until dropped.
#[derive(Debug)]
pub(crate) struct Slot<'a> {
    _running: SemaphorePermit<'a>,
    _own: OwnedSemaphorePermit,
    _taken: Share<Holder>,
}

impl Slots {
    /// So many places for what runs, and as many times [`WAITING_PER_PLACE`] for
    /// what waits.
    pub(crate) fn new(running_max: usize) -> Self {
        let running_max = running_max.max(1);
        let taken = |running: usize| running.saturating_mul(1 + WAITING_PER_PLACE);
        let running_each_max = running_max.div_ceil(COMMANDS_PER_HOLDER_PART);
        let taken_max = taken(running_max);
        // If there is only one place for what runs, others can still wait for it.
        let taken_each_max = taken(running_each_max).min(taken_max - 1);
        Self {
            taken: Shares::new(taken_each_max, taken_max),
            running: Semaphore::new(running_max),
            running_of: Mutex::default(),
            running_each_max,
        }
    }

    /// How many run or wait.
    pub(crate) fn taken(&self) -> usize {
        self.taken.taken()
    }

    /// Waits for a place, first for one of the holder's.
    ///
    /// # Errors
    /// With 503 when too many wait already.
    pub(crate) async fn take(&self, holder: &Holder) -> Result<Slot<'_>, Fault> {
        let full = || {
            let why = "Too many commands are under way already";
            Fault::new(StatusCode::SERVICE_UNAVAILABLE, why)
        };
        let taken = self.taken.take(holder.clone()).ok_or_else(full)?;
        // Neither semaphore is ever closed.
        let own = self.running_of(holder).acquire_owned().await;
        let own = own.map_err(|_| full())?;
        let running = self.running.acquire().await.map_err(|_| full())?;
        Ok(Slot {
            _running: running,
            _own: own,
            _taken: taken,
        })
    }

    /// The commands that a holder may run. There are no more holders than commands.
    fn running_of(&self, holder: &Holder) -> Arc<Semaphore> {
        let mut all = self
            .running_of
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = all.get(holder).and_then(Weak::upgrade) {
            return own;
        }
        all.retain(|_, own| own.strong_count() > 0);
        let own = Arc::new(Semaphore::new(self.running_each_max));
        all.insert(holder.clone(), Arc::downgrade(&own));
        own
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

    /// Takes one more place; `None` when none is free.
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

impl<H: Eq + Hash> Share<H> {
    /// Whether it is a place of this holder.
    pub(crate) fn is_of(&self, holder: &H) -> bool {
        self.holder == *holder
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

    fn user(name: &str) -> Holder {
        Holder::user(name)
    }

    #[tokio::test]
    async fn only_so_many_wait_for_a_place() {
        let places = Slots::new(2);
        let first = places.take(&user("ali")).await.unwrap();
        let _second = places.take(&user("bob")).await.unwrap();
        let waiting = ["ali", "ali", "bob", "bob"].map(user);
        let mut waiting: Vec<_> = waiting
            .iter()
            .map(|holder| Box::pin(places.take(holder)))
            .collect();
        for waiting in &mut waiting {
            assert!(waiting.now_or_never().is_none());
        }
        let refused = places.take(&user("eve")).await.unwrap_err();
        assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
        drop(first);
        assert!(waiting.remove(0).await.is_ok());
    }

    #[tokio::test]
    async fn one_user_leaves_places_for_others() {
        let places = Slots::new(4);
        let ali = user("file:ali");
        let running = [
            places.take(&ali).await.unwrap(),
            places.take(&ali).await.unwrap(),
        ];
        let mut waiting: Vec<_> = (0..2 * WAITING_PER_PLACE)
            .map(|_| Box::pin(places.take(&ali)))
            .collect();
        for waiting in &mut waiting {
            assert!(waiting.now_or_never().is_none());
        }
        // The same user with a name in capitals.
        let refused = places.take(&user("file:ALI")).await.unwrap_err();
        assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
        // Those that wait are in nobody's way.
        let bob = user("file:bob");
        let of_bob = places.take(&bob).now_or_never().unwrap().unwrap();
        drop(running);
        assert!(waiting.remove(0).await.is_ok());
        drop((waiting, of_bob));
        assert_eq!(places.taken(), 0);
        let _last = places.take(&bob).await.unwrap();
        assert_eq!(places.running_of.lock().unwrap().len(), 1);
    }

    #[tokio::test]
    async fn others_can_wait_for_the_only_place() {
        let places = Slots::new(1);
        let (ali, bob) = (user("ali"), user("bob"));
        let running = places.take(&ali).await.unwrap();
        let mut waiting = Box::pin(places.take(&ali));
        assert!((&mut waiting).now_or_never().is_none());
        assert!(places.take(&ali).await.is_err());
        let mut other = Box::pin(places.take(&bob));
        assert!((&mut other).now_or_never().is_none());
        drop((running, waiting));
        assert!(other.await.is_ok());
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
