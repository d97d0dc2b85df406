//! One connection of a requester, with one request at a time.

use std::io;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};
use tracing::{debug, trace};

use super::backoff::Backoff;
use super::requester::{Answer, Request, Shared, Turn};
use super::standstill::{Standstill, Wire};
use crate::contract::RequestError;
use crate::counters::Count;
use crate::zmtp::{Dial, DialError, Item, Link, Outgoing, ReadOutcome, encode_head};
use crate::{Counters, SocketError, limits};

/// Owns a connection that speaks like a REQ, under the name of a DEALER.
pub(super) struct RequesterLane {
    shared: Arc<Shared>,
    number: u64,
    connection: Option<Link>,
}

/// What request ports are.
const PEERS: &[&[u8]] = &[b"ROUTER", b"REP"];

/// Frames of a reply: a delimiter and what was answered.
const REPLY_FRAMES: usize = 2;

/// Why an exchange ended without a reply.
enum Broken {
    Resolve(io::Error),
    Socket(SocketError),
    Disconnected,
}

impl RequesterLane {
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
        if let Ok(given) = timeout(limits::REQUEST_LANE_IDLE_MAX, &mut wait).await {
            return given.map_or(Turn::Close, Turn::Serve);
        }
        if self.shared.may_retire(self.number) {
            return Turn::Close;
        }
        // The only one stays, and costs no timer.
        wait.await.map_or(Turn::Close, Turn::Serve)
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
        if !self.connection.as_mut().is_some_and(is_usable) {
            self.hang_up();
            self.connection = Some(open(&self.shared).await?);
        }
        let Some(link) = &mut self.connection else {
            return Err(Broken::Disconnected);
        };
        *connected = true;
        wire.set(link.stream.descriptor());
        let talked = talk(link, payload, &self.shared.counters).await;
        let Replied { answer, is_clean } = talked.map_err(|error| {
            debug!(endpoint = %self.shared.endpoint, %error, "the connection is lost");
            Broken::Disconnected
        })?;
        if !is_clean {
            // The next request would stand within what is half written or read.
            self.hang_up();
        }
        Ok(answer)
    }
}

/// What came of an exchange.
struct Replied {
    answer: Answer,
    /// Whether no message is partly written or partly read.
    is_clean: bool,
}

