//! The master's publish port: an XPUB for one- and two-frame messages. To
//! subscribers it is what a PUB is; the program can watch who subscribes to
//! what, and learns at once when the last subscriber of a topic is gone.
//!
//! Subscribers that can say so themselves that they live (`Pulse`) do; the
//! program hears it.
//!
//! Invariant: a publication is held once, however many subscribers wait for
//! it, and one who does not read keeps a bounded number of them alive.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use super::options::KeepAlive;
use super::publisher_peer::{Connection, Subscribers};
use crate::counters::Count;
use crate::zmtp::{Listening, encode};
use crate::{BindError, Counters, Endpoint, limits};

/// How a publisher is bound.
#[derive(Clone, Debug)]
pub struct PublisherOptions {
    /// Messages kept per slow subscriber (`pub_hwm`); 0 is no bound.
    pub peer_messages_max: usize,
    /// Bytes of the messages kept per slow subscriber; one may exceed it.
    pub peer_bytes_max: usize,
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

/// What hears of topics. It is called on the connections' tasks and must not
/// block, nor publish.
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

    pub(super) fn tell(&self, heard: Heard<'_>) {
        (self.0)(heard);
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
            peer_bytes_max: limits::PUBLISHER_PEER_BYTES_MAX,
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
/// queued was sent, when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Publisher {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    subscribers: Arc<Subscribers>,
    counters: Arc<Counters>,
    endpoints: Vec<Endpoint>,
    /// When it goes, the port closes.
    _open: watch::Sender<()>,
    task: JoinHandle<()>,
}

/// Why a publication was not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PublishError {
    /// It is not one or two frames.
    #[error("a publication has one or two frames, not {0}")]
    Frames(usize),
}

impl Publisher {
    /// Binds all `endpoints` (port 0 takes a free one, see `endpoints`) and
    /// starts the task that owns the socket.
    ///
    /// # Errors
    /// When one of them cannot be bound; none is then.
    pub fn bind(endpoints: &[Endpoint], options: PublisherOptions) -> Result<Self, BindError> {
        let listening = Listening::bind(
            endpoints,
            options.backlog,
            options.ipv6,
            options.keep_alive,
            options.ipc_mode,
        )?;
        let endpoints = listening.endpoints.clone();
        let counters = Arc::<Counters>::default();
        let linger = options.linger;
        let subscribers = Arc::new(Subscribers::new(options, Arc::clone(&counters)));
        let (open, closing) = watch::channel(());
        let task = tokio::spawn(serve(listening, Arc::clone(&subscribers), closing, linger));
        Ok(Self {
            shared: Arc::new(Shared {
                subscribers,
                counters,
                endpoints,
                _open: open,
                task,
            }),
        })
    }

    /// Queues a publication of one frame, or of a topic and a frame, for those
    /// who have subscribed to what its first frame begins with.
    ///
    /// # Errors
    /// When it has another number of frames.
    pub fn publish(&self, frames: &[Vec<u8>]) -> Result<(), PublishError> {
        let ([topic] | [topic, _]) = frames else {
            return Err(PublishError::Frames(frames.len()));
        };
        self.shared
            .subscribers
            .give(topic, &Arc::from(encode(frames)));
        self.shared.counters.add(Count::sent);
        Ok(())
    }

    /// Where it is bound, in the order that was asked for.
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.shared.endpoints
    }

    /// What the socket has done. A publication that a subscriber had no room
    /// for counts as dropped.
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.shared.counters)
    }

    /// Drops this handle; if it is the last one, waits until what is queued
    /// was sent and the socket closed.
    pub async fn close(self) {
        if let Some(shared) = Arc::into_inner(self.shared) {
            let Shared { _open, task, .. } = shared;
            drop(_open);
            let _ = task.await;
        }
    }
}

async fn serve(
    listening: Listening,
    subscribers: Arc<Subscribers>,
    mut closing: watch::Receiver<()>,
    linger: Duration,
) {
    let (mut guests, acceptors, _files) = listening.open();
    let mut tasks = JoinSet::new();
    loop {
        tokio::select! {
            guest = guests.recv() => match guest {
                Some(guest) => {
                    let connection = Connection::new(guest, &subscribers, closing.clone());
                    tasks.spawn(connection.run());
                }
                None => break,
            },
            Some(_) = tasks.join_next() => {}
            // There is nothing to hear but that the handles are gone.
            _ = closing.changed() => break,
        }
    }
    drop(acceptors);
    // What is not sent by then goes with the tasks.
    let _ = timeout(linger, async { while tasks.join_next().await.is_some() {} }).await;
}
