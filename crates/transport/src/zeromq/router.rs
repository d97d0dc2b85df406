//! The master's request port: a ROUTER that takes `[id, empty, payload]` from
//! REQ sockets and answers them in any order.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use thiserror::Error;
use tmq::Message;
use tmq::router::{self, router};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tracing::{debug, error};

use super::bind::bind;
use super::context::context;
use super::options::{Common, KeepAlive};
use super::pump::{self, Frames};
use crate::counters::Count;
use crate::limits;
use crate::socket_file::SocketFile;
use crate::{BindError, Counters, Endpoint, SocketError};

/// How a router is bound.
#[derive(Clone, Debug)]
pub struct RouterOptions {
    /// Requests that may wait for the program.
    pub requests_max: usize,
    /// Bytes of the requests that may wait for the program.
    pub request_bytes_max: usize,
    /// Requests the socket keeps per peer; 0 for any number.
    pub peer_requests_max: i32,
    /// Replies the socket keeps per peer that does not read; 0 for any number.
    pub peer_replies_max: i32,
    /// Largest request; who sends a larger one is disconnected.
    pub message_bytes_max: usize,
    /// TCP connections that may wait to be accepted (`zmq_backlog`).
    pub backlog: i32,
    /// Whether to serve IPv6 as well.
    pub ipv6: bool,
    /// TCP keep-alive.
    pub keep_alive: KeepAlive,
    /// How long unsent replies keep the closed socket alive.
    pub linger: Duration,
    /// Mode of the socket files of `ipc` endpoints.
    pub ipc_mode: u32,
}

impl Default for RouterOptions {
    fn default() -> Self {
        Self {
            requests_max: limits::ROUTER_REQUESTS_MAX,
            request_bytes_max: limits::ROUTER_REQUEST_BYTES_MAX,
            peer_requests_max: limits::ROUTER_PEER_REQUESTS_MAX,
            peer_replies_max: limits::ROUTER_PEER_REPLIES_MAX,
            message_bytes_max: limits::MESSAGE_BYTES_MAX,
            backlog: 1000,
            ipv6: false,
            keep_alive: KeepAlive::SERVER,
            linger: limits::LINGER,
            ipc_mode: 0o600,
        }
    }
}

/// Names a connected peer, for the answer to it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Peer(Box<[u8]>);

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Peer({})", self.0.escape_ascii())
    }
}

/// A request.
#[derive(Debug)]
pub struct Incoming {
    /// Who waits for the answer.
    pub peer: Peer,
    /// What it sent.
    pub payload: Vec<u8>,
}

/// A bound request port. Dropping it sends the replies that are already
/// queued and closes it.
#[derive(Debug)]
pub struct Router {
    incoming: mpsc::Receiver<Incoming>,
    replies: Replies,
    budget: Arc<Budget>,
    counters: Arc<Counters>,
    endpoints: Vec<Endpoint>,
    task: JoinHandle<()>,
}

impl Router {
    /// Binds all `endpoints` (port 0 takes a free one, see `endpoints`) and
    /// starts the task that owns the socket.
    ///
    /// # Errors
    /// When one of them cannot be bound; none is then.
    pub fn bind(endpoints: &[Endpoint], options: RouterOptions) -> Result<Self, BindError> {
        let builder = Common {
            ipv6: options.ipv6 || endpoints.iter().any(Endpoint::is_ipv6),
            keep_alive: options.keep_alive,
            linger: options.linger,
            message_bytes_max: options.message_bytes_max,
        }
        .set(router(&context()))
        .set_sndhwm(options.peer_replies_max)
        .set_rcvhwm(options.peer_requests_max)
        .set_backlog(options.backlog);
        let bound = bind(builder, endpoints, options.ipc_mode)?;
        // A reconnecting peer with a name of its own takes over from its dead
        // connection instead of being refused.
        bound
            .socket
            .set_router_handover(true)
            .map_err(|error| BindError::new(&bound.endpoints[0], error))?;
        let (requests, incoming) = mpsc::channel(options.requests_max.max(1));
        let (replies, replies_waiting) = mpsc::channel(limits::ROUTER_REPLIES_MAX);
        let budget = Arc::new(Budget::new(options.request_bytes_max));
        let counters = Arc::new(Counters::default());
        let owner = Owner {
            socket: bound.socket,
            _files: bound.files,
            requests,
            replies: replies_waiting,
            budget: Arc::clone(&budget),
            counters: Arc::clone(&counters),
        };
        Ok(Self {
            incoming,
            replies: Replies(replies),
            budget,
            counters,
            endpoints: bound.endpoints,
            task: tokio::spawn(owner.run()),
        })
    }

    /// The next request; `None` only when the socket has failed.
    pub async fn recv(&mut self) -> Option<Incoming> {
        let incoming = self.incoming.recv().await?;
        self.budget.give_back(incoming.payload.len());
        Some(incoming)
    }

    /// Where answers go; may be cloned and kept anywhere.
    pub fn replies(&self) -> Replies {
        self.replies.clone()
    }

    /// What happened so far.
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }

    /// The bound endpoints, with the ports that were taken.
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// Takes no more requests, sends the replies that are queued, and closes.
    pub async fn close(self) {
        let Self { incoming, task, .. } = self;
        drop(incoming);
        let _ = task.await;
    }
}

