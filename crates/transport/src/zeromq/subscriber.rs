//! A minion's subscription to one master, which reports when its connection comes
//! and goes.
//!
//! It calls itself an XSUB: to publishers that is the same as a SUB, and it can
//! also send to them over the connection on which publications come.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{debug, warn};

use super::backoff::Backoff;
use super::topics::wanted_topics;
use crate::contract::{SubscribeOptions, SubscriberEvent};
use crate::counters::Count;
use crate::zmtp::{Dial, DialError, Item, Link, Outgoing, ReadOutcome, encode};
use crate::{Counters, Endpoint, limits};

/// A subscription. Dropping it closes the connection.
#[derive(Debug)]
pub(crate) struct Subscriber {
    events: mpsc::Receiver<SubscriberEvent>,
    counters: Arc<Counters>,
    endpoint: Endpoint,
}

impl Subscriber {
    /// Starts the task that connects and stays connected.
    pub(crate) fn connect(endpoint: Endpoint, options: SubscribeOptions) -> Self {
        let (sender, events) = mpsc::channel(options.messages_max.max(1));
        let counters = Arc::new(Counters::default());
        let owner = Owner {
            endpoint: endpoint.clone(),
            options,
            events: sender,
            counters: Arc::clone(&counters),
            links: VecDeque::new(),
        };
        tokio::spawn(owner.run());
        Self {
            events,
            counters,
            endpoint,
        }
    }

    /// The next event; `None` only when the task that connects has ended. Cancel-safe.
    pub(crate) async fn recv(&mut self) -> Option<SubscriberEvent> {
        self.events.recv().await
    }

    /// Where this is connected to.
    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// What happened so far.
    pub(crate) fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }
}

/// What publish ports are.
const PEERS: &[&[u8]] = &[b"PUB", b"XPUB"];

/// The byte before the topic in a subscription.
const SUBSCRIBE: u8 = 1;

/// Frames of a publication: perhaps a topic, and what is published.
const FRAMES_MAX: usize = 2;

/// Changes of the connection that are kept for a program that does not read.
const LINKS_MAX: usize = 8;

/// The program does not want the subscription any more.
struct Unwanted;

struct Owner {
    endpoint: Endpoint,
    options: SubscribeOptions,
    events: mpsc::Sender<SubscriberEvent>,
    counters: Arc<Counters>,
    /// Changes of the connection that the program has not been told yet.
    links: VecDeque<SubscriberEvent>,
}

impl Owner {
    async fn run(mut self) {
        let wanted = self.events.clone();
        tokio::select! {
            () = wanted.closed() => {}
            _ = self.stay_connected() => {}
        }
    }

    /// Reconnects until the program no longer listens.
    async fn stay_connected(&mut self) -> Unwanted {
        let mut backoff = Backoff::new(self.options.reconnect, self.options.reconnect_max);
        loop {
            if let Some(link) = self.connect().await {
                backoff.reset();
                debug!(endpoint = %self.endpoint, "subscribed");
                self.link_changed(SubscriberEvent::Connected);
                let mut connection = Connection::new(link, &self.options);
                if let Err(error) = self.serve(&mut connection).await {
                    debug!(endpoint = %self.endpoint, %error, "the subscription is lost");
                }
                self.counters.add(Count::closed);
                self.link_changed(SubscriberEvent::Disconnected);
            }
            tokio::select! {
                told = self.tell_changes() => return told,
                () = sleep(backoff.pause()) => {}
            }
        }
    }

    async fn connect(&self) -> Option<Link> {
        let options = &self.options;
        let dial = Dial {
            kind: "XSUB",
            peer: PEERS,
            frame_bytes_max: options.message_bytes_max,
            keep_alive: options.keep_alive,
            source: options.source,
        };
        let endpoint = &self.endpoint;
        let resolved = match self.endpoint.resolve(options.ipv6).await {
            Ok(resolved) => resolved,
            Err(error) => {
                debug!(%endpoint, %error, "could not resolve the name");
                return None;
            }
        };
        match dial.connect(&resolved).await {
            Ok(link) => return Some(link),
            Err(error @ DialError::Wire(_)) => warn!(%endpoint, %error, "no subscription"),
            Err(error) => debug!(%endpoint, %error, "no connection"),
        }
        None
    }

    /// Receives publications until the connection is lost.
    async fn serve(&mut self, connection: &mut Connection) -> io::Result<()> {
        loop {
            connection.write()?;
            tokio::select! {
                // What happened to the connection comes before what came over
                // it.
                biased;
                () = room(&self.events), if !self.links.is_empty() => self.tell_one_change(),
                () = until(connection.sign_at) => connection.say_alive(&self.options),
                () = room_to_read(&self.events, connection), if self.links.is_empty() => {
                    self.take_batch(connection)?;
                }
                writable = connection.link.stream.writable(), if connection.is_writing() => {
                    writable?;
                }
            }
        }
    }

