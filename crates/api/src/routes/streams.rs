//! The master's events, live: `/events`, and what it has in common with `/ws`.
//!
//! Invariants: a stream ends with its session, its token, or the API, whichever
//! comes first; a stream whose reader has stopped holds one piece of an event.

use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::future::BoxFuture;
use futures_util::stream;
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::lease::Lease;
use super::paths::Page;
use super::{App, Asked, NO_STORE, Peer};
use crate::events::{Next, Stream};
use crate::fault::Fault;
use crate::limits::{EVENT_PIECE_BYTES, HEARTBEAT_EVERY, TOKEN_CHECKED_EVERY};
use crate::low::is_hex;
use crate::masters::Watching;
use crate::slots::{Holder, Share};

/// How soon a browser connects again, in milliseconds.
const RETRY: &[u8] = b"retry: 400\n";

/// A stream of a person's.
pub(super) struct Watched {
    app: Arc<App>,
    stream: Stream,
    page: Page,
    ending: watch::Receiver<bool>,
    heartbeat: Interval,
    /// Whether the session, or the token, is still good.
    lease: Lease,
    /// For streams with the events of other masters, while it exists.
    watching: Option<Watching>,
    _place: Share<Holder>,
}

/// The proof with which a stream begins.
struct Proven {
    token: String,
    is_session: bool,
    /// Whose place it takes.
    user: String,
}

/// The next item of a stream.
pub(super) enum News {
    Events(Next),
    Heartbeat,
}

/// `GET /events`
pub(super) async fn events(app: &Arc<App>, asked: &Asked) -> Result<Response, Fault> {
    if !asked.query.is_empty() {
        return Err(Fault::bad(
            "The /events endpoint takes no query parameters; in particular, tokens must not be \
             passed via the query string -- they end up in access logs and the Referer header. Use \
             the 'X-Auth-Token' header (for non-browser clients) or the session cookie set by \
             /login (for browser EventSource clients) instead.",
        ));
    }
    if !asked.rest.is_empty() {
        return Err(Fault::no_match());
    }
    let proof = asked.session.clone().ok_or_else(Fault::no_session)?;
    let watched = Watched::begin(app, proof, asked).await?;
    let body = match asked.method {
        Method::HEAD => Body::empty(),
        _ => Body::from_stream(stream::unfold((watched, Step::Begin), records)),
    };
    let mut response = body.into_response();
    let headers = response.headers_mut();
    let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
    set(header::CONTENT_TYPE, "text/event-stream;charset=utf-8");
    // A proxy is to hand each event on at once.
    set(header::HeaderName::from_static("x-accel-buffering"), "no");
    // Nor does a browser then keep a page that it has left, with its stream.
    headers.insert(header::CACHE_CONTROL, NO_STORE);
    Ok(response)
}

/// Where a stream is.
enum Step {
    Begin,
    Next,
    /// This many bytes of the record of the last event are sent, of this many.
    Within(usize, usize),
    End,
}

/// Why a stream ends in the middle of an event.
#[derive(Debug, thiserror::Error)]
pub(super) enum Cut {
    /// It takes too long.
    #[error("an event was dropped before all of it was sent: the stream is too slow")]
    Slow,
    /// The listener is no longer allowed to listen.
    #[error("the session or the token is no longer valid")]
    Unproven,
}

type Slot = (Watched, Step);

async fn records((mut watched, step): Slot) -> Option<(Result<Bytes, Cut>, Slot)> {
    let (record, step) = match step {
        Step::Begin => (Ok(Bytes::from_static(RETRY)), Step::Next),
        Step::Within(sent, length) => piece(&mut watched, sent, length),
        Step::Next => match watched.next().await? {
            News::Events(Next::Event(text)) if text.len() > EVENT_PIECE_BYTES => {
                piece(&mut watched, 0, text.len())
            }
            News::Events(Next::Event(text)) => (Ok(text.record()), Step::Next),
            News::Events(Next::Lost(count)) => (Ok(told_of_lost(count).into()), Step::Next),
            News::Heartbeat => (Ok(Bytes::from_static(b":\n\n")), Step::Next),
        },
        Step::End => return None,
    };
    Some((record, (watched, step)))
}

/// The next piece of a large event, and the position of the stream after it.
fn piece(watched: &mut Watched, sent: usize, length: usize) -> (Result<Bytes, Cut>, Step) {
    match watched.piece(sent) {
        Ok(piece) if sent + piece.len() < length => {
            let sent = sent + piece.len();
            (Ok(piece), Step::Within(sent, length))
        }
        Ok(piece) => (Ok(piece), Step::Next),
        Err(cut) => (Err(cut), Step::End),
    }
}

