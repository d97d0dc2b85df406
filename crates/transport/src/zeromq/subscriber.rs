//! A minion's subscription to one master, which says when its connection comes
//! and goes.
//!
//! The socket is an XSUB: to publishers it is what a SUB is, and it can say
//! something to them besides, over the connection that publications come by.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tmq::FromZmqSocket as _;
use tmq::Message;
use tmq::dealer::Dealer;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{debug, error, warn};

use super::context::context;
use super::monitor::{Link, Monitored};
use super::options::{Common, KeepAlive, connect_address, millis};
use super::pump::{self, Frames};
use crate::counters::Count;
use crate::{Counters, Endpoint, SocketError, limits};

/// How a subscriber connects.
#[derive(Clone, Debug)]
pub struct SubscribeOptions {
    /// The socket's name: the minion's id. Empty for none.
    pub identity: Vec<u8>,
    /// Prefixes of the messages that are wanted; empty for all messages.
    pub topics: Vec<Vec<u8>>,
    /// First pause before a lost connection is tried again (Salt: a random
    /// time between `recon_default` and `recon_default + recon_max`).
    pub reconnect: Duration,
    /// Longest pause before a lost connection is tried again (`recon_max`).
    pub reconnect_max: Duration,
    /// Messages that may wait for the program.
    pub messages_max: usize,
    /// Largest message.
    pub message_bytes_max: usize,
    /// Whether IPv6 addresses of a name come first.
    pub ipv6: bool,
    /// TCP keep-alive.
    pub keep_alive: KeepAlive,
    /// Address and port to connect from.
    pub source: Option<SocketAddr>,
    /// What is said to the publisher again and again while the connection is
    /// there. Only for publishers that expect it: others drop it.
    pub pulse: Option<Pulse>,
}

/// A sign of life to a publisher.
#[derive(Clone, Debug)]
pub struct Pulse {
    /// The message; its first byte is neither 0 nor 1, which are subscriptions.
    pub message: Vec<u8>,
    /// How often it is sent.
    pub interval: Duration,
}

impl Default for SubscribeOptions {
    fn default() -> Self {
        Self {
            identity: Vec::new(),
            topics: Vec::new(),
            reconnect: Duration::from_millis(100),
            reconnect_max: Duration::from_secs(10),
            messages_max: limits::SUBSCRIBER_MESSAGES_MAX,
            message_bytes_max: limits::MESSAGE_BYTES_MAX,
            ipv6: false,
            keep_alive: KeepAlive::PEER,
            source: None,
            pulse: None,
        }
    }
}

/// What a subscription brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubscriberEvent {
    /// A message of one frame, or of a topic and a frame.
    Message(Vec<Vec<u8>>),
    /// The connection is there and its handshake done.
    Connected,
    /// The connection is gone; it is tried again.
    Disconnected,
}

/// A subscription. Dropping it closes the connection.
#[derive(Debug)]
pub struct Subscriber {
    events: mpsc::Receiver<SubscriberEvent>,
    counters: Arc<Counters>,
    endpoint: Endpoint,
}

impl Subscriber {
    /// Starts the task that connects and stays connected.
    pub fn connect(endpoint: Endpoint, options: SubscribeOptions) -> Self {
        let (sender, events) = mpsc::channel(options.messages_max.max(1));
        let counters = Arc::new(Counters::default());
        let owner = Owner {
            endpoint: endpoint.clone(),
            options,
            events: sender,
            counters: Arc::clone(&counters),
            links: VecDeque::new(),
            pulse_at: None,
        };
        tokio::spawn(owner.run());
        Self {
            events,
            counters,
            endpoint,
        }
    }

    /// The next event; `None` only when the socket has failed. Nothing is lost
    /// when the future is dropped.
    pub async fn recv(&mut self) -> Option<SubscriberEvent> {
        self.events.recv().await
    }

    /// Where this is connected to.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// What happened so far.
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }
}

struct Owner {
    endpoint: Endpoint,
    options: SubscribeOptions,
    events: mpsc::Sender<SubscriberEvent>,
    counters: Arc<Counters>,
    /// Changes of the connection the program has not been told yet.
    links: VecDeque<SubscriberEvent>,
    /// When the publisher is told again that this end is there.
    pulse_at: Option<Instant>,
}

impl Owner {
    async fn run(mut self) {
        let resolved = loop {
            match self.endpoint.resolve(self.options.ipv6).await {
                Ok(resolved) => break resolved,
                Err(error) => {
                    debug!(endpoint = %self.endpoint, %error, "could not resolve the name");
                    tokio::select! {
                        () = sleep(self.options.reconnect_max) => {}
                        () = self.events.closed() => return,
                    }
                }
            }
        };
        if let Err(error) = self.serve(&resolved).await {
            error!(endpoint = %self.endpoint, %error, "the subscription failed");
        }
    }

