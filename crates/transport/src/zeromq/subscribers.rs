//! All connections of a publish port: what they want, and which minions they are of.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halite_proto::MinionId;
use tokio::time::Instant;

use super::heard::Heard;
use super::outbox::{Outbox, OutboxSender, outbox};
use crate::Counters;
use crate::contract::{PresenceEvent, PresenceWatch, PublishPortOptions};
use crate::counters::Count;
use crate::limits::TOPICS_OF_A_PEER_MAX;

/// All connected subscribers.
#[derive(Debug)]
pub(super) struct Subscribers {
    options: PublishPortOptions,
    pub(super) counters: Arc<Counters>,
    state: Mutex<State>,
    /// Locked while an event of presence is handed on, so that events of one
    /// minion keep their order.
    heard: Mutex<Heard>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    all: HashMap<u64, Subscriber>,
}

#[derive(Debug)]
struct Subscriber {
    topics: Vec<Vec<u8>>,
    /// The minion that it has proven to be.
    minion: Option<MinionId>,
    messages: OutboxSender<Arc<[u8]>>,
    waiting: Arc<Waiting>,
}

/// The messages that wait for one of them.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    count: AtomicUsize,
    bytes: AtomicUsize,
}

impl Waiting {
    /// A message of this size no longer waits.
    pub(super) fn is_through(&self, bytes: usize) {
        self.count.fetch_sub(1, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Subscriber {
    fn wants(&self, topic: &[u8]) -> bool {
        self.topics.iter().any(|wanted| topic.starts_with(wanted))
    }

    /// Whether it may be one of these minions: a subscriber that has not proven its
    /// minion may be any.
    fn may_be_of(&self, minions: &Minions<'_>) -> bool {
        (self.minion.as_ref()).is_none_or(|id| minions.contains(id.as_str()))
    }
}

/// The minions that a publication is for.
pub(super) type Minions<'a> = HashSet<&'a str>;

impl Subscribers {
    pub(super) fn new(options: PublishPortOptions, counters: Arc<Counters>) -> Self {
        Self {
            options,
            counters,
            state: Mutex::default(),
            heard: Mutex::default(),
        }
    }

    pub(super) fn options(&self) -> &PublishPortOptions {
        &self.options
    }

    pub(super) fn watches_presence(&self) -> bool {
        self.options.presence.is_some()
    }

    /// Reports minions that have fallen silent.
    pub(super) fn check_silence(&self) {
        self.with_presence(|watch, heard| {
            for id in heard.take_silent(Instant::now().into_std(), watch.interval().missed_after())
            {
                watch.emit(PresenceEvent::Silent(id));
            }
        });
    }

    /// Queues a message for who wants it and has room, except for those who are
    /// other minions than `only`.
    pub(super) fn give(&self, topic: &[u8], message: &Arc<[u8]>, only: Option<&Minions<'_>>) {
        let options = &self.options;
        let state = self.lock();
        let is_for = |one: &&Subscriber| {
            one.wants(topic) && only.is_none_or(|minions| one.may_be_of(minions))
        };
        for subscriber in state.all.values().filter(is_for) {
            let waiting = &subscriber.waiting;
            let count = waiting.count.load(Ordering::Relaxed);
            let bytes = waiting.bytes.load(Ordering::Relaxed);
            let is_full = (options.peer_messages_max > 0 && count >= options.peer_messages_max)
                || (bytes > 0 && bytes + message.len() > options.peer_bytes_max);
            if is_full {
                self.counters.add(Count::dropped);
                continue;
            }
            waiting.count.fetch_add(1, Ordering::Relaxed);
            waiting.bytes.fetch_add(message.len(), Ordering::Relaxed);
            // One who goes takes what waits along.
            subscriber.messages.send(Arc::clone(message));
        }
    }

    pub(super) fn enter(&self) -> (u64, Outbox<Arc<[u8]>>, Arc<Waiting>) {
        let (messages, receiver) = outbox();
        let waiting = Arc::<Waiting>::default();
        let mut state = self.lock();
        state.next += 1;
        let number = state.next;
        let subscriber = Subscriber {
            topics: Vec::new(),
            minion: None,
            messages,
            waiting: Arc::clone(&waiting),
        };
        state.all.insert(number, subscriber);
        if let Some(watch) = &self.options.presence {
            watch.unproven().enter();
        }
        (number, receiver, waiting)
    }

    /// A connection has ended, over which this minion was heard.
    pub(super) fn leave(&self, number: u64, minion: Option<&MinionId>) {
        self.lock().all.remove(&number);
        if minion.is_none() {
            self.prove_one();
        }
        self.unheard(number, minion);
    }

    /// A subscriber has proven to be this minion.
    pub(super) fn know(&self, number: u64, minion: &MinionId) {
        if let Some(subscriber) = self.lock().all.get_mut(&number) {
            subscriber.minion = Some(minion.clone());
        }
    }

    /// Over one connection less nobody was heard.
    pub(super) fn prove_one(&self) {
        if let Some(watch) = &self.options.presence {
            watch.unproven().leave();
        }
    }

    /// This minion is not heard over a connection any more.
    pub(super) fn unheard(&self, number: u64, minion: Option<&MinionId>) {
        let Some(id) = minion else {
            return;
        };
        self.with_presence(|watch, heard| {
            if heard.leave(id, number) {
                watch.emit(PresenceEvent::Gone(id.clone()));
            }
        });
    }

    /// Adds a topic of a subscriber; false if it has too many.
    pub(super) fn subscribe(&self, number: u64, topic: &[u8]) -> bool {
        let mut state = self.lock();
        let Some(subscriber) = state.all.get_mut(&number) else {
            return false;
        };
        if subscriber.topics.iter().any(|known| known == topic) {
            return true;
        }
        if subscriber.topics.len() == TOPICS_OF_A_PEER_MAX {
            return false;
        }
        subscriber.topics.push(topic.to_vec());
        true
    }

    pub(super) fn unsubscribe(&self, number: u64, topic: &[u8]) {
        let mut state = self.lock();
        if let Some(subscriber) = state.all.get_mut(&number) {
            subscriber.topics.retain(|known| known != topic);
        }
    }

    /// A subscriber has sent something that is not a subscription; returns the minion
    /// whose presence it proves.
    pub(super) fn said(&self, number: u64, message: &[u8]) -> Option<MinionId> {
        let watch = self.options.presence.as_ref()?;
        let id = watch.prove(message)?;
        self.with_presence(|watch, heard| {
            if heard.record(&id, number, Instant::now().into_std()) {
                watch.emit(PresenceEvent::Here(id.clone()));
            }
        });
        Some(id)
    }

    /// The answer to a message that has proven a minion.
    pub(super) fn answer_to(&self, said: &[u8], id: &MinionId) -> Option<Vec<u8>> {
        self.options.presence.as_ref()?.answer(said, id)
    }

    fn with_presence(&self, act: impl FnOnce(&PresenceWatch, &mut Heard)) {
        if let Some(watch) = &self.options.presence {
            let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
            act(watch, &mut heard);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