/// Sends a request and waits for its reply.
async fn talk(link: &mut Link, payload: Vec<u8>, counters: &Counters) -> io::Result<Replied> {
    let mut head = Vec::new();
    encode_head(&mut head, true, 0);
    encode_head(&mut head, false, payload.len());
    let mut request = Some(Outgoing::new(head, payload));
    let mut pong = None;
    let mut frames = Vec::new();
    let mut items = 0;
    loop {
        if let Some(out) = &mut request
            && link.write(out)?
        {
            request = None;
            counters.add(Count::sent);
        }
        // A PONG must not stand within a request.
        if request.is_none()
            && let Some(out) = &mut pong
            && link.write(out)?
        {
            pong = None;
        }
        while let Some(item) = link.next().map_err(io::Error::other)? {
            match item {
                // One that is half written goes first.
                Item::Ping(_) if pong.is_some() => {}
                Item::Ping(context) => pong = Some(Outgoing::pong(&context)),
                Item::Frame { more, body } => {
                    if let Some(answer) = take_frame(&mut frames, more, body, counters) {
                        let is_written = request.is_none() && pong.is_none();
                        let is_clean = is_written && !link.decoder.is_within();
                        return Ok(Replied { answer, is_clean });
                    }
                }
                Item::Ready(_) => {}
            }
            items += 1;
            if items % limits::BATCH_MESSAGES_MAX == 0 {
                // Whoever sends without end keeps no other task from its turn.
                yield_now().await;
            }
        }
        let is_writing = request.is_some() || pong.is_some();
        tokio::select! {
            readable = link.stream.readable() => readable?,
            writable = link.stream.writable(), if is_writing => writable?,
        }
        if link.read()? == ReadOutcome::End {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// Adds a frame to those of a message; the answer, if it is whole and one.
fn take_frame(
    frames: &mut Vec<Option<Vec<u8>>>,
    more: bool,
    body: Option<Vec<u8>>,
    counters: &Counters,
) -> Option<Answer> {
    // Of more than there may be only their number counts.
    frames.push(body.filter(|_| frames.len() < REPLY_FRAMES));
    frames.truncate(REPLY_FRAMES + 1);
    if more {
        return None;
    }
    match (frames.pop().flatten(), std::mem::take(frames).as_slice()) {
        (Some(payload), [Some(delimiter)]) if delimiter.is_empty() => {
            counters.add(Count::received);
            Some(Answer::new(payload))
        }
        _ => {
            debug!("dropped an invalid reply");
            counters.add(Count::malformed);
            None
        }
    }
}

/// Connects, however often it takes: whoever waits for the request says for how
/// long.
async fn open(shared: &Shared) -> Result<Link, Broken> {
    let (options, endpoint) = (&shared.options, &shared.endpoint);
    let resolved = endpoint.resolve(options.ipv6).await;
    let resolved = resolved.map_err(Broken::Resolve)?;
    let dial = Dial {
        kind: "DEALER",
        peer: PEERS,
        frame_bytes_max: options.message_bytes_max,
        keep_alive: options.keep_alive,
        source: options.source,
    };
    let mut backoff = Backoff::new(options.reconnect, options.reconnect_max);
    loop {
        trace!(%endpoint, "connecting");
        match dial.connect(&resolved).await {
            Ok(link) => return Ok(link),
            Err(DialError::Local(error)) => return Err(Broken::Socket(error.into())),
            // It may be a proxy whose master is just coming back.
            Err(DialError::Ended(_)) => backoff.reset(),
            Err(error) => debug!(%endpoint, %error, "no connection"),
        }
        sleep(backoff.pause()).await;
    }
}

/// Whether a request can be sent over a connection: not where it is lost, and
/// not where something waits that answers nothing.
fn is_usable(link: &mut Link) -> bool {
    // Whoever has said more than that is not waited for.
    for _ in 0..limits::BATCH_MESSAGES_MAX {
        match link.next() {
            Ok(None) => {}
            // Nobody waits for a PONG who has not been asked since.
            Ok(Some(Item::Ping(_))) => continue,
            Ok(Some(_)) | Err(_) => return false,
        }
        match link.read() {
            Ok(ReadOutcome::Nothing) => return !link.decoder.is_within(),
            Ok(ReadOutcome::Bytes | ReadOutcome::ManyBytes) => {}
            Ok(ReadOutcome::End) | Err(_) => return false,
        }
    }
    false
}

impl Drop for RequesterLane {
    fn drop(&mut self) {
        self.shared.lane_ended();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_a_delimiter_and_an_answer() {
        let counters = Counters::default();
        let mut frames = Vec::new();
        let mut take = |more, body: &[u8]| {
            let answer = take_frame(&mut frames, more, Some(body.to_vec()), &counters);
            answer.map(|answer| answer.to_vec())
        };
        assert_eq!(take(true, b""), None);
        assert_eq!(take(false, b"x"), Some(b"x".to_vec()));
        // Neither what is shorter, nor what is longer, nor one after it.
        assert_eq!(take(false, b"x"), None);
        for _ in 0..100 {
            assert_eq!(take(true, b""), None);
        }
        assert_eq!(take(false, b"x"), None);
        assert_eq!(take(true, b"?"), None);
        assert_eq!(take(false, b"x"), None);
        assert_eq!(take(true, b""), None);
        assert_eq!(take(false, b"y"), Some(b"y".to_vec()));
        assert_eq!((counters.received(), counters.malformed()), (2, 3));
    }
}
