//! Connections on which nobody has proven anything yet, by address.
//!
//! Invariants: there are only so many; the one that gives way belongs to the address
//! with the most that wait, and is its oldest. A request that is being answered keeps
//! its connection.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halite_transport::fleet::Origin;
use tokio::sync::Notify;

/// All of them.
#[derive(Clone)]
pub(crate) struct Strangers {
    table: Arc<Mutex<Table>>,
    max: usize,
}

#[derive(Default)]
struct Table {
    /// The oldest of an address first.
    by: HashMap<Origin, Vec<Entry>>,
    count: usize,
    next: u64,
}

struct Entry {
    number: u64,
    is_answered: bool,
    gives_way: Arc<Notify>,
}

/// An unauthenticated connection, until dropped.
pub(crate) struct Stranger {
    table: Arc<Mutex<Table>>,
    origin: Origin,
    number: u64,
    gives_way: Arc<Notify>,
}

/// A request that is being answered, until dropped.
struct Answering<'a>(&'a Stranger);

impl Strangers {
    /// None yet, and at most this many.
    pub(crate) fn new(max: usize) -> Self {
        let table = Arc::default();
        Self { table, max }
    }

    /// Adds a connection. If there are too many, another one is closed; `None` if all of
    /// them are being answered.
    pub(crate) fn admit(&self, origin: Origin) -> Option<Stranger> {
        let mut table = lock(&self.table);
        if table.count >= self.max && !table.make_room() {
            return None;
        }
        let number = table.next;
        table.next += 1;
        table.count += 1;
        let gives_way = Arc::new(Notify::new());
        table.by.entry(origin).or_default().push(Entry {
            number,
            is_answered: false,
            gives_way: Arc::clone(&gives_way),
        });
        Some(Stranger {
            table: Arc::clone(&self.table),
            origin,
            number,
            gives_way,
        })
    }

    /// Makes one of them give way, if there is one that waits.
    pub(crate) fn make_room(&self) {
        lock(&self.table).make_room();
    }
}

impl Table {
    fn make_room(&mut self) -> bool {
        let waiting = self.by.iter().filter_map(|(origin, entries)| {
            let mut waiting = entries.iter().filter(|entry| !entry.is_answered);
            let oldest = waiting.next()?.number;
            Some((1 + waiting.count(), Reverse(oldest), *origin))
        });
        let Some((_, Reverse(number), origin)) =
            waiting.max_by_key(|(count, oldest, _)| (*count, *oldest))
        else {
            return false;
        };
        if let Some(entry) = self.remove(origin, number) {
            tracing::debug!(
                from = %origin,
                "closing a connection that has not authenticated to make room"
            );
            entry.gives_way.notify_one();
        }
        true
    }

    fn entry(&mut self, origin: Origin, number: u64) -> Option<&mut Entry> {
        let mut entries = self.by.get_mut(&origin)?.iter_mut();
        entries.find(|entry| entry.number == number)
    }

    fn remove(&mut self, origin: Origin, number: u64) -> Option<Entry> {
        let entries = self.by.get_mut(&origin)?;
        let at = entries.iter().position(|entry| entry.number == number)?;
        let entry = entries.remove(at);
        if entries.is_empty() {
            self.by.remove(&origin);
        }
        self.count -= 1;
        Some(entry)
    }
}

impl Stranger {
    /// Removes the connection from the unauthenticated ones.
    pub(crate) fn prove(&self) {
        lock(&self.table).remove(self.origin, self.number);
    }

    /// Whether it still is one.
    pub(crate) fn is_unproven(&self) -> bool {
        lock(&self.table).entry(self.origin, self.number).is_some()
    }

    /// Keeps the connection, while a request is being answered.
    pub(crate) fn answering(&self) -> impl Drop {
        self.set_answered(true);
        Answering(self)
    }

    /// Waits until it has to give way.
    pub(crate) async fn gives_way(&self) {
        self.gives_way.notified().await;
    }

    fn set_answered(&self, is_answered: bool) {
        if let Some(entry) = lock(&self.table).entry(self.origin, self.number) {
            entry.is_answered = is_answered;
        }
    }
}

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        self.0.set_answered(false);
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.prove();
    }
}

fn lock(table: &Mutex<Table>) -> MutexGuard<'_, Table> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use futures_util::FutureExt;

    use super::*;

    fn origin(last: u8) -> Origin {
        Origin::of(Some(IpAddr::from([10, 0, 0, last])))
    }

    fn gives_way(stranger: &Stranger) -> bool {
        stranger.gives_way().now_or_never().is_some()
    }

    #[test]
    fn the_oldest_of_the_address_with_the_most_gives_way() {
        let strangers = Strangers::new(4);
        let admit = |last| strangers.admit(origin(last)).unwrap();
        let alone = admit(1);
        let many = [admit(2), admit(2), admit(2)];
        let next = admit(3);
        let gone: Vec<bool> = many.iter().map(gives_way).collect();
        assert_eq!(gone, [true, false, false]);
        assert!(!gives_way(&alone) && !gives_way(&next));
        // What has given way is no longer counted when it ends.
        drop(many);
        assert_eq!(lock(&strangers.table).count, 2);
        drop((alone, next));
        assert!(lock(&strangers.table).by.is_empty());
    }

    #[test]
    fn who_has_proven_something_or_is_answered_stays() {
        let strangers = Strangers::new(2);
        let admit = |last| strangers.admit(origin(last));
        let proven = admit(1).unwrap();
        proven.prove();
        assert!(!proven.is_unproven());
        let answered = [admit(1).unwrap(), admit(2).unwrap()];
        let mut answering = answered.each_ref().map(|one| Some(one.answering()));
        assert!(admit(3).is_none());
        answering[1] = None;
        assert!(admit(3).is_some());
        assert!(!gives_way(&proven) && !gives_way(&answered[0]) && gives_way(&answered[1]));
    }
}
