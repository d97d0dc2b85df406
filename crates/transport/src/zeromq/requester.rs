//! Requests to one master.
//!
//! A requester has lanes: connections with one request at a time, since a reply
//! does not say which request it answers. The first lane stays connected, more are
//! opened while it is busy. Invariant: when a request is given up its connection is
//! closed, so no reply can ever be taken for the answer to a later request.

use std::collections::VecDeque;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::requester_lane::RequesterLane;
use crate::contract::{RequestError, RequesterOptions};
use crate::{Counters, Endpoint, limits};

/// A handle to ask one master. Clones share the connections; they close when
/// the last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Requester(Arc<Owner>);

#[derive(Debug)]
struct Owner(Arc<Shared>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Requester {
    /// Makes a requester; it connects with the first request.
    pub(crate) fn connect(endpoint: Endpoint, options: RequesterOptions) -> Self {
        Self(Arc::new(Owner(Arc::new(Shared {
            endpoint,
            options,
            counters: Arc::new(Counters::default()),
            state: Mutex::new(State::default()),
        }))))
    }

    /// Sends `payload` and waits for the reply, until there was no progress for
    /// `timeout`, which includes waiting for a connection. Dropping the future cancels
    /// the request.
    ///
    /// # Errors
    /// See `RequestError`; the next request is not affected by any of them.
    pub(crate) async fn request(
        &self,
        payload: Vec<u8>,
        timeout: Duration,
    ) -> Result<Answer, RequestError> {
        let shared = &self.0.0;
        let max = shared.options.message_bytes_max;
        if payload.len() > max {
            return Err(RequestError::TooLarge {
                bytes: payload.len(),
                max,
            });
        }
        let (reply, wait) = oneshot::channel();
        shared.submit(Request {
            payload,
            since: Instant::now(),
            timeout,
            reply,
        })?;
        wait.await.unwrap_or(Err(RequestError::Closed))
    }

    /// Whom this asks.
    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.0.0.endpoint
    }

    /// What happened so far.
    pub(crate) fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.0.0.counters)
    }
}

/// A reply.
pub(crate) struct Answer(Vec<u8>);

impl Answer {
    pub(super) fn new(message: Vec<u8>) -> Self {
        Self(message)
    }

    /// The reply by itself.
    pub(crate) fn into_vec(self) -> Vec<u8> {
        self.0
    }
}

impl Deref for Answer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Answer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

/// A request on its way through a lane.
pub(super) struct Request {
    pub(super) payload: Vec<u8>,
    pub(super) since: Instant,
    pub(super) timeout: Duration,
    pub(super) reply: oneshot::Sender<Result<Answer, RequestError>>,
}

/// The state shared by the handles and the lanes.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) endpoint: Endpoint,
    pub(super) options: RequesterOptions,
    pub(super) counters: Arc<Counters>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Requests that wait because all lanes are busy.
    waiting: VecDeque<Request>,
    /// Idle lanes with their numbers, the one used last at the end.
    idle: Vec<(u64, oneshot::Sender<Request>)>,
    lanes: usize,
    next_lane: u64,
    closed: bool,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("waiting", &self.waiting.len())
            .field("idle", &self.idle.len())
            .field("lanes", &self.lanes)
            .finish_non_exhaustive()
    }
}

/// The next action of a lane.
pub(super) enum Turn {
    /// Serve this request.
    Serve(Request),
    /// Wait for a request.
    Idle(oneshot::Receiver<Request>),
    /// End.
    Close,
}

impl Shared {
    /// Passes a request to an idle lane, a new lane, or the queue.
    fn submit(self: &Arc<Self>, request: Request) -> Result<(), RequestError> {
        let mut request = request;
        let mut state = self.lock();
        // The lane used last is the one whose connection is surely alive.
        while let Some((_, lane)) = state.idle.pop() {
            match lane.send(request) {
                Ok(()) => return Ok(()),
                Err(back) => request = back,
            }
        }
        if state.lanes < self.options.connections_max.max(1) {
            state.lanes += 1;
            let number = state.next_lane;
            state.next_lane += 1;
            drop(state);
            tokio::spawn(RequesterLane::new(Arc::clone(self), number).run(request));
            Ok(())
        } else if state.waiting.len() < limits::REQUESTS_WAITING_MAX {
            state.waiting.push_back(request);
            Ok(())
        } else {
            Err(RequestError::Busy {
                endpoint: self.endpoint.clone(),
            })
        }
    }

    /// What lane `number` does after a request.
    pub(super) fn next_turn(&self, number: u64) -> Turn {
        let mut state = self.lock();
        if state.closed {
            return Turn::Close;
        }
        // A caller that has given up needs no lane.
        while let Some(request) = state.waiting.pop_front() {
            if !request.reply.is_closed() {
                return Turn::Serve(request);
            }
        }
        let (lane, wait) = oneshot::channel();
        state.idle.push((number, lane));
        Turn::Idle(wait)
    }

    /// Lets lane `number` end because it was idle, unless it is the only one or has just
    /// got a request.
    pub(super) fn may_retire(&self, number: u64) -> bool {
        let mut state = self.lock();
        let Some(index) = state.idle.iter().position(|(idle, _)| *idle == number) else {
            return false;
        };
        let retires = state.lanes > 1;
        if retires {
            state.idle.remove(index);
        }
        retires
    }

    /// Counts a lane out.
    pub(super) fn lane_ended(&self) {
        self.lock().lanes -= 1;
    }

    fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.idle.clear();
        state.waiting.clear();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
