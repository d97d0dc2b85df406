//! A minion's subscription to one master, which says when its connection comes
//! and goes.
//!
//! The socket is an XSUB: to publishers it is what a SUB is, and it can say
//! something to them besides, over the connection that publications come by.

use std::collections::VecDeque;
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
use super::options::{Common, connect_address, millis};
use super::pump::{self, Frames};
use super::topics::wanted_topics;
use crate::contract::{SubscribeOptions, SubscriberEvent};
use crate::counters::Count;
use crate::{Counters, Endpoint, SocketError, limits};

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
            sign_at: None,
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

struct Owner {
    endpoint: Endpoint,
    options: SubscribeOptions,
    events: mpsc::Sender<SubscriberEvent>,
    counters: Arc<Counters>,
    /// Changes of the connection the program has not been told yet.
    links: VecDeque<SubscriberEvent>,
    /// When the publisher is told again that this end is there.
    sign_at: Option<Instant>,
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
                () = until(self.sign_at) => self.say_alive(socket)?,
                _ = safety.tick() => {}
            }
        }
    }

    fn say_alive(&mut self, socket: &Dealer) -> Result<(), SocketError> {
        let Some(signs) = &self.options.signs_of_life else {
            self.sign_at = None;
            return Ok(());
        };
        if let Some(sign) = signs.next() {
            // One that does not fit is not missed: the connection is at its end.
            pump::send(socket, vec![Message::from(sign)])?;
        }
        self.sign_at = Some(Instant::now() + limits::SIGN_OF_LIFE_INTERVAL);
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
        // A topic in front has done its work.
        let payload = frames.last()?.to_vec();
        Some(SubscriberEvent::Publication(payload))
    }

    /// Notes a change; of many the program has not read, the last ones count.
    fn link_changed(&mut self, link: Link) {
        debug!(endpoint = %self.endpoint, ?link, "subscription");
        let event = match link {
            Link::Up => {
                let signs = self.options.signs_of_life.as_ref();
                self.sign_at = signs.map(|_| Instant::now());
                SubscriberEvent::Connected
            }
            Link::Down => {
                self.sign_at = None;
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
        if let Some(minion) = &options.minion {
            socket.set_identity(minion.as_str().as_bytes())?;
        }
        let address = connect_address(resolved, options.source);
        Monitored::connect_raw(socket, |socket| {
            socket.connect(&address)?;
            for topic in wanted_topics(options) {
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
