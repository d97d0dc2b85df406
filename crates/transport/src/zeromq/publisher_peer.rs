//! One subscriber's connection.

use std::sync::Arc;

use halite_proto::MinionId;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tracing::debug;

use super::outbox::Outbox;
use super::subscribers::{Subscribers, Waiting};
use crate::counters::Count;
use crate::limits::{HANDSHAKE_MAX, SIGN_OF_LIFE_INTERVAL_MIN, SUBSCRIBER_FRAME_BYTES_MAX};
use crate::zmtp::{
    Accepted, ConnectionPermit, Item, Link, Outgoing, ReadOutcome, WireError, encode,
};

/// Kinds of sockets that may subscribe.
const KINDS: [&[u8]; 2] = [b"SUB", b"XSUB"];

/// One subscriber's connection.
pub(super) struct Connection {
    link: Link,
    permit: ConnectionPermit,
    subscribers: Arc<Subscribers>,
    closing: watch::Receiver<()>,
    number: u64,
    messages: Outbox<Arc<[u8]>>,
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

    /// Serves the connection to its end. The task owns the connection and lends it: an
    /// argument of an `async` function would be stored twice in its future.
    pub(super) async fn run(&mut self) {
        if let Err(Some(why)) = self.serve().await {
            self.subscribers.counters.add(Count::malformed);
            debug!(%why, "closed a connection to the publish port");
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
                    debug!("closed a connection: the limit is reached, and its address has the \
                            most connections");
                    return Ok(());
                }
                () = until(deadline) => {
                    debug!("closed a connection: its handshake took too long");
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
            Some(_) => return self.hear(said),
        }
        Ok(())
    }

    /// What may prove a minion: not more often than an honest one says it.
    fn hear(&mut self, said: &[u8]) -> Result<(), End> {
        let now = Instant::now();
        let is_soon = |looked| now.duration_since(looked) < SIGN_OF_LIFE_INTERVAL_MIN;
        if self.looked.is_some_and(is_soon) {
            return Ok(());
        }
        self.looked = Some(now);
        let Some(id) = self.subscribers.said(self.number, said) else {
            return Ok(());
        };
        // Where bytes are on their way, the next sign is answered.
        if self.out.is_none()
            && let Some(answer) = self.subscribers.answer_to(said, &id)
        {
            self.out = Some(Outgoing::new(encode(&[&answer]), Vec::new()));
            self.write()?;
        }
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
        Ok(())
    }

    fn write(&mut self) -> Result<(), End> {
        if let Some(out) = &mut self.out
            && self.link.write(out).map_err(|_| None)?
        {
            self.out = None;
            if let Some(bytes) = self.out_bytes.take() {
                self.waiting.is_through(bytes);
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
