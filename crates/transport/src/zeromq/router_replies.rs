//! The way of replies to the connections of a router.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::outbox::{Outbox, OutboxSender, outbox};
use crate::Counters;
use crate::contract::{Peer, ReplyError, RequestPortOptions};
use crate::counters::Count;

/// The connections by their numbers.
#[derive(Debug)]
pub(super) struct Peers {
    replies_max: usize,
    peer_bytes_max: usize,
    all_bytes_max: usize,
    state: Mutex<State>,
    all_bytes: Arc<AtomicUsize>,
}

#[derive(Debug, Default)]
struct State {
    is_closed: bool,
    next: u64,
    ways: HashMap<u64, Way>,
}

/// The way to one connection.
#[derive(Debug)]
struct Way {
    replies: OutboxSender<Reply>,
    waiting: Arc<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    count: AtomicUsize,
    bytes: AtomicUsize,
}

/// A reply that waits; what it counts for is given back when it goes.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) payload: Vec<u8>,
    pub(super) cost: Cost,
}

/// The weight of a reply, until it is dropped.
#[derive(Debug)]
pub(super) struct Cost {
    bytes: usize,
    waiting: Arc<Waiting>,
    all_bytes: Arc<AtomicUsize>,
}

impl Cost {
    fn new(bytes: usize, waiting: &Arc<Waiting>, all_bytes: &Arc<AtomicUsize>) -> Self {
        waiting.count.fetch_add(1, Ordering::Relaxed);
        waiting.bytes.fetch_add(bytes, Ordering::Relaxed);
        all_bytes.fetch_add(bytes, Ordering::Relaxed);
        Self {
            bytes,
            waiting: Arc::clone(waiting),
            all_bytes: Arc::clone(all_bytes),
        }
    }
}

impl Drop for Cost {
    fn drop(&mut self) {
        self.waiting.count.fetch_sub(1, Ordering::Relaxed);
        self.waiting.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        self.all_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Peers {
    pub(super) fn new(options: &RequestPortOptions) -> Self {
        Self {
            replies_max: options.peer_replies_max,
            peer_bytes_max: options.peer_reply_bytes_max,
            all_bytes_max: options.reply_bytes_max,
            state: Mutex::default(),
            all_bytes: Arc::default(),
        }
    }

    /// No further replies.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
    }

    pub(super) fn send(
        &self,
        peer: Peer,
        payload: Vec<u8>,
        counters: &Counters,
    ) -> Result<(), ReplyError> {
        let state = self.lock();
        if state.is_closed {
            return Err(ReplyError);
        }
        let is_taken = state.ways.get(&peer.0).is_some_and(|way| {
            let waiting = &way.waiting;
            // One on its own may be as large as a message may be.
            let fits = |used: usize, max: usize| used == 0 || used + payload.len() <= max;
            let count = waiting.count.load(Ordering::Relaxed);
            let has_room = (self.replies_max == 0 || count < self.replies_max)
                && fits(waiting.bytes.load(Ordering::Relaxed), self.peer_bytes_max)
                && fits(self.all_bytes.load(Ordering::Relaxed), self.all_bytes_max);
            has_room && {
                let cost = Cost::new(payload.len(), waiting, &self.all_bytes);
                let reply = Reply { payload, cost };
                way.replies.send(reply)
            }
        });
        drop(state);
        counters.add(if is_taken {
            Count::sent
        } else {
            Count::dropped
        });
        Ok(())
    }

    /// Adds a connection; returns its number, and the queue of its replies.
    pub(super) fn enter(&self) -> (u64, Outbox<Reply>) {
        let (replies, receiver) = outbox();
        let mut state = self.lock();
        state.next += 1;
        let number = state.next;
        let way = Way {
            replies,
            waiting: Arc::default(),
        };
        state.ways.insert(number, way);
        (number, receiver)
    }

    /// How many connections there are.
    pub(super) fn count(&self) -> usize {
        self.lock().ways.len()
    }

    /// A connection has ended.
    pub(super) fn leave(&self, number: u64) {
        self.lock().ways.remove(&number);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
