//! The events of all masters for streams.
//!
//! While a client listens whose token another master accepts, that master's API is
//! asked for its events. An event that another master has sent already is dropped
//! for clients that receive both.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{Method, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::{sleep, timeout};

use super::other::Other;
use super::sse::{self, Reader};
use super::watchers::Watching;
use super::{Masters, OWN, bit};
use crate::event_text::Text;
use crate::events::{Events, Next, Stream};
use crate::limits::{
    OTHER_REFUSES_AT_FIRST_FOR, OTHER_STREAM_PAUSE, OTHER_STREAM_SILENT_MAX, OTHER_STREAMS_WITHIN,
};

/// How far the event stream of another API is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// No stream listens, or the connection is being opened.
    Idle,
    /// Its events are heard.
    Open,
    /// It could not be opened; that is tried again.
    Failed,
}

/// What became of asking for a stream.
enum Opened {
    Stream(Incoming),
    /// The token is not accepted.
    Refused(StatusCode),
    /// The other API cannot be asked.
    Failed,
}

/// A stream that is over sooner than this is not begun again at once.
const SHORT: Duration = Duration::from_secs(1);

impl Masters {
    /// A stream of the events of the masters that accept a token.
    pub(crate) async fn stream(&self, token: String) -> (Stream, Watching) {
        let mut news = self.watchers.news();
        let watching = self.watchers.begin(token);
        let stream = self.all.stream();
        let all_begun = async {
            while !self.is_begun(&watching) {
                if news.changed().await.is_err() {
                    return;
                }
            }
        };
        // Who is slow joins later.
        let _ = timeout(OTHER_STREAMS_WITHIN, all_begun).await;
        (stream, watching)
    }

    /// Whether all others have refused a stream's token, are heard, or cannot be.
    fn is_begun(&self, watching: &Watching) -> bool {
        let links = self.links.borrow();
        let mut others = self.others.iter().zip(links.iter()).enumerate();
        others.all(|(index, (other, link))| {
            let said = watching.said(index + 1);
            other.is_self.load(Relaxed)
                || *link == Link::Failed
                || said == Some(false)
                || (said == Some(true) && *link == Link::Open)
        })
    }

    /// Begins to hear all masters.
    pub(super) fn hear(self: &Arc<Self>, own: &Events) {
        let (masters, mut own) = (Arc::clone(self), own.stream());
        tokio::spawn(async move {
            while let Some(next) = own.next().await {
                match next {
                    Next::Event(text) => masters.hand_on(OWN as u64, OWN, text),
                    Next::Lost(count) => {
                        tracing::warn!(count, "events were dropped");
                        masters.all.lose(count);
                    }
                }
            }
        });
        for index in 0..self.others.len() {
            let masters = Arc::clone(self);
            tokio::spawn(async move { masters.judge(index).await });
            let masters = Arc::clone(self);
            tokio::spawn(async move { masters.follow(index).await });
        }
    }

    /// Hands an event of a master on to those who have not had it of another one.
    fn hand_on(&self, stream: u64, master: usize, text: Text) {
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let told_by = copies.told_by(now, stream, master, text.tag(), text.json());
        // All hear the master of this machine, and who hears a master has its events.
        if told_by & (bit(OWN) | bit(master)) != 0 {
            return;
        }
        let text = text.heard_from(bit(master), told_by);
        if self.watchers.wants(&text) {
            self.all.push(text);
        }
    }

    /// Asks another master which of the tokens of streams it accepts, one by one.
    async fn judge(&self, index: usize) {
        let Some(other) = self.others.get(index) else {
            return;
        };
        let mut news = self.watchers.news();
        loop {
            news.borrow_and_update();
            let is_self = other.is_self.load(Relaxed);
            let to_ask = self.watchers.to_ask(index + 1, Instant::now());
            let Some((id, token)) = to_ask.filter(|_| !is_self) else {
                let is_idle = !self.watchers.has_any();
                tokio::select! {
                    changed = news.changed() => if changed.is_err() { return },
                    () = sleep(OTHER_REFUSES_AT_FIRST_FOR), if !is_idle => {}
                }
                continue;
            };
            match other.is_token(&token).await {
                Ok(Some(is_good)) => {
                    self.watchers.said(index + 1, id, is_good, Instant::now());
                    if !is_good {
                        other.tell_refusal(StatusCode::UNAUTHORIZED);
                    }
                }
                Ok(None) | Err(_) => {
                    self.change_link(index, Some(Link::Idle), Link::Failed);
                    sleep(OTHER_STREAM_PAUSE).await;
                }
            }
        }
    }