/// Where the answers to a router's requests go.
#[derive(Clone, Debug)]
pub struct Replies(mpsc::Sender<(Peer, Vec<u8>)>);

/// A reply could not be queued: the router is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the request port is closed")]
pub struct ReplyError;

impl Replies {
    /// Queues an answer. A peer that has gone away does not get it, which
    /// nobody can know; so that is no error.
    ///
    /// # Errors
    /// When the router is closed.
    pub async fn send(&self, peer: Peer, payload: Vec<u8>) -> Result<(), ReplyError> {
        self.0.send((peer, payload)).await.map_err(|_| ReplyError)
    }

    /// Queues an answer from a thread outside the runtime, waiting for room.
    ///
    /// # Errors
    /// When the router is closed.
    ///
    /// # Panics
    /// When called from an asynchronous task.
    pub fn blocking_send(&self, peer: Peer, payload: Vec<u8>) -> Result<(), ReplyError> {
        self.0
            .blocking_send((peer, payload))
            .map_err(|_| ReplyError)
    }
}

/// The bytes of the requests on their way to the program.
#[derive(Debug)]
struct Budget {
    used: AtomicUsize,
    max: usize,
    freed: Notify,
}

impl Budget {
    fn new(max: usize) -> Self {
        Self {
            used: AtomicUsize::new(0),
            max,
            freed: Notify::new(),
        }
    }

    fn take(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::AcqRel);
    }

    fn give_back(&self, bytes: usize) {
        let before = self.used.fetch_sub(bytes, Ordering::AcqRel);
        if before >= self.max {
            self.freed.notify_one();
        }
    }

    fn has_room(&self) -> bool {
        self.used.load(Ordering::Acquire) < self.max
    }

    /// Waits for room. Only the owner task waits, so one permit suffices.
    async fn room(&self) {
        while !self.has_room() {
            self.freed.notified().await;
        }
    }
}

struct Owner {
    socket: router::Router,
    _files: Vec<SocketFile>,
    requests: mpsc::Sender<Incoming>,
    replies: mpsc::Receiver<(Peer, Vec<u8>)>,
    budget: Arc<Budget>,
    counters: Arc<Counters>,
}

impl Owner {
    async fn run(mut self) {
        if let Err(error) = self.serve().await {
            error!(%error, "the request port failed");
        }
        self.replies.close();
        while let Ok(reply) = self.replies.try_recv() {
            if self.send(reply).is_err() {
                break;
            }
        }
    }

    /// Runs until the program has dropped its end.
    async fn serve(&mut self) -> Result<(), SocketError> {
        let mut safety = pump::safety_poll();
        loop {
            tokio::select! {
                reply = self.replies.recv() => match reply {
                    Some(reply) => self.send_batch(reply)?,
                    None => return Ok(()),
                },
                frames = next(&self.requests, &self.budget, &mut self.socket) => match frames? {
                    Some(frames) => self.take_batch(frames)?,
                    None => return Ok(()),
                },
                () = self.requests.closed() => return Ok(()),
                _ = safety.tick() => {}
            }
        }
    }

    fn send_batch(&mut self, first: (Peer, Vec<u8>)) -> Result<(), SocketError> {
        self.send(first)?;
        for _ in 1..limits::BATCH_MESSAGES_MAX {
            match self.replies.try_recv() {
                Ok(reply) => self.send(reply)?,
                Err(_) => break,
            }
        }
        Ok(())
    }

    fn send(&mut self, (peer, payload): (Peer, Vec<u8>)) -> Result<(), SocketError> {
        let frames = vec![
            Message::from(peer.0),
            Message::new(),
            Message::from(payload),
        ];
        let count = if pump::send(&self.socket, frames)? {
            Count::sent
        } else {
            Count::dropped
        };
        self.counters.add(count);
        Ok(())
    }

    /// Takes `first`, for which `next` has seen room, and what else is here.
    fn take_batch(&mut self, first: Frames) -> Result<(), SocketError> {
        let mut frames = Some(first);
        let mut left = limits::BATCH_MESSAGES_MAX;
        while let Some(taken) = frames {
            if let Some(incoming) = self.check(&taken) {
                self.budget.take(incoming.payload.len());
                if self.requests.try_send(incoming).is_err() {
                    // The program is gone, which `serve` sees next.
                    return Ok(());
                }
            }
            left -= 1;
            let room = self.requests.capacity() > 0 && self.budget.has_room();
            frames = if left > 0 && room {
                pump::try_receive(&self.socket)?
            } else {
                None
            };
        }
        Ok(())
    }

    fn check(&self, frames: &Frames) -> Option<Incoming> {
        match &frames[..] {
            [peer, delimiter, payload] if delimiter.is_empty() => {
                self.counters.add(Count::received);
                Some(Incoming {
                    peer: Peer(Box::from(&**peer)),
                    payload: payload.to_vec(),
                })
            }
            _ => {
                debug!(frames = frames.len(), "dropped a request of a wrong shape");
                self.counters.add(Count::malformed);
                None
            }
        }
    }
}

/// The next message, once the program has room for it.
async fn next(
    requests: &mpsc::Sender<Incoming>,
    budget: &Budget,
    socket: &mut router::Router,
) -> Result<Option<Frames>, SocketError> {
    budget.room().await;
    // Only the owner sends, so the room stays there after the permit is gone.
    if requests.reserve().await.is_err() {
        return Ok(None);
    }
    pump::receive(socket).await.map(Some)
}
