//! How many connections there may be, in all and from one address.
//!
//! Invariant: strangers cannot take the last descriptors of the process, nor
//! can a few addresses take all the connections there may be from the others.
//!
//! Each minion holds a subscription and a connection for its requests. Where all
//! places are taken, requesters that have nothing to ask give theirs up: they
//! connect again with their next request, so a limit of open files bounds the
//! subscriptions and not both.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::sys::resource::{Resource, getrlimit};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::contract::Origin;
use crate::limits::{
    CONNECTIONS_KEPT_PER_ORIGIN, CONNECTIONS_MAX, DESCRIPTORS_KEPT_MIN, SPARE_CONNECTIONS_ENDED,
    SPARE_LOOK_PAUSE, SPARE_OF_ORIGIN_LOOKED_AT,
};

/// One address may have this part of the connections.
const PART_OF_AN_ADDRESS: usize = 2;

/// Descriptors of the process: this part is not for connections.
const PART_KEPT: usize = 8;

/// The connections that are open, and how many there may be.
#[derive(Debug)]
pub(crate) struct ConnectionLimit {
    max: usize,
    began: Instant,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    all: usize,
    /// Those that have to end, and are not counted in `all` any more.
    closing: usize,
    /// The connections of each sender, the newest last.
    by_origin: HashMap<Origin, BTreeMap<u64, Arc<Held>>>,
    /// How many each sender has, who has most last.
    by_count: BTreeSet<(usize, Origin)>,
    /// Before this, in milliseconds since the limit began, no spare connection is
    /// looked for: there was none just now.
    no_spare_until_ms: u64,
}

/// What is known of an open connection.
#[derive(Debug)]
struct Held {
    given_up: Notify,
    ends_at_once: AtomicBool,
    /// From when on nothing is lost if it ends, in milliseconds since the limit
    /// began.
    spare_from_ms: AtomicU64,
}

/// Connections that are told to end and have not, beside `max`: this part of it.
/// They hold their descriptors until their tasks have had a turn.
const PART_CLOSING: usize = 16;

/// How a connection ends for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaceEnd {
    /// Whatever is under way: its address has far more than others.
    AtOnce,
    /// It was spare, but a request may have come in the same moment.
    Answered,
}

#[expect(clippy::cast_possible_truncation, reason = "a tenth of a second")]
const SPARE_LOOK_PAUSE_MS: u64 = SPARE_LOOK_PAUSE.as_millis() as u64;

/// A connection that is never spare.
const NEVER_SPARE: u64 = u64::MAX;

impl State {
    fn count_of(&self, origin: Origin) -> usize {
        self.by_origin.get(&origin).map_or(0, BTreeMap::len)
    }

    fn add(&mut self, origin: Origin, held: &Arc<Held>) -> u64 {
        self.all += 1;
        self.next += 1;
        let of_origin = self.by_origin.entry(origin).or_default();
        self.by_count.remove(&(of_origin.len(), origin));
        of_origin.insert(self.next, Arc::clone(held));
        self.by_count.insert((of_origin.len(), origin));
        self.next
    }

    fn remove(&mut self, origin: Origin, number: u64) -> Option<Arc<Held>> {
        let of_origin = self.by_origin.get_mut(&origin)?;
        let held = of_origin.remove(&number)?;
        self.by_count.remove(&(of_origin.len() + 1, origin));
        if of_origin.is_empty() {
            self.by_origin.remove(&origin);
        } else {
            self.by_count.insert((of_origin.len(), origin));
        }
        self.all -= 1;
        Some(held)
    }

    /// Ends the connections that have been spare for longest, many at once since
    /// they are found by looking at all. Whether there were any.
    fn end_spare(&mut self, now_ms: u64) -> bool {
        if now_ms < self.no_spare_until_ms {
            return false;
        }
        let mut spare = Vec::new();
        for (origin, held) in &self.by_origin {
            for (number, held) in held {
                let from = held.spare_from_ms.load(Ordering::Relaxed);
                if from <= now_ms {
                    spare.push((from, *origin, *number));
                }
            }
        }
        if spare.len() > SPARE_CONNECTIONS_ENDED {
            spare.select_nth_unstable(SPARE_CONNECTIONS_ENDED);
            spare.truncate(SPARE_CONNECTIONS_ENDED);
        }
        for (_, origin, number) in &spare {
            self.end(*origin, *number, PlaceEnd::Answered);
        }
        if spare.is_empty() {
            self.no_spare_until_ms = now_ms.saturating_add(SPARE_LOOK_PAUSE_MS);
        }
        !spare.is_empty()
    }

