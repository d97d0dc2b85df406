//! How many connections there may be, in all and from one address.
//!
//! Invariant: strangers cannot take the last descriptors of the process, nor can a
//! few addresses take all connections from the others.
//!
//! Each minion holds a subscription and a connection for its requests. When all
//! places are taken, idle request connections are closed: they connect again with
//! their next request, so a limit of open files limits the subscriptions and not
//! both. Some places are only for requests, because subscribed minions must be able
//! to return, and some only for programs of this machine, because commands must get
//! through.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::places::{Arrival, Places, Port};
use super::turned_away::TurnedAway;
use crate::contract::Origin;
use crate::limits::{
    CONNECTIONS_KEPT_PER_ORIGIN, SPARE_CONNECTIONS_ENDED, SPARE_LOOK_PAUSE,
    SPARE_OF_ORIGIN_LOOKED_AT,
};

/// One address may have this part of the connections.
const PART_OF_AN_ADDRESS: usize = 2;

/// The connections that are open, and how many there may be.
#[derive(Debug)]
pub(crate) struct ConnectionLimit {
    places: Places,
    began: Instant,
    state: Mutex<State>,
    turned_away: Mutex<TurnedAway>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    all: usize,
    /// Those of `all` opened by programs of this machine.
    own: usize,
    /// Those of `all` that are subscriptions.
    subscriptions: usize,
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

/// The record of an open connection.
#[derive(Debug)]
struct Held {
    arrival: Arrival,
    given_up: Notify,
    ends_at_once: AtomicBool,
    /// From when on the connection may be ended without a loss, in milliseconds since the
    /// limit began.
    spare_from_ms: AtomicU64,
}

/// Connections that were told to end and have not, beside `max`: this part of it. They
/// hold their descriptors until their tasks have run.
const PART_CLOSING: usize = 16;

/// How a connection ends for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaceEnd {
    /// Whatever is under way: its address has far more than others.
    AtOnce,
    /// It was spare, but a request may have arrived in the same moment.
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

    fn add(&mut self, held: &Arc<Held>) -> u64 {
        let origin = held.arrival.origin;
        self.all += 1;
        self.own += usize::from(held.arrival.is_own);
        self.subscriptions += usize::from(held.arrival.port == Port::Subscriptions);
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
        self.own -= usize::from(held.arrival.is_own);
        self.subscriptions -= usize::from(held.arrival.port == Port::Subscriptions);
        Some(held)
    }

    /// Whether one more subscription would leave enough places to requests.
    fn has_subscription(&self, arrival: Arrival, places: Places) -> bool {
        arrival.port == Port::Requests || self.subscriptions < places.subscriptions
    }

    /// Whether there is a place for it.
    fn has_place(&self, arrival: Arrival, places: Places) -> bool {
        self.all < places.all
            && (arrival.is_own || self.all - self.own < places.others)
            && self.has_subscription(arrival, places)
    }

    /// Whether too many connections were told to end and still hold their descriptors.
    fn is_closing_too_many(&self, arrival: Arrival, places: Places) -> bool {
        match arrival.is_own {
            true => self.all + self.closing >= 2 * places.all - places.others,
            false => self.closing > places.all / PART_CLOSING,
        }
    }