    async fn follow(&self, index: usize) {
        let Some(other) = self.others.get(index) else {
            return;
        };
        let mut news = self.watchers.news();
        loop {
            news.borrow_and_update();
            let Some((id, token)) = self.watchers.accepted(index + 1) else {
                if !self.watchers.has_any() {
                    self.change_link(index, None, Link::Idle);
                }
                if news.changed().await.is_err() {
                    return;
                }
                continue;
            };
            let begun = Instant::now();
            match self.open(other, &token).await {
                Opened::Stream(body) => {
                    self.change_link(index, None, Link::Open);
                    tracing::info!(
                        master = %other.wire.address,
                        "connected to the event stream of a master"
                    );
                    let all_gone = async {
                        while self.watchers.accepted(index + 1).is_some() {
                            if news.changed().await.is_err() {
                                return;
                            }
                        }
                    };
                    tokio::select! {
                        () = self.read(index, other, body) => {}
                        () = all_gone => {}
                    }
                    self.change_link(index, None, Link::Idle);
                }
                Opened::Refused(status) => {
                    self.watchers.said(index + 1, id, false, Instant::now());
                    other.tell_refusal(status);
                }
                Opened::Failed => self.change_link(index, None, Link::Failed),
            }
            if begun.elapsed() < SHORT {
                sleep(OTHER_STREAM_PAUSE).await;
            }
        }
    }

    /// Sets how far a stream is; with `from` only if it is so far now.
    fn change_link(&self, index: usize, from: Option<Link>, to: Link) {
        let has_changed = self
            .links
            .send_if_modified(|links| match links.get_mut(index) {
                Some(known) if *known != to && from.is_none_or(|from| from == *known) => {
                    *known = to;
                    true
                }
                _ => false,
            });
        if has_changed {
            self.watchers.tell();
        }
    }

    /// The event stream of another API.
    async fn open(&self, other: &Other, token: &str) -> Opened {
        if other.is_self.load(Relaxed) {
            return Opened::Failed;
        }
        let asked = other.wire.send(Method::GET, "/events", Some(token), None);
        match timeout(OTHER_STREAM_SILENT_MAX, asked).await {
            Ok(Ok(response)) => match response.status() {
                StatusCode::OK => Opened::Stream(response.into_body()),
                StatusCode::LOOP_DETECTED => {
                    other.is_self.store(true, Relaxed);
                    Opened::Failed
                }
                StatusCode::UNAUTHORIZED => Opened::Refused(StatusCode::UNAUTHORIZED),
                status => {
                    tracing::debug!(master = %other.wire.address, %status, "no events");
                    Opened::Failed
                }
            },
            Ok(Err(error)) => {
                let error = halite_proto::chain(&error);
                tracing::debug!(
                    master = %other.wire.address,
                    "could not open the event stream of a master: {error}"
                );
                Opened::Failed
            }
            Err(_) => Opened::Failed,
        }
    }

    async fn read(&self, index: usize, other: &Other, mut body: Incoming) {
        let stream = self.next_stream.fetch_add(1, Relaxed);
        let mut reader = Reader::default();
        loop {
            let Ok(Some(Ok(frame))) = timeout(OTHER_STREAM_SILENT_MAX, body.frame()).await else {
                tracing::info!(
                    master = %other.wire.address,
                    "the event stream of a master has ended"
                );
                return;
            };
            let Some(bytes) = frame.data_ref() else {
                continue;
            };
            let records = match reader.take(bytes) {
                Ok(records) => records,
                Err(error) => {
                    tracing::warn!(master = %other.wire.address, "{error}");
                    return;
                }
            };
            if let Some(comment) = reader.comment.take() {
                tracing::warn!(
                    master = %other.wire.address,
                    "the event stream of a master reports: {comment}"
                );
                if let Some(count) = sse::lost(&comment) {
                    self.all.lose(count);
                }
            }
            for record in records {
                if let Some(text) = Text::from_record(&record.tag, &record.json) {
                    self.hand_on(stream, index + 1, text);
                }
            }
        }
    }
}