    async fn serve(&mut self, resolved: &Endpoint) -> Result<(), SocketError> {
        let mut connection = self.open(resolved)?;
        let Monitored {
            socket, reports, ..
        } = &mut connection;
        let mut safety = pump::safety_poll();
        loop {
            tokio::select! {
                // What happened to the connection comes before what came over
                // the next one.
                biased;
                link = reports.next() => self.link_changed(link?),
                () = self.events.closed() => return Ok(()),
                () = room(&self.events), if !self.links.is_empty() => {
                    if let Some(event) = self.links.pop_front() {
                        let _ = self.events.try_send(event);
                    }
                }
                frames = next(&self.events, socket), if self.links.is_empty() => {
                    self.take_batch(frames?, socket)?;
                }
                () = until(self.pulse_at) => self.say_alive(socket)?,
                _ = safety.tick() => {}
            }
        }
    }

    fn say_alive(&mut self, socket: &Dealer) -> Result<(), SocketError> {
        let Some(pulse) = &self.options.pulse else {
            self.pulse_at = None;
            return Ok(());
        };
        // One that does not fit is not missed: the connection is at its end.
        pump::send(socket, vec![Message::from(pulse.message.as_slice())])?;
        self.pulse_at = Some(Instant::now() + pulse.interval);
        Ok(())
    }

    fn take_batch(&mut self, first: Frames, socket: &Dealer) -> Result<(), SocketError> {
        let mut frames = Some(first);
        let mut left = limits::BATCH_MESSAGES_MAX;
        while let Some(taken) = frames {
            match self.check(&taken) {
                Some(event) => {
                    if self.events.try_send(event).is_err() {
                        return Ok(());
                    }
                }
                None => self.counters.add(Count::malformed),
            }
            left -= 1;
            frames = if left > 0 && self.events.capacity() > 0 {
                pump::try_receive(socket)?
            } else {
                None
            };
        }
        Ok(())
    }

    fn check(&self, frames: &Frames) -> Option<SubscriberEvent> {
        if !(1..=2).contains(&frames.len()) {
            return None;
        }
        self.counters.add(Count::received);
        let frames = frames.iter().map(|frame| frame.to_vec()).collect();
        Some(SubscriberEvent::Message(frames))
    }

    /// Notes a change; of many the program has not read, the last ones count.
    fn link_changed(&mut self, link: Link) {
        debug!(endpoint = %self.endpoint, ?link, "subscription");
        let event = match link {
            Link::Up => {
                self.pulse_at = self.options.pulse.as_ref().map(|_| Instant::now());
                SubscriberEvent::Connected
            }
            Link::Down => {
                self.pulse_at = None;
                self.counters.add(Count::closed);
                SubscriberEvent::Disconnected
            }
            Link::Refused => {
                warn!(endpoint = %self.endpoint, "the peer does not speak ZeroMQ's protocol");
                return;
            }
        };
        if self.links.len() == LINKS_MAX {
            self.links.pop_front();
            self.links.pop_front();
        }
        self.links.push_back(event);
    }

    fn open(&self, resolved: &Endpoint) -> Result<Monitored<Dealer>, SocketError> {
        let options = &self.options;
        let socket = context().socket(zmq::XSUB)?;
        Common {
            ipv6: resolved.is_ipv6(),
            keep_alive: options.keep_alive,
            linger: Duration::ZERO,
            message_bytes_max: options.message_bytes_max,
        }
        .apply(&socket)?;
        socket.set_reconnect_ivl(millis(options.reconnect))?;
        socket.set_reconnect_ivl_max(millis(options.reconnect_max))?;
        if !options.identity.is_empty() {
            socket.set_identity(&options.identity)?;
        }
        let address = connect_address(resolved, options.source);
        Monitored::connect_raw(socket, |socket| {
            socket.connect(&address)?;
            let all = [Vec::new()];
            let topics = match options.topics.as_slice() {
                [] => all.as_slice(),
                topics => topics,
            };
            for topic in topics {
                socket.send([&[SUBSCRIBE], topic.as_slice()].concat(), zmq::DONTWAIT)?;
            }
            Ok(Dealer::from_zmq_socket(socket)?)
        })
    }
}

/// What stands before the topic in a subscription.
const SUBSCRIBE: u8 = 1;

/// Changes of the connection that are kept for a program that does not read.
const LINKS_MAX: usize = 8;

/// Waits until the program has room for an event. Only the owner sends, so the
/// room stays there after the permit is gone.
async fn room(events: &mpsc::Sender<SubscriberEvent>) {
    // An error is the program's end, which the caller's `closed` sees.
    let _ = events.reserve().await;
}

/// The next message, once the program has room for it.
async fn next(
    events: &mpsc::Sender<SubscriberEvent>,
    socket: &mut Dealer,
) -> Result<Frames, SocketError> {
    room(events).await;
    pump::receive(socket).await
}

/// Waits for a moment, for ever if there is none.
async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
