//! The master's publish port: an XPUB for one- and two-frame messages. To
//! subscribers it is what a PUB is; the program can watch who subscribes to
//! what, and learns at once when the last subscriber of a topic is gone.
//!
//! ZeroMQ heartbeats stay off here: with them, a slow subscriber can abort the
//! whole process (libzmq 4767). Subscribers that can say so themselves that
//! they live (`Pulse`); the program hears it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tmq::Message;
use tmq::dealer::Dealer;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tracing::error;

use super::bind::bind_raw;
use super::context::context;
use super::options::{Common, KeepAlive};
use super::pump::{self, Frames};
use crate::counters::Count;
use crate::socket_file::SocketFile;
use crate::{BindError, Counters, Endpoint, SocketError, limits};

/// How a publisher is bound.
#[derive(Clone, Debug)]
pub struct PublisherOptions {
    /// Messages kept per slow subscriber (`pub_hwm`).
    pub peer_messages_max: i32,
    /// TCP connections that may wait to be accepted (`zmq_backlog`).
    pub backlog: i32,
    /// Whether to serve IPv6 as well.
    pub ipv6: bool,
    /// TCP keep-alive.
    pub keep_alive: KeepAlive,
    /// How long unsent publications keep the closed socket alive.
    pub linger: Duration,
    /// Mode of the socket files of `ipc` endpoints.
    pub ipc_mode: u32,
    /// Is told when a topic gets its first subscriber and loses its last, and
    /// what subscribers say.
    pub watch: Option<TopicWatch>,
}

/// What hears of topics. It is called on the socket's own task and must not
/// block.
#[derive(Clone)]
pub struct TopicWatch(Arc<Hears>);

type Hears = dyn Fn(Heard<'_>) + Send + Sync;

/// What subscribers tell. Anybody can say anything: it proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard<'a> {
    /// A topic has its first subscriber.
    Begun(&'a [u8]),
    /// A topic has lost its last one.
    Ended(&'a [u8]),
    /// A message of a subscriber's own.
    Said(&'a [u8]),
}

impl TopicWatch {
    /// Calls `heard` with everything that subscribers tell.
    pub fn new(heard: impl Fn(Heard<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(heard))
    }
}

impl fmt::Debug for TopicWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TopicWatch")
    }
}

impl Default for PublisherOptions {
    fn default() -> Self {
        Self {
            peer_messages_max: limits::PUBLISHER_PEER_MESSAGES_MAX,
            backlog: 1000,
            ipv6: false,
            keep_alive: KeepAlive::PEER,
            linger: limits::LINGER,
            ipc_mode: 0o600,
            watch: None,
        }
    }
}

/// A handle to publish. Clones share the socket; it closes, after what is
/// queued was handed over, when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Publisher {
    publications: mpsc::Sender<Vec<Vec<u8>>>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    counters: Arc<Counters>,
    endpoints: Vec<Endpoint>,
    task: JoinHandle<()>,
}

/// Why a publication was not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PublishError {
    /// It is not one or two frames.
    #[error("a publication has one or two frames, not {0}")]
    Frames(usize),
    /// The publisher's task is gone.
    #[error("the publish port is closed")]
    Closed,
}

impl Publisher {
    /// Binds all `endpoints` (port 0 takes a free one, see `endpoints`) and
    /// starts the task that owns the socket.
    ///
    /// # Errors
    /// When one of them cannot be bound; none is then.
    pub fn bind(endpoints: &[Endpoint], options: PublisherOptions) -> Result<Self, BindError> {
        let failed = |error: zmq::Error| match endpoints.first() {
            Some(endpoint) => BindError::new(endpoint, error.into()),
            None => BindError::NoEndpoint,
        };
        let socket = context().socket(zmq::XPUB).map_err(failed)?;
        let common = Common {
            ipv6: options.ipv6 || endpoints.iter().any(Endpoint::is_ipv6),
            keep_alive: options.keep_alive,
            linger: options.linger,
            // Subscribers send their topics only.
            message_bytes_max: limits::MESSAGE_BYTES_MAX,
        };
        common
            .apply(&socket)
            .and_then(|()| socket.set_sndhwm(options.peer_messages_max))
            .and_then(|()| socket.set_rcvhwm(options.peer_messages_max))
            .and_then(|()| socket.set_backlog(options.backlog))
            .map_err(failed)?;
        let bound = bind_raw(socket, endpoints, options.ipc_mode)?;
        let (publications, waiting) = mpsc::channel(limits::PUBLICATIONS_MAX);
        let counters = Arc::new(Counters::default());
        let owner = Owner {
            socket: bound.socket,
            _files: bound.files,
            publications: waiting,
            watch: options.watch,
            counters: Arc::clone(&counters),
        };
        Ok(Self {
            publications,
            shared: Arc::new(Shared {
                counters,
                endpoints: bound.endpoints,
                task: tokio::spawn(owner.run()),
            }),
        })
    }

