//! One connection of a requester, with one request on the way.

use std::sync::Arc;

use tmq::Message;
use tmq::dealer::Dealer;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{debug, trace};

use super::context::context;
use super::options::{Common, connect_address, millis};
use super::pump::{self, Wake};
use super::requester::{Request, RequestError, Shared, Turn};
use crate::counters::Count;
use crate::{SocketError, limits};

/// Owns a DEALER that speaks like a REQ.
pub(super) struct Lane {
    shared: Arc<Shared>,
    number: u64,
    socket: Option<Dealer>,
}

/// Why an exchange ended without a reply.
enum Broken {
    Resolve(std::io::Error),
    Socket(SocketError),
    Disconnected,
}

impl From<SocketError> for Broken {
    fn from(error: SocketError) -> Self {
        Self::Socket(error)
    }
}

impl Lane {
    pub(super) fn new(shared: Arc<Shared>, number: u64) -> Self {
        Self {
            shared,
            number,
            socket: None,
        }
    }

    pub(super) async fn run(mut self, first: Request) {
        let mut turn = Turn::Serve(first);
        loop {
            turn = match turn {
                Turn::Serve(request) => {
                    self.serve(request).await;
                    self.shared.next_turn(self.number)
                }
                Turn::Idle(wait) => self.idle(wait).await,
                Turn::Close => break,
            };
        }
    }

    /// Waits for a request; an idle lane above the first ends.
    async fn idle(&mut self, mut wait: oneshot::Receiver<Request>) -> Turn {
        loop {
            match timeout(limits::REQUEST_LANE_IDLE_MAX, &mut wait).await {
                Ok(Ok(request)) => return Turn::Serve(request),
                Ok(Err(_)) => return Turn::Close,
                Err(_) if self.shared.may_retire(self.number) => return Turn::Close,
                Err(_) => {}
            }
        }
    }

    async fn serve(&mut self, request: Request) {
        let Request {
            payload,
            since,
            deadline,
            mut reply,
        } = request;
        let mut connected = false;
        let outcome = tokio::select! {
            biased;
            outcome = self.exchange(payload, &mut connected) => Some(outcome),
            () = reply.closed() => None,
            () = expired(deadline) => {
                let endpoint = self.shared.endpoint.clone();
                let waited = since.elapsed();
                self.hang_up();
                let _ = reply.send(Err(if connected {
                    RequestError::NoAnswer { endpoint, waited }
                } else {
                    RequestError::NotConnected { endpoint, waited }
                }));
                return;
            }
        };
        let endpoint = || self.shared.endpoint.clone();
        let result = match outcome {
            Some(Ok(payload)) => {
                let _ = reply.send(Ok(payload));
                return;
            }
            None => {
                self.hang_up();
                return;
            }
            Some(Err(Broken::Disconnected)) => RequestError::Disconnected {
                endpoint: endpoint(),
            },
            Some(Err(Broken::Resolve(error))) => RequestError::Unresolved {
                endpoint: endpoint(),
                why: error.to_string(),
            },
            Some(Err(Broken::Socket(source))) => RequestError::Socket {
                endpoint: endpoint(),
                source,
            },
        };
        self.hang_up();
        let _ = reply.send(Err(result));
    }

    /// Closes the connection: what may still come over it has no reader.
    fn hang_up(&mut self) {
        if self.socket.take().is_some() {
            self.shared.counters.add(Count::closed);
        }
    }

    async fn exchange(
        &mut self,
        payload: Vec<u8>,
        connected: &mut bool,
    ) -> Result<Vec<u8>, Broken> {
        // A connection that is down would be tried again only after a pause.
        let alive = match &self.socket {
            Some(socket) => pump::is_writable(socket)?,
            None => false,
        };
        if !alive {
            self.hang_up();
            self.open().await?;
        }
        let Some(socket) = &mut self.socket else {
            return Err(Broken::Disconnected);
        };
        let mut safety = pump::safety_poll();
        while !pump::is_writable(socket)? {
            tokio::select! {
                wake = pump::wait(socket, |events| events.contains(zmq::POLLOUT)) => {
                    if let Wake::Message(_) = wake? {
                        self.shared.counters.add(Count::malformed);
                    }
                }
                _ = safety.tick() => {}
            }
        }
        *connected = true;
        let frames = vec![Message::new(), Message::from(payload)];
        if !pump::send(socket, frames)? {
            return Err(Broken::Disconnected);
        }
        self.shared.counters.add(Count::sent);
        loop {
            let wake = tokio::select! {
                wake = pump::wait(socket, |events| !events.contains(zmq::POLLOUT)) => wake?,
                _ = safety.tick() => continue,
            };
            match wake {
                Wake::Events => return Err(Broken::Disconnected),
                Wake::Message(frames) => match &frames[..] {
                    [delimiter, payload] if delimiter.is_empty() => {
                        self.shared.counters.add(Count::received);
                        return Ok(payload.to_vec());
                    }
                    _ => {
                        debug!(frames = frames.len(), "dropped a reply of a wrong shape");
                        self.shared.counters.add(Count::malformed);
                    }
                },
            }
        }
    }

    /// Starts a connection.
    async fn open(&mut self) -> Result<(), Broken> {
        let options = &self.shared.options;
        let endpoint = &self.shared.endpoint;
        let resolved = endpoint
            .resolve(options.ipv6)
            .await
            .map_err(Broken::Resolve)?;
        trace!(%endpoint, lane = self.number, "connecting");
        let socket = Common {
            ipv6: resolved.is_ipv6(),
            keep_alive: options.keep_alive,
            linger: std::time::Duration::ZERO,
            message_bytes_max: options.message_bytes_max,
        }
        .set(tmq::dealer(&context()))
        // Without a connection there is no queue: so the socket is writable
        // exactly while it is connected.
        .set_immediate(true)
        .set_reconnect_ivl(millis(options.reconnect))
        .set_reconnect_ivl_max(millis(options.reconnect_max))
        .connect(&connect_address(&resolved, options.source))
        .map_err(|error| Broken::Socket(error.into()))?;
        self.socket = Some(socket);
        Ok(())
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.shared.lane_ended();
    }
}

async fn expired(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