impl Watched {
    pub(super) async fn begin(app: &Arc<App>, proof: String, asked: &Asked) -> Result<Self, Fault> {
        let peer = asked.peer;
        let Proven {
            token,
            is_session,
            user,
        } = proven(app, &proof, peer).await?;
        if !asked.prove(&user) {
            return Err(Fault::too_many_connections());
        }
        let place = app.streams.take(Holder::user(&user)).ok_or_else(|| {
            let full = StatusCode::SERVICE_UNAVAILABLE;
            Fault::new(full, "There are too many streams of events already")
        })?;
        let every = |period| {
            let mut interval = interval(period);
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
            interval.reset();
            interval
        };
        let (stream, watching) = match app.has_others(peer) {
            false => (app.events.stream(), None),
            true => {
                let (stream, watching) = app.masters.stream(token).await;
                (stream, Some(watching))
            }
        };
        Ok(Self {
            stream,
            watching,
            page: asked.page,
            ending: app.ending.subscribe(),
            app: Arc::clone(app),
            heartbeat: every(HEARTBEAT_EVERY),
            lease: lease(app, proof, is_session, peer),
            _place: place,
        })
    }

    /// A piece of the last event, from this byte on.
    ///
    /// # Errors
    /// When the event is kept no longer, the proof is good no longer, or the API ends.
    pub(super) fn piece(&mut self, from: usize) -> Result<Bytes, Cut> {
        // Who takes a large event slowly takes it for longer than a proof may hold.
        let by_others = self.by_others();
        if self.lease.has_ended(by_others) {
            return Err(Cut::Unproven);
        }
        let piece = self.stream.piece(from).filter(|_| !*self.ending.borrow());
        if let (None, Some(meters)) = (&piece, &self.app.meters) {
            meters.events_dropped(self.page.name(), 1);
        }
        piece.ok_or(Cut::Slow)
    }

    /// The answer of the other masters about the proof.
    fn by_others(&self) -> Option<bool> {
        self.watching.as_ref().and_then(Watching::is_accepted)
    }

    /// Waits for the next item; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<News> {
        loop {
            let by_others = self.by_others();
            tokio::select! {
                biased;
                () = ended(&mut self.ending) => return None,
                // Events do not wait for a master that is slow to say it.
                () = self.lease.ended(by_others) => {
                    tracing::debug!("a stream ends: its token is no longer valid");
                    return None;
                }
                next = self.stream.next() => {
                    if let (Some(Next::Lost(count)), Some(meters)) = (&next, &self.app.meters) {
                        meters.events_dropped(self.page.name(), *count);
                    }
                    if let (Some(Next::Event(text)), Some(watching)) = (&next, &self.watching)
                        && !watching.may_have(text)
                    {
                        continue;
                    }
                    self.heartbeat.reset();
                    return Some(News::Events(next?));
                }
                _ = self.heartbeat.tick() => return Some(News::Heartbeat),
            }
        }
    }
}

/// The session or token of a stream, which is checked repeatedly.
fn lease(app: &Arc<App>, proof: String, is_session: bool, peer: Peer) -> Lease {
    let app = Arc::clone(app);
    let ask = move |by_others| -> BoxFuture<'static, bool> {
        let (app, proof) = (Arc::clone(&app), proof.clone());
        Box::pin(async move { is_good(&app, is_session, &proof, peer, by_others).await })
    };
    Lease::new(TOKEN_CHECKED_EVERY, Box::new(ask))
}

/// The notice to a slow stream that events were dropped: a comment in the notation of
/// event streams.
pub(super) fn told_of_lost(count: u64) -> String {
    format!(": {count} events were dropped: this stream is too slow\n\n")
}

/// Waits for the end of the API.
async fn ended(ending: &mut watch::Receiver<bool>) {
    let _ = ending.wait_for(|ending| *ending).await;
}

/// Checks that a session, or a token, may begin a stream, and finds its token.
async fn proven(app: &App, proof: &str, peer: Peer) -> Result<Proven, Fault> {
    if !is_hex(&proof.into()) {
        return Err(Fault::no_session());
    }
    app.check_relayed(peer).await?;
    let now = Instant::now();
    let (of_session, user) = app.sessions.token_and_user(proof, now).unzip();
    let is_session = of_session.is_some();
    let token = of_session.unwrap_or_else(|| proof.to_owned());
    // The semaphore is never closed.
    let asking = app.tokens.acquire().await.ok();
    let holder = app.runner.token_holder(&token, app.has_others(peer)).await;
    drop(asking);
    let user = match (holder, user) {
        (Ok(Some(holder)), user) => user.unwrap_or(holder),
        (Ok(None), _) => return Err(Fault::no_session()),
        // Another API is to ask the next one.
        (Err(fault), _) if peer.is_relayed || app.has_others(peer) => return Err(fault),
        // The only master comes back.
        (Err(_), Some(user)) => user,
        (Err(_), None) => return Err(Fault::no_session()),
    };
    Ok(Proven {
        token,
        is_session,
        user,
    })
}

/// Whether the proof of a stream is still good. A master that does not answer ends no
/// stream: it comes back. While that of this machine is away, it counts what others
/// have said.
async fn is_good(app: &App, is_session: bool, proof: &str, peer: Peer, by: Option<bool>) -> bool {
    let token = match app.sessions.token(proof, Instant::now()) {
        Some(token) => token,
        None if is_session => return false,
        None => proof.to_owned(),
    };
    if app.has_others(peer) && !app.masters.own_was_there().await {
        return by.unwrap_or(true);
    }
    let known = app.runner.is_token(&token, app.has_others(peer)).await;
    known.unwrap_or_else(|_| is_session || app.has_others(peer))
}