    /// Ends the connections that have been spare for longest, many at once since
    /// they are found by looking at all. Those of this machine's own programs end
    /// for such programs only.
    fn end_spare(&mut self, arrival: Arrival, now_ms: u64) {
        if now_ms < self.no_spare_until_ms {
            return;
        }
        let mut spare = Vec::new();
        for (origin, held) in &self.by_origin {
            for (number, held) in held {
                let from = held.spare_from_ms.load(Ordering::Relaxed);
                if from <= now_ms && held.gives_way_to(arrival) {
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
    }

    /// Tells a connection to end; returns whether it existed.
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
    /// else its newest: a subscription, where there are enough of those.
    fn make_room_for(&mut self, arrival: Arrival, places: Places, now_ms: u64) {
        let own = self.count_of(arrival.origin);
        let Some((count, whose)) = self.by_count.last().copied() else {
            return;
        };
        if count <= CONNECTIONS_KEPT_PER_ORIGIN || count / 2 <= own {
            return;
        }
        let Some(held) = self.by_origin.get(&whose) else {
            return;
        };
        let has_subscription = self.has_subscription(arrival, places);
        let is_room = |(_, held): &(&u64, &Arc<Held>)| {
            held.gives_way_to(arrival)
                && (has_subscription || held.arrival.port == Port::Subscriptions)
        };
        let longest = longest_spare(held, now_ms).filter(is_room);
        let mut newest = held.iter().rev().take(SPARE_OF_ORIGIN_LOOKED_AT);
        let number = longest.or_else(|| newest.find(is_room));
        if let Some(number) = number.map(|(number, _)| *number) {
            self.end(whose, number, PlaceEnd::AtOnce);
        }
    }

    /// Ends the connection of a sender that has been spare for longest. Whether
    /// there was any.
    fn end_spare_of(&mut self, origin: Origin, now_ms: u64) -> bool {
        let held = self.by_origin.get(&origin);
        let longest = held.and_then(|held| longest_spare(held, now_ms));
        let number = longest.map(|(number, _)| *number);
        number.is_some_and(|number| self.end(origin, number, PlaceEnd::Answered))
    }
}

impl Held {
    /// Whether its end can be of use to that one.
    fn gives_way_to(&self, arrival: Arrival) -> bool {
        arrival.is_own || !self.arrival.is_own
    }
}

/// The one of a sender's oldest connections that has been spare for longest.
fn longest_spare(held: &BTreeMap<u64, Arc<Held>>, now_ms: u64) -> Option<(&u64, &Arc<Held>)> {
    let spare = |held: &Held| held.spare_from_ms.load(Ordering::Relaxed);
    let oldest = held.iter().take(SPARE_OF_ORIGIN_LOOKED_AT);
    let longest = oldest.min_by_key(|(_, held)| spare(held));
    longest.filter(|(_, held)| spare(held) <= now_ms)
}

/// The one limit of this process, whose ports share its descriptors.
static OF_PROCESS: Mutex<Option<Arc<ConnectionLimit>>> = Mutex::new(None);

impl ConnectionLimit {
    fn new(places: Places) -> Self {
        Self {
            places,
            began: Instant::now(),
            state: Mutex::default(),
            turned_away: Mutex::default(),
        }
    }

    /// The one of this process.
    pub(crate) fn of_process() -> Arc<Self> {
        let mut slot = OF_PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slot.get_or_insert_with(|| Arc::new(Self::new(Places::of_process()))))
    }

    /// Counts a connection in, if there is a place for it. Where all are taken, who
    /// has most gives one up for who has far fewer; where nobody has that many, spare
    /// connections end.
    pub(crate) fn admit(self: &Arc<Self>, arrival: Arrival) -> Option<ConnectionPermit> {
        let Arrival { origin, .. } = arrival;
        let mut state = self.lock();
        let now_ms = self.ms(Instant::now());
        let share = (self.places.all / PART_OF_AN_ADDRESS).max(1);
        if origin != Origin::Local
            && state.count_of(origin) >= share
            && !state.end_spare_of(origin, now_ms)
        {
            return None;
        }
        if state.is_closing_too_many(arrival, self.places) {
            return None;
        }
        if !state.has_place(arrival, self.places) {
            state.make_room_for(arrival, self.places, now_ms);
        }
        // The end of a request would leave no place to a subscription.
        if !state.has_subscription(arrival, self.places) {
            return None;
        }
        if !state.has_place(arrival, self.places) {
            state.end_spare(arrival, now_ms);
        }
        if !state.has_place(arrival, self.places) {
            return None;
        }
        let held = Arc::new(Held {
            arrival,
            given_up: Notify::new(),
            ends_at_once: AtomicBool::new(false),
            spare_from_ms: AtomicU64::new(NEVER_SPARE),
        });
        let number = state.add(&held);
        Some(ConnectionPermit {
            limit: Arc::clone(self),
            number,
            held,
        })
    }

    /// Counts a refused connection; logs it now and then.
    pub(crate) fn turn_away(&self, why: &dyn fmt::Display) {
        let mut turned_away = self.turned_away();
        if let Some(count) = turned_away.record(Instant::now().into_std()) {
            let Places {
                all, subscriptions, ..
            } = self.places;
            tracing::warn!(
                places = all,
                of_minions = subscriptions,
                "connections refused since the last such message: {count}; {why} (raise \
                 max_open_files and the daemon's limit of open files)"
            );
        }
    }

    fn turned_away(&self) -> MutexGuard<'_, TurnedAway> {
        let lock = self.turned_away.lock();
        lock.unwrap_or_else(PoisonError::into_inner)
    }

    fn ms(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.began).as_millis();
        u64::try_from(since).unwrap_or(NEVER_SPARE - 1)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many connections of the ports of this process were turned away.
pub fn connections_turned_away() -> u64 {
    ConnectionLimit::of_process().turned_away().all()
}

/// How many minions can be connected at once to a program with this limit of open files.
pub fn minions_with_open_files(files: u64) -> usize {
    Places::of_open_files(files).subscriptions
}

/// A counted connection; dropping this removes it from the count.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    limit: Arc<ConnectionLimit>,
    number: u64,
    held: Arc<Held>,
}

impl ConnectionPermit {
    /// Where the connection comes from.
    pub(crate) fn origin(&self) -> Origin {
        self.held.arrival.origin
    }

    /// Whether a program of this machine has opened it.
    pub(crate) fn is_own(&self) -> bool {
        self.held.arrival.is_own
    }

    /// Records that the connection may be ended without a loss at `from` or later, until
    /// another time is given. A connection without such a time is not spare.
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
        if state.remove(self.origin(), self.number).is_none() {
            state.closing = state.closing.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests;