    /// Queues a publication of one frame, or of a topic and a frame.
    ///
    /// # Errors
    /// When it has another number of frames, or the publisher is gone.
    pub async fn publish(&self, frames: Vec<Vec<u8>>) -> Result<(), PublishError> {
        check(&frames)?;
        self.publications
            .send(frames)
            .await
            .map_err(|_| PublishError::Closed)
    }

    /// Queues a publication from a thread outside the runtime.
    ///
    /// # Errors
    /// As `publish`.
    ///
    /// # Panics
    /// When called from an asynchronous task.
    pub fn blocking_publish(&self, frames: Vec<Vec<u8>>) -> Result<(), PublishError> {
        check(&frames)?;
        self.publications
            .blocking_send(frames)
            .map_err(|_| PublishError::Closed)
    }

    /// The bound endpoints, with the ports that were taken.
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.shared.endpoints
    }

    /// What happened so far.
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.shared.counters)
    }

    /// Hands over what is queued and closes, if this is the last handle.
    pub async fn close(self) {
        let Self {
            publications,
            shared,
        } = self;
        drop(publications);
        if let Some(shared) = Arc::into_inner(shared) {
            let _ = shared.task.await;
        }
    }
}

fn check(frames: &[Vec<u8>]) -> Result<(), PublishError> {
    match frames.len() {
        1 | 2 => Ok(()),
        other => Err(PublishError::Frames(other)),
    }
}

struct Owner {
    socket: Dealer,
    _files: Vec<SocketFile>,
    publications: mpsc::Receiver<Vec<Vec<u8>>>,
    watch: Option<TopicWatch>,
    counters: Arc<Counters>,
}

impl Owner {
    async fn run(mut self) {
        if let Err(error) = self.serve().await {
            error!(%error, "the publish port failed");
        }
    }

    async fn serve(&mut self) -> Result<(), SocketError> {
        let mut safety = pump::safety_poll();
        loop {
            tokio::select! {
                frames = self.publications.recv() => {
                    let Some(frames) = frames else { return Ok(()) };
                    // Takes in the subscriptions that have arrived: the socket
                    // reads them only when it is used.
                    self.hear_waiting()?;
                    self.send(frames)?;
                    for _ in 1..limits::BATCH_MESSAGES_MAX {
                        let Ok(frames) = self.publications.try_recv() else { break };
                        self.send(frames)?;
                    }
                }
                heard = pump::receive(&mut self.socket) => {
                    self.hear(&heard?);
                    self.hear_waiting()?;
                }
                _ = safety.tick() => self.hear_waiting()?,
            }
        }
    }

    /// Takes what has been said about topics. What does not fit now is taken
    /// with the next look: publications must get their turn.
    fn hear_waiting(&self) -> Result<(), SocketError> {
        pump::attend(&self.socket)?;
        for _ in 0..limits::TOPICS_HEARD_MAX {
            match pump::try_receive(&self.socket)? {
                Some(frames) => self.hear(&frames),
                None => break,
            }
        }
        Ok(())
    }

    fn hear(&self, frames: &Frames) {
        let (Some(watch), [frame]) = (&self.watch, frames.as_slice()) else {
            return;
        };
        let heard = match frame.split_first() {
            Some((1, topic)) => Heard::Begun(topic),
            Some((0, topic)) => Heard::Ended(topic),
            _ => Heard::Said(frame),
        };
        (watch.0)(heard);
    }

    fn send(&mut self, frames: Vec<Vec<u8>>) -> Result<(), SocketError> {
        let frames = frames.into_iter().map(Message::from).collect();
        let count = if pump::send(&self.socket, frames)? {
            Count::sent
        } else {
            Count::dropped
        };
        self.counters.add(count);
        Ok(())
    }
}
