//! One subscriber's connection, and all of them together.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halite_proto::MinionId;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};
use tracing::debug;

use super::heard::Heard;
use crate::Counters;
use crate::contract::{PresenceEvent, PresenceWatch, PublishPortOptions};
use crate::counters::Count;
use crate::limits::{
    HANDSHAKE_MAX, SIGN_OF_LIFE_INTERVAL_MIN, SUBSCRIBER_FRAME_BYTES_MAX, TOPICS_OF_A_PEER_MAX,
};
use crate::zmtp::{Accepted, ConnectionPermit, Item, Link, Outgoing, ReadOutcome, WireError};

/// Kinds of sockets that may subscribe.
const KINDS: [&[u8]; 2] = [b"SUB", b"XSUB"];

/// Everybody who is connected.
#[derive(Debug)]
pub(super) struct Subscribers {
    options: PublishPortOptions,
    counters: Arc<Counters>,
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
    messages: mpsc::UnboundedSender<Arc<[u8]>>,
    waiting: Arc<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    count: AtomicUsize,
    bytes: AtomicUsize,
}

impl Subscriber {
    fn wants(&self, topic: &[u8]) -> bool {
        self.topics.iter().any(|wanted| topic.starts_with(wanted))
    }

    /// Whether it may be one of these minions: who has not proven which it is may be
    /// any.
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
            let _ = subscriber.messages.send(Arc::clone(message));
        }
    }

    fn enter(&self) -> (u64, mpsc::UnboundedReceiver<Arc<[u8]>>, Arc<Waiting>) {
        let (messages, receiver) = mpsc::unbounded_channel();
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
    fn leave(&self, number: u64, minion: Option<&MinionId>) {
        self.lock().all.remove(&number);
        if minion.is_none() {
            self.prove_one();
        }
        self.unheard(number, minion);
    }

    /// A subscriber has proven to be this minion.
    fn know(&self, number: u64, minion: &MinionId) {
        if let Some(subscriber) = self.lock().all.get_mut(&number) {
            subscriber.minion = Some(minion.clone());
        }
    }

    /// Over one connection less nobody was heard.
    fn prove_one(&self) {
        if let Some(watch) = &self.options.presence {
            watch.unproven().leave();
        }
    }

    /// This minion is not heard over a connection any more.
    fn unheard(&self, number: u64, minion: Option<&MinionId>) {
        let Some(id) = minion else {
            return;
        };
        self.with_presence(|watch, heard| {
            if heard.leave(id, number) {
                watch.emit(PresenceEvent::Gone(id.clone()));
            }
        });
    }

    /// One more topic of a subscriber; false if it has too many.
    fn subscribe(&self, number: u64, topic: &[u8]) -> bool {
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

    fn unsubscribe(&self, number: u64, topic: &[u8]) {
        let mut state = self.lock();
        if let Some(subscriber) = state.all.get_mut(&number) {
            subscriber.topics.retain(|known| known != topic);
        }
    }

    /// A subscriber has said something that is no subscription; which minion it
    /// proves to be there.
    fn said(&self, number: u64, message: &[u8]) -> Option<MinionId> {
        let watch = self.options.presence.as_ref()?;
        let id = watch.prove(message)?;
        self.with_presence(|watch, heard| {
            if heard.record(&id, number, Instant::now().into_std()) {
                watch.emit(PresenceEvent::Here(id.clone()));
            }
        });
        Some(id)
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

/// One subscriber's connection.
pub(super) struct Connection {
    link: Link,
    permit: ConnectionPermit,
    subscribers: Arc<Subscribers>,
    closing: watch::Receiver<()>,
    number: u64,
    messages: mpsc::UnboundedReceiver<Arc<[u8]>>,
    waiting: Arc<Waiting>,
    out: Option<Outgoing>,
    /// What `out` counts for among what waits.
    out_bytes: Option<usize>,
    begun: Instant,
    /// The minion that was heard over it, and when something was looked at that
    /// may have proven one.
    minion: Option<MinionId>,
    looked: Option<Instant>,
}

/// Why a connection ends, where its peer has not ended it.
type End = Option<WireError>;

impl Connection {
    pub(super) fn new(
        accepted: Accepted,
        subscribers: &Arc<Subscribers>,
        closing: watch::Receiver<()>,
    ) -> Self {
        let (number, messages, waiting) = subscribers.enter();
        Self {
            link: Link::new(accepted.stream, SUBSCRIBER_FRAME_BYTES_MAX),
            permit: accepted.permit,
            subscribers: Arc::clone(subscribers),
            closing,
            number,
            messages,
            waiting,
            out: Some(Outgoing::greeting("XPUB")),
            out_bytes: None,
            begun: Instant::now(),
            minion: None,
            looked: None,
        }
    }

    pub(super) async fn run(mut self) {
        if let Err(Some(why)) = self.serve().await {
            self.subscribers.counters.add(Count::malformed);
            debug!(%why, "ended a connection to the publish port");
        }
    }

    async fn serve(&mut self) -> Result<(), End> {
        let mut is_closing = false;
        loop {
            while self.decode()? {}
            let is_ready = self.link.decoder.is_ready();
            let deadline = (!is_ready).then(|| self.begun + HANDSHAKE_MAX);
            tokio::select! {
                readable = self.link.stream.readable() => {
                    readable.map_err(|_| None)?;
                    if self.link.read().map_err(|_| None)? == ReadOutcome::End {
                        return Ok(());
                    }
                }
                writable = self.link.stream.writable(), if self.out.is_some() => {
                    writable.map_err(|_| None)?;
                    self.write()?;
                }
                message = self.messages.recv(), if self.out.is_none() => {
                    let Some(message) = message else { return Ok(()) };
                    self.out_bytes = Some(message.len());
                    self.out = Some(Outgoing::shared(message));
                    self.write()?;
                }
                _ = self.closing.changed(), if !is_closing => is_closing = true,
                _ = self.permit.given_up() => {
                    debug!("ended a connection: its address has most of them, and all places are taken");
                    return Ok(());
                }
                () = until(deadline) => {
                    debug!("ended a connection that does not end its handshake");
                    return Ok(());
                }
            }
            if is_closing && self.out.is_none() && self.messages.is_empty() {
                return Ok(());
            }
        }
    }

    /// Decodes one item; whether there was one.
    fn decode(&mut self) -> Result<bool, End> {
        match self.link.next()? {
            None => return Ok(false),
            Some(Item::Ready(kind)) if KINDS.contains(&kind.as_slice()) => {}
            Some(Item::Ready(_)) => return Err(Some(WireError::Kind)),
            Some(Item::Ping(context)) if self.out.is_none() => {
                self.out = Some(Outgoing::pong(&context));
                self.write()?;
            }
            // Bytes are on their way, which is a sign of life as well.
            Some(Item::Ping(_)) => {}
            Some(Item::Frame {
                more: false,
                body: Some(said),
            }) => self.receive(&said)?,
            // Subscribers have nothing to say in several parts.
            Some(Item::Frame { .. }) => return Err(Some(WireError::Frame)),
        }
        Ok(true)
    }

    fn receive(&mut self, said: &[u8]) -> Result<(), End> {
        let subscribers = &self.subscribers;
        match said.split_first() {
            Some((1, topic)) if !subscribers.subscribe(self.number, topic) => {
                return Err(Some(WireError::TooLarge));
            }
            Some((1, _)) | None => {}
            Some((0, topic)) => subscribers.unsubscribe(self.number, topic),
            Some(_) => self.hear(said),
        }
        Ok(())
    }

    /// What may prove a minion: not more often than an honest one says it.
    fn hear(&mut self, said: &[u8]) {
        let now = Instant::now();
        let is_soon = |looked| now.duration_since(looked) < SIGN_OF_LIFE_INTERVAL_MIN;
        if self.looked.is_some_and(is_soon) {
            return;
        }
        self.looked = Some(now);
        let Some(id) = self.subscribers.said(self.number, said) else {
            return;
        };
        let before = self.minion.replace(id);
        if before.is_none() {
            self.subscribers.prove_one();
        }
        if before != self.minion {
            if let Some(id) = &self.minion {
                self.subscribers.know(self.number, id);
            }
            self.subscribers.unheard(self.number, before.as_ref());
        }
    }

    fn write(&mut self) -> Result<(), End> {
        if let Some(out) = &mut self.out
            && self.link.write(out).map_err(|_| None)?
        {
            self.out = None;
            if let Some(bytes) = self.out_bytes.take() {
                self.waiting.count.fetch_sub(1, Ordering::Relaxed);
                self.waiting.bytes.fetch_sub(bytes, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.subscribers.leave(self.number, self.minion.as_ref());
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
