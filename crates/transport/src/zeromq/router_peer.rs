//! One connection of a router.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};
use tracing::debug;

use super::outbox::Outbox;
use super::router::Shared;
use super::router_replies::{Cost, Reply};
use crate::contract::{Incoming, Peer};
use crate::counters::Count;
use crate::limits::{
    HANDSHAKE_MAX, PEER_STALL_MAX, SPARE_AFTER, UNANSWERED_KEPT, UNCOUNTED_BYTES_MAX,
};
use crate::zmtp::{
    Accepted, ConnectionPermit, Item, Link, Outgoing, PlaceEnd, ReadOutcome, Share, WireError,
    encode_head,
};

/// Kinds of sockets that may ask.
const KINDS: [&[u8]; 3] = [b"REQ", b"DEALER", b"ROUTER"];

/// One connection.
pub(super) struct Connection {
    link: Link,
    permit: ConnectionPermit,
    shared: Arc<Shared>,
    stopping: watch::Receiver<()>,
    leaving: watch::Receiver<()>,
    number: u64,
    replies: Outbox<Reply>,
    share: Share,
    /// Parts of the message so far.
    parts: usize,
    /// A whole request that waits for the program.
    ready: Option<Vec<u8>>,
    out: Option<(Outgoing, Option<Cost>)>,
    /// Requests that the program has and has not answered.
    unanswered: usize,
    begun: Instant,
    /// When something last moved that must not stand still.
    moved: Instant,
}

/// Why a connection ends, where its peer has not ended it.
type End = Option<WireError>;

impl Connection {
    pub(super) fn new(
        accepted: Accepted,
        shared: &Arc<Shared>,
        stopping: watch::Receiver<()>,
        leaving: watch::Receiver<()>,
    ) -> Self {
        let (number, replies) = shared.peers.enter();
        let mut link = Link::new(accepted.stream, shared.options.message_bytes_max);
        // The first part is the empty delimiter.
        link.decoder.keep_at_most(0);
        Self {
            link,
            permit: accepted.permit,
            shared: Arc::clone(shared),
            stopping,
            leaving,
            number,
            replies,
            share: Share::new(&shared.unfinished),
            parts: 0,
            ready: None,
            out: Some((Outgoing::greeting("ROUTER"), None)),
            unanswered: 0,
            begun: Instant::now(),
            moved: Instant::now(),
        }
    }

    /// Serves the connection to its end. The task owns the connection and lends it: an
    /// argument of an `async` function would be stored twice in its future.
    pub(super) async fn run(&mut self) {
        if let Err(Some(why)) = self.serve().await {
            self.shared.counters.add(Count::malformed);
            debug!(%why, "closed a connection to the request port");
        }
    }

    async fn serve(&mut self) -> Result<(), End> {
        let (mut is_stopping, mut is_given_up) = (false, false);
        let shared = Arc::clone(&self.shared);
        let evicted = Arc::clone(&self.share.evicted);
        let requests = shared.requests_of(&self.permit);
        loop {
            while self.ready.is_none() && self.decode()? {}
            self.say_when_spare();
            let deadline = self.deadline();
            let is_reading = self.ready.is_none() && !is_stopping;
            tokio::select! {
                permit = requests.reserve(), if self.ready.is_some() && shared.budget.has_room() => {
                    let (Ok(permit), Some(payload)) = (permit, self.ready.take()) else {
                        return Ok(());
                    };
                    shared.counters.add(Count::received);
                    shared.budget.take(payload.len());
                    self.unanswered += 1;
                    let (peer, from) = (Peer(self.number), self.permit.origin());
                    permit.send(Incoming { peer, from, payload });
                    self.share.set(0);
                    self.moved = Instant::now();
                }
                () = shared.budget.room(), if self.ready.is_some() && !shared.budget.has_room() => {}
                readable = self.link.stream.readable(), if is_reading => {
                    readable.map_err(|_| None)?;
                    if !self.read().await? {
                        return Ok(());
                    }
                }
                writable = self.link.stream.writable(), if self.out.is_some() => {
                    writable.map_err(|_| None)?;
                    self.write()?;
                }
                reply = self.replies.recv(), if self.out.is_none() => {
                    let Some(reply) = reply else { return Ok(()) };
                    self.send(reply)?;
                }
                () = evicted.notified() => {
                    debug!("closed a connection: incomplete messages use too much memory, and it \
                            has been idle the longest");
                    return Ok(());
                }
                how = given_up(&self.permit, &mut self.leaving) => {
                    if how == PlaceEnd::AtOnce {
                        return Ok(());
                    }
                    is_given_up = true;
                    // A request may be on its way from the moment before.
                    if self.link.read().map_err(|_| None)? == ReadOutcome::End {
                        return Ok(());
                    }
                    while self.ready.is_none() && self.decode()? {}
                }
                () = until(deadline) => {
                    debug!("closed an idle connection");
                    return Ok(());
                }
                _ = self.stopping.changed(), if !is_stopping => is_stopping = true,
            }
            if is_stopping && self.out.is_none() && self.replies.is_empty() {
                return Ok(());
            }
            if is_given_up && self.is_idle() {
                return Ok(());
            }
        }
    }