    /// Takes the messages that have arrived, as far as the program has room.
    fn take_batch(&mut self, connection: &mut Connection) -> io::Result<()> {
        let mut left = limits::BATCH_MESSAGES_MAX;
        while left > 0 && self.events.capacity() > 0 {
            // Everything counts, or a flood of what is no publication had no end.
            left -= 1;
            match connection.link.next().map_err(io::Error::other)? {
                Some(Item::Frame { more, body }) => {
                    if let Some(event) = connection.take_frame(more, body, &self.counters) {
                        // There is room, or the program is gone.
                        let _ = self.events.try_send(event);
                    }
                }
                // One that is half written goes first.
                Some(Item::Ping(_)) if connection.pong.is_some() => {}
                Some(Item::Ping(context)) => connection.pong = Some(Outgoing::pong(&context)),
                Some(Item::Ready(_)) => {}
                None => match connection.link.read()? {
                    ReadOutcome::Bytes | ReadOutcome::ManyBytes => {}
                    ReadOutcome::Nothing => {
                        connection.has_more = false;
                        return Ok(());
                    }
                    ReadOutcome::End => return Err(io::ErrorKind::UnexpectedEof.into()),
                },
            }
        }
        connection.has_more = true;
        Ok(())
    }

    /// Records a change; if the program has not read many, the last ones count.
    fn link_changed(&mut self, event: SubscriberEvent) {
        if self.links.len() == LINKS_MAX {
            self.links.pop_front();
            self.links.pop_front();
        }
        self.links.push_back(event);
    }

    fn tell_one_change(&mut self) {
        if let Some(event) = self.links.pop_front() {
            let _ = self.events.try_send(event);
        }
    }

    /// Reports changes to the program while there is no connection.
    async fn tell_changes(&mut self) -> Unwanted {
        while !self.links.is_empty() {
            room(&self.events).await;
            self.tell_one_change();
        }
        self.events.closed().await;
        Unwanted
    }
}

/// A connection and what is on its way over it.
struct Connection {
    link: Link,
    /// Whether what has been read may not be taken yet.
    has_more: bool,
    /// The frames of a publication so far.
    frames: Vec<Option<Vec<u8>>>,
    /// Subscriptions, or a sign of life.
    said: Option<Outgoing>,
    pong: Option<Outgoing>,
    /// When the next sign of life is due.
    sign_at: Option<Instant>,
}

impl Connection {
    fn new(link: Link, options: &SubscribeOptions) -> Self {
        let topics = wanted_topics(options);
        let subscriptions = topics
            .iter()
            .flat_map(|topic| encode(&[&[&[SUBSCRIBE], topic.as_slice()].concat()]));
        Self {
            link,
            has_more: true,
            frames: Vec::new(),
            said: Some(Outgoing::new(subscriptions.collect(), Vec::new())),
            pong: None,
            sign_at: options.signs_of_life.as_ref().map(|_| Instant::now()),
        }
    }

    fn is_writing(&self) -> bool {
        self.said.is_some() || self.pong.is_some()
    }

    fn write(&mut self) -> io::Result<()> {
        if let Some(out) = &mut self.said
            && self.link.write(out)?
        {
            self.said = None;
        }
        // A PONG must not stand within a message.
        if self.said.is_none()
            && let Some(out) = &mut self.pong
            && self.link.write(out)?
        {
            self.pong = None;
        }
        Ok(())
    }

    fn say_alive(&mut self, options: &SubscribeOptions) {
        let Some(signs) = &options.signs_of_life else {
            self.sign_at = None;
            return;
        };
        // One that does not fit is not missed: the connection is at its end.
        if !self.is_writing()
            && let Some(sign) = signs.next()
        {
            self.said = Some(Outgoing::new(encode(&[&sign]), Vec::new()));
        }
        self.sign_at = Some(Instant::now() + signs.pause());
    }

    /// Adds a frame; the publication, if it is whole and one.
    fn take_frame(
        &mut self,
        more: bool,
        body: Option<Vec<u8>>,
        counters: &Counters,
    ) -> Option<SubscriberEvent> {
        let is_kept = self.frames.len() < FRAMES_MAX;
        self.frames.push(body.filter(|_| is_kept));
        self.frames.truncate(FRAMES_MAX + 1);
        if more {
            return None;
        }
        // A topic in front has done its work.
        match std::mem::take(&mut self.frames).pop().flatten() {
            Some(payload) => {
                counters.add(Count::received);
                Some(SubscriberEvent::Publication(payload))
            }
            None => {
                counters.add(Count::malformed);
                None
            }
        }
    }
}

/// Waits until the program has room for an event. Only the owner sends, so the room
/// remains after the permit is dropped.
async fn room(events: &mpsc::Sender<SubscriberEvent>) {
    // An error is the program's end, which the caller's `closed` sees.
    let _ = events.reserve().await;
}

/// Waits until there is something to read and the program has room for it.
async fn room_to_read(events: &mpsc::Sender<SubscriberEvent>, connection: &Connection) {
    room(events).await;
    if !connection.has_more {
        // An error shows with the read.
        let _ = connection.link.stream.readable().await;
    }
}

/// Waits for a moment, or for ever without one.
async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
