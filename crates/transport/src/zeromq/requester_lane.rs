//! One connection of a requester, with one request on the way.

use std::sync::Arc;
use std::time::Duration;

use tmq::Message;
use tmq::dealer::{Dealer, dealer};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::{debug, trace};

use super::context::context;
use super::monitor::{Link, Monitored};
use super::options::{Common, connect_address, millis};
use super::pump::{self, Frames};
use super::requester::{Answer, Request, Shared, Turn};
use super::standstill::{Standstill, Wire};
use crate::contract::RequestError;
use crate::counters::Count;
use crate::{Counters, SocketError, limits};

/// Owns a DEALER that speaks like a REQ.
pub(super) struct Lane {
    shared: Arc<Shared>,
    number: u64,
    connection: Option<Connection>,
}

struct Connection {
    monitored: Monitored<Dealer>,
    up: bool,
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
            connection: None,
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
            timeout,
            mut reply,
        } = request;
        let mut connected = false;
        let wire = Wire::new();
        let limit = Standstill::new(since, timeout, payload.len());
        let outcome = tokio::select! {
            biased;
            outcome = self.exchange(payload, &wire, &mut connected) => Some(outcome),
            () = reply.closed() => None,
            () = limit.passed(&wire) => {
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
        if self.connection.take().is_some() {
            self.shared.counters.add(Count::closed);
        }
    }

    async fn exchange(
        &mut self,
        payload: Vec<u8>,
        wire: &Wire,
        connected: &mut bool,
    ) -> Result<Answer, Broken> {
        let usable = match &mut self.connection {
            Some(connection) => connection.is_usable()?,
            None => false,
        };
        if !usable {
            self.hang_up();
            self.connection = Some(Self::open(&self.shared).await?);
        }
        let Some(Connection { monitored, up }) = &mut self.connection else {
            return Err(Broken::Disconnected);
        };
        *connected = *up;
        wire.set(monitored.reports.descriptor());
        // A new connection sends it as soon as it is there.
        let frames = vec![Message::new(), Message::from(payload)];
        if !pump::send(&monitored.socket, frames)? {
            return Err(Broken::Disconnected);
        }
        self.shared.counters.add(Count::sent);
        let mut safety = pump::safety_poll();
        loop {
            let reply = tokio::select! {
                biased;
                frames = pump::receive(&mut monitored.socket) => Some(frames?),
                link = monitored.reports.next() => match link? {
                    Link::Up => {
                        *up = true;
                        *connected = true;
                        wire.set(monitored.reports.descriptor());
                        None
                    }
                    // A reply may have come just before the end.
                    Link::Down if *up => match pump::try_receive(&monitored.socket)? {
                        Some(frames) => Some(frames),
                        None => return Err(Broken::Disconnected),
                    },
                    // The request has not left yet; the library tries again.
                    Link::Down | Link::Refused => None,
                },
                _ = safety.tick() => None,
            };
            if let Some(payload) = reply.and_then(|frames| check(frames, &self.shared.counters)) {
                return Ok(payload);
            }
        }
    }

    /// Starts a connection.
    async fn open(shared: &Shared) -> Result<Connection, Broken> {
        let options = &shared.options;
        let endpoint = &shared.endpoint;
        let resolved = endpoint
            .resolve(options.ipv6)
            .await
            .map_err(Broken::Resolve)?;
        trace!(%endpoint, "connecting");
        let builder = Common {
            ipv6: resolved.is_ipv6(),
            keep_alive: options.keep_alive,
            linger: Duration::ZERO,
            message_bytes_max: options.message_bytes_max,
        }
        .set(dealer(&context()))
        .set_reconnect_ivl(millis(options.reconnect))
        .set_reconnect_ivl_max(millis(options.reconnect_max));
        let address = connect_address(&resolved, options.source);
        let monitored = Monitored::connect(builder, |builder| builder.connect(&address))?;
        Ok(Connection {
            monitored,
            up: false,
        })
    }
}

impl Connection {
    /// Whether a request can be sent here: not where the connection is lost,
    /// which would be tried again only after a pause, and not where something
    /// waits that answers nothing.
    fn is_usable(&mut self) -> Result<bool, SocketError> {
        while let Some(link) = self.monitored.reports.try_next()? {
            self.up = link == Link::Up;
        }
        Ok(self.up && pump::try_receive(&self.monitored.socket)?.is_none())
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.shared.lane_ended();
    }
}

fn check(mut frames: Frames, counters: &Counters) -> Option<Answer> {
    match (frames.pop(), &frames[..]) {
        (Some(payload), [delimiter]) if delimiter.is_empty() => {
            counters.add(Count::received);
            Some(Answer::new(payload))
        }
        _ => {
            debug!("dropped a reply of a wrong shape");
            counters.add(Count::malformed);
            None
        }
    }
}
