//! The master's request port: a ROUTER that takes `[id, empty, payload]` from REQ
//! sockets and answers them in any order.
//!
//! Invariant: what strangers make it keep is bounded in number and in bytes, over
//! all connections: their requests, and answers that they do not read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Notify, mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use super::router_peer;
use super::router_replies::Peers;
use crate::contract::{Incoming, Peer, ReplyError, RequestPortOptions};
use crate::limits::OWN_REQUESTS_MAX;
use crate::zmtp::{ConnectionPermit, Listening, Port, Unfinished};
use crate::{BindError, Counters, Endpoint};

/// A bound request port.
#[derive(Debug)]
pub(crate) struct Router {
    incoming: mpsc::Receiver<Incoming>,
    /// Requests of programs of this machine, which do not wait behind those of a fleet.
    own: mpsc::Receiver<Incoming>,
    /// The last one was such a one: it is the turn of the others.
    was_own: bool,
    replies: Replies,
    shared: Arc<Shared>,
    endpoints: Vec<Endpoint>,
    task: JoinHandle<()>,
}

/// The state shared by the connections of a router.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) options: RequestPortOptions,
    pub(super) requests: mpsc::Sender<Incoming>,
    own_requests: mpsc::Sender<Incoming>,
    pub(super) budget: Budget,
    pub(super) unfinished: Arc<Unfinished>,
    pub(super) counters: Arc<Counters>,
    pub(super) peers: Arc<Peers>,
    /// Changes when everybody is turned away.
    pub(super) leaving: watch::Sender<()>,
}

impl Shared {
    /// Where the requests of a connection go.
    pub(super) fn requests_of(&self, permit: &ConnectionPermit) -> &mpsc::Sender<Incoming> {
        match permit.is_own() {
            true => &self.own_requests,
            false => &self.requests,
        }
    }
}

impl Router {
    /// Binds to all `endpoints` and starts taking requests.
    ///
    /// # Errors
    /// When one of them cannot be bound.
    pub(crate) fn bind(
        endpoints: &[Endpoint],
        options: RequestPortOptions,
    ) -> Result<Self, BindError> {
        let listening = Listening::bind(
            endpoints,
            options.backlog,
            options.ipv6,
            options.keep_alive,
            options.ipc_mode,
        )?;
        let endpoints = listening.endpoints.clone();
        let (requests, incoming) = mpsc::channel(options.requests_max.max(1));
        let (own_requests, own) = mpsc::channel(options.requests_max.clamp(1, OWN_REQUESTS_MAX));
        let shared = Arc::new(Shared {
            requests,
            own_requests,
            budget: Budget::new(options.request_bytes_max),
            unfinished: Arc::new(Unfinished::new(options.unfinished_bytes_max)),
            counters: Arc::default(),
            peers: Arc::new(Peers::new(&options)),
            leaving: watch::Sender::new(()),
            options,
        });
        Ok(Self {
            incoming,
            own,
            was_own: false,
            replies: Replies(Arc::clone(&shared.peers), Arc::clone(&shared.counters)),
            endpoints,
            task: tokio::spawn(serve(listening, Arc::clone(&shared))),
            shared,
        })
    }

    /// The next request; `None` once the port has failed.
    pub(crate) async fn recv(&mut self) -> Option<Incoming> {
        let incoming = self.next().await?;
        self.shared.budget.give_back(incoming.payload.len());
        Some(incoming)
    }

    /// Takes turns where both wait. Nothing is lost when the future is dropped.
    async fn next(&mut self) -> Option<Incoming> {
        if self.was_own
            && let Ok(incoming) = self.incoming.try_recv()
        {
            self.was_own = false;
            return Some(incoming);
        }
        tokio::select! {
            biased;
            incoming = self.own.recv() => {
                self.was_own = true;
                incoming
            }
            incoming = self.incoming.recv() => {
                self.was_own = false;
                incoming
            }
        }
    }

    /// Where replies go; may be cloned and sent elsewhere.
    pub(crate) fn replies(&self) -> Replies {
        self.replies.clone()
    }

    /// The counters of the socket.
    pub(crate) fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.shared.counters)
    }

    /// Where it is bound, as asked for, with the ports that were taken.
    pub(crate) fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// Accepts no more connections, and ends those without a pending request.
    pub(crate) fn turn_away(&self) {
        self.shared.leaving.send_replace(());
    }

    /// Stops taking requests and sends the replies that are queued.
    pub(crate) async fn close(self) {
        let Self {
            incoming,
            own,
            task,
            ..
        } = self;
        drop((incoming, own));
        let _ = task.await;
    }
}

/// The way of replies to a router.
#[derive(Clone, Debug)]
pub(crate) struct Replies(Arc<Peers>, Arc<Counters>);

impl Replies {
    /// Queues a reply. A reply to a peer that has disconnected, or that does not read, is
    /// dropped.
    ///
    /// # Errors
    /// When the port is closed.
    pub(crate) fn send(&self, peer: Peer, payload: Vec<u8>) -> Result<(), ReplyError> {
        self.0.send(peer, payload, &self.1)
    }

    /// How many connections there are.
    pub(crate) fn connections(&self) -> usize {
        self.0.count()
    }
}

/// Bytes of requests that wait for the program.
#[derive(Debug)]
pub(super) struct Budget {
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

    pub(super) fn take(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::AcqRel);
    }

    fn give_back(&self, bytes: usize) {
        let before = self.used.fetch_sub(bytes, Ordering::AcqRel);
        if before >= self.max {
            self.freed.notify_waiters();
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.used.load(Ordering::Acquire) < self.max
    }

    pub(super) async fn room(&self) {
        loop {
            // Before the look: what is freed after it wakes this one.
            let freed = self.freed.notified();
            if self.has_room() {
                return;
            }
            freed.await;
        }
    }
}

async fn serve(listening: Listening, shared: Arc<Shared>) {
    let (mut connections, mut acceptors, _files) = listening.accept(Port::Requests);
    let (stop, stopping) = watch::channel(());
    let mut leaving = shared.leaving.subscribe();
    let mut tasks = JoinSet::new();
    let mut is_open = true;
    loop {
        tokio::select! {
            accepted = connections.recv(), if is_open => match accepted {
                Some(accepted) => {
                    let (stopping, leaving) = (stopping.clone(), leaving.clone());
                    let mut peer =
                        router_peer::Connection::new(accepted, &shared, stopping, leaving);
                    tasks.spawn(async move { peer.run().await });
                }
                None => break,
            },
            Some(_) = tasks.join_next() => {}
            _ = leaving.changed(), if is_open => {
                is_open = false;
                acceptors.shutdown().await;
                // Who was accepted and has said nothing yet goes elsewhere.
                while connections.try_recv().is_ok() {}
            }
            () = shared.requests.closed() => break,
        }
    }
    drop(acceptors);
    shared.peers.close();
    drop((stop, stopping));
    // What is not sent by then goes with the tasks.
    let _ = timeout(shared.options.linger, async {
        while tasks.join_next().await.is_some() {}
    })
    .await;
}
