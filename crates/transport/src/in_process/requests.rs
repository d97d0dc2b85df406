//! Request port and requester over channels.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout_at};

use super::{LOOK_AGAIN, Table};
use crate::contract::{
    Incoming, Origin, Peer, ReplyError, RequestError, RequestPortOptions, RequesterOptions,
};
use crate::counters::Count;
use crate::{BindError, Counters, Endpoint};

static PORTS: Table<Arc<Shared>> = Table::new();

#[derive(Debug)]
struct Shared {
    options: RequestPortOptions,
    requests: mpsc::Sender<Incoming>,
    counters: Arc<Counters>,
    /// The senders that wait for a reply; `None` once the port is closed.
    waiting: Mutex<Option<Waiting>>,
}

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    replies: HashMap<u64, oneshot::Sender<Vec<u8>>>,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Option<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(crate) struct RequestPort {
    incoming: mpsc::Receiver<Incoming>,
    shared: Arc<Shared>,
    endpoints: Vec<Endpoint>,
}

impl RequestPort {
    pub(crate) fn bind(
        endpoints: &[Endpoint],
        options: RequestPortOptions,
    ) -> Result<Self, BindError> {
        let (requests, incoming) = mpsc::channel(options.requests_max.max(1));
        let shared = Arc::new(Shared {
            options,
            requests,
            counters: Arc::default(),
            waiting: Mutex::new(Some(Waiting::default())),
        });
        Ok(Self {
            endpoints: PORTS.bind(endpoints, &shared)?,
            incoming,
            shared,
        })
    }

    pub(crate) async fn recv(&mut self) -> Option<Incoming> {
        let incoming = self.incoming.recv().await?;
        self.shared.counters.add(Count::received);
        Some(incoming)
    }

    pub(crate) fn replies(&self) -> Replies {
        Replies(Arc::clone(&self.shared))
    }

    pub(crate) fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.shared.counters)
    }

    pub(crate) fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    pub(crate) fn turn_away(&self) {
        PORTS.remove(&self.endpoints);
    }

    pub(crate) async fn close(self) {
        drop(self);
    }
}

impl Drop for RequestPort {
    fn drop(&mut self) {
        PORTS.remove(&self.endpoints);
        // The senders go: whoever waits learns that the connection is lost.
        self.shared.waiting().take();
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Replies(Arc<Shared>);

impl Replies {
    pub(crate) fn send(&self, peer: Peer, payload: Vec<u8>) -> Result<(), ReplyError> {
        let mut waiting = self.0.waiting();
        let waiting = waiting.as_mut().ok_or(ReplyError)?;
        if let Some(reply) = waiting.replies.remove(&peer.0)
            && reply.send(payload).is_ok()
        {
            self.0.counters.add(Count::sent);
        }
        Ok(())
    }
}

impl Replies {
    pub(crate) fn connections(&self) -> usize {
        let waiting = self.0.waiting();
        waiting.as_ref().map_or(0, |of| of.replies.len())
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Requester {
    endpoint: Endpoint,
    options: RequesterOptions,
    counters: Arc<Counters>,
}

impl Requester {
    pub(crate) fn connect(endpoint: Endpoint, options: RequesterOptions) -> Self {
        Self {
            endpoint,
            options,
            counters: Arc::default(),
        }
    }

    pub(crate) async fn request(
        &self,
        payload: Vec<u8>,
        timeout: Duration,
    ) -> Result<Vec<u8>, RequestError> {
        let (bytes, max) = (payload.len(), self.options.message_bytes_max);
        if bytes > max {
            return Err(RequestError::TooLarge { bytes, max });
        }
        let endpoint = self.endpoint.clone();
        let deadline = Instant::now() + timeout;
        let Ok(port) = timeout_at(deadline, self.port()).await else {
            let waited = timeout;
            return Err(RequestError::NotConnected { endpoint, waited });
        };
        match timeout_at(deadline, ask(&port, payload)).await {
            Ok(Some(reply)) => Ok(reply),
            Ok(None) => Err(RequestError::Disconnected { endpoint }),
            Err(_) => {
                let waited = timeout;
                Err(RequestError::NoAnswer { endpoint, waited })
            }
        }
    }

    async fn port(&self) -> Arc<Shared> {
        loop {
            if let Some(port) = PORTS.find(&self.endpoint) {
                return port;
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(crate) fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }
}

/// Hands a request to a port and waits; `None` if the connection is lost.
async fn ask(port: &Shared, payload: Vec<u8>) -> Option<Vec<u8>> {
    if payload.len() > port.options.message_bytes_max {
        return None;
    }
    let (reply, wait) = oneshot::channel();
    let peer = {
        let mut waiting = port.waiting();
        let waiting = waiting.as_mut()?;
        waiting.next += 1;
        waiting.replies.insert(waiting.next, reply);
        Peer(waiting.next)
    };
    port.requests
        .send(Incoming {
            peer,
            from: Origin::Local,
            payload,
        })
        .await
        .ok()?;
    wait.await.ok()
}