    /// Tells a connection to end; whether it was there.
    fn end(&mut self, origin: Origin, number: u64, how: PlaceEnd) -> bool {
        self.remove(origin, number).is_some_and(|held| {
            self.closing += 1;
            held.ends_at_once
                .store(how == PlaceEnd::AtOnce, Ordering::Relaxed);
            held.given_up.notify_one();
            true
        })
    }

    /// Ends a connection of the sender that has most, if that is far more than one
    /// who wants another has: of its oldest the one that is spare for longest, or
    /// else its newest. Whether it did.
    fn make_room_for(&mut self, origin: Origin, now_ms: u64) -> bool {
        let own = self.count_of(origin);
        let Some((count, whose)) = self.by_count.last().copied() else {
            return false;
        };
        if count <= CONNECTIONS_KEPT_PER_ORIGIN || count / 2 <= own {
            return false;
        }
        let Some(held) = self.by_origin.get(&whose) else {
            return false;
        };
        let spare = |held: &Held| held.spare_from_ms.load(Ordering::Relaxed);
        let oldest = held.iter().take(SPARE_OF_ORIGIN_LOOKED_AT);
        let longest = oldest.min_by_key(|(_, held)| spare(held));
        let longest = longest.filter(|(_, held)| spare(held) <= now_ms);
        let newest = || held.iter().next_back();
        let number = longest.or_else(newest).map(|(number, _)| *number);
        number.is_some_and(|number| self.end(whose, number, PlaceEnd::AtOnce))
    }
}

/// The one limit of this process, whose ports share its descriptors.
static OF_PROCESS: Mutex<Option<Arc<ConnectionLimit>>> = Mutex::new(None);

impl ConnectionLimit {
    /// At most `max` connections.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max: max.max(1),
            began: Instant::now(),
            state: Mutex::default(),
        }
    }

    /// The one of this process.
    pub(crate) fn of_process() -> Arc<Self> {
        let mut slot = OF_PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slot.get_or_insert_with(|| Arc::new(Self::new(room_for_connections()))))
    }

    /// Counts a connection in, if there is room; local programs have no address.
    /// Where all places are taken, who has most gives one up for who has far fewer;
    /// where nobody has that many, spare connections end.
    pub(crate) fn admit(self: &Arc<Self>, address: Option<IpAddr>) -> Option<ConnectionPermit> {
        let origin = Origin::of(address);
        let mut state = self.lock();
        let share = (self.max / PART_OF_AN_ADDRESS).max(1);
        if origin != Origin::Local && state.count_of(origin) >= share {
            return None;
        }
        if state.closing > self.max / PART_CLOSING {
            return None;
        }
        let is_full = state.all >= self.max;
        let now_ms = self.ms(Instant::now());
        if is_full && !state.make_room_for(origin, now_ms) && !state.end_spare(now_ms) {
            return None;
        }
        let held = Arc::new(Held {
            given_up: Notify::new(),
            ends_at_once: AtomicBool::new(false),
            spare_from_ms: AtomicU64::new(NEVER_SPARE),
        });
        let number = state.add(origin, &held);
        Some(ConnectionPermit {
            limit: Arc::clone(self),
            origin,
            number,
            held,
        })
    }

    fn ms(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.began).as_millis();
        u64::try_from(since).unwrap_or(NEVER_SPARE - 1)
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
    held: Arc<Held>,
}

impl ConnectionPermit {
    /// Where the connection comes from.
    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }

    /// Says that nothing is lost if this connection ends at `from` or later, as
    /// long as nobody says another time. One of which nothing is said is not spare.
    pub(crate) fn spare_from(&self, from: Instant) {
        let from = self.limit.ms(from);
        self.held.spare_from_ms.store(from, Ordering::Relaxed);
    }

    /// Returns, once, when the connection has to end for another: at once, or when
    /// what has come over it meanwhile is answered.
    pub(crate) async fn given_up(&self) -> PlaceEnd {
        self.held.given_up.notified().await;
        match self.held.ends_at_once.load(Ordering::Relaxed) {
            true => PlaceEnd::AtOnce,
            false => PlaceEnd::Answered,
        }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut state = self.limit.lock();
        if state.remove(self.origin, self.number).is_none() {
            state.closing = state.closing.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests;