    /// Reads what there is; false at the peer's end. A large request comes in pieces, and
    /// the other connections have their turn after each.
    async fn read(&mut self) -> Result<bool, End> {
        match self.link.read().map_err(|_| None)? {
            ReadOutcome::End => return Ok(false),
            ReadOutcome::Bytes => self.moved = Instant::now(),
            ReadOutcome::ManyBytes => {
                self.moved = Instant::now();
                // Counted first: whose request began first is what decides later.
                while self.ready.is_none() && self.decode()? {}
                yield_now().await;
            }
            ReadOutcome::Nothing => {}
        }
        Ok(true)
    }

    /// Decodes one item; whether there was one.
    fn decode(&mut self) -> Result<bool, End> {
        let Some(item) = self.link.next()? else {
            let kept = self.link.decoder.kept();
            let counted = if kept > UNCOUNTED_BYTES_MAX { kept } else { 0 };
            self.share.set(counted);
            return Ok(false);
        };
        match item {
            Item::Ready(kind) if KINDS.contains(&kind.as_slice()) => {}
            Item::Ready(_) => return Err(Some(WireError::Kind)),
            Item::Ping(context) if self.out.is_none() => {
                self.out = Some((Outgoing::pong(&context), None));
                self.write()?;
            }
            // Bytes are on their way, which is a sign of life as well.
            Item::Ping(_) => {}
            Item::Frame { more, body } => self.take(more, body),
        }
        Ok(true)
    }

    /// A request is an empty part and one with its payload; all others are
    /// read to their end and dropped.
    fn take(&mut self, more: bool, body: Option<Vec<u8>>) {
        let is_first = self.parts == 0;
        match (is_first, more, body) {
            (true, true, Some(body)) if body.is_empty() => {
                self.parts = 1;
                let max = self.shared.options.message_bytes_max;
                self.link.decoder.keep_at_most(max);
                return;
            }
            (false, false, Some(body)) if self.parts == 1 => {
                if body.capacity() > UNCOUNTED_BYTES_MAX {
                    self.share.set(body.capacity());
                }
                self.ready = Some(body);
            }
            (_, false, _) => self.shared.counters.add(Count::malformed),
            (_, true, _) => {
                self.parts = 2;
                self.link.decoder.keep_at_most(0);
                return;
            }
        }
        self.parts = 0;
        self.link.decoder.keep_at_most(0);
    }

    fn send(&mut self, reply: Reply) -> Result<(), End> {
        // The delimiter, then the payload's head.
        let mut head = vec![1, 0];
        encode_head(&mut head, false, reply.payload.len());
        let out = Outgoing::new(head, reply.payload);
        self.out = Some((out, Some(reply.cost)));
        self.unanswered = self.unanswered.saturating_sub(1);
        self.moved = Instant::now();
        self.write()
    }

    fn write(&mut self) -> Result<(), End> {
        if let Some((out, _)) = &mut self.out
            && self.link.write(out).map_err(|_| None)?
        {
            self.out = None;
        }
        self.moved = Instant::now();
        Ok(())
    }

    /// An idle connection may end for another, and one whose request the program
    /// will not answer any more.
    fn say_when_spare(&self) {
        if self.link.decoder.is_ready() {
            let kept = match self.is_idle() {
                true => SPARE_AFTER,
                false => UNANSWERED_KEPT,
            };
            self.permit.spare_from(self.moved + kept);
        }
    }

    /// Whether no request is pending, and no message is partly read or partly written.
    fn is_idle(&self) -> bool {
        self.unanswered == 0 && self.ready.is_none() && self.out.is_none() && !self.is_reading()
    }

    /// Whether a message is half read.
    fn is_reading(&self) -> bool {
        self.link.decoder.is_within() || self.parts > 0
    }

    /// When the connection ends if nothing moves. One that is idle may stay,
    /// and one whose request waits for the program.
    fn deadline(&self) -> Option<Instant> {
        if !self.link.decoder.is_ready() {
            return Some(self.begun + HANDSHAKE_MAX);
        }
        let stands = self.out.is_some() || (self.ready.is_none() && self.is_reading());
        stands.then(|| self.moved + PEER_STALL_MAX)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.peers.leave(self.number);
    }
}

/// Waits until the place of a connection is wanted, or everybody is turned away.
async fn given_up(permit: &ConnectionPermit, leaving: &mut watch::Receiver<()>) -> PlaceEnd {
    tokio::select! {
        how = permit.given_up() => {
            debug!("closing a connection: the limit is reached, and it is idle or its address has \
                    the most connections");
            how
        }
        _ = leaving.changed() => PlaceEnd::Answered,
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
