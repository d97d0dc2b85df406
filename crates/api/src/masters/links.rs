//! The events of all masters in one stream.
//!
//! While somebody listens, the API of each other master is asked for its events.
//! What a master tells that another one has told already is dropped.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{Method, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::{sleep, timeout};

use super::sse::Reader;
use super::watchers::Watching;
use super::{Masters, OWN, Other};
use crate::events::{Events, Next, Stream, Text};
use crate::limits::{
    OTHER_STREAM_PAUSE, OTHER_STREAM_SILENT_MAX, OTHER_STREAMS_WITHIN, TOKENS_TRIED_MAX,
};

/// How far the event stream of another API is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// Nobody listens, or it is being begun.
    Idle,
    /// Its events are heard.
    Open,
    /// It cannot be heard; that is tried again.
    Failed,
}

/// A stream that is over sooner than this is not begun again at once.
const SHORT: Duration = Duration::from_secs(1);

impl Masters {
    /// A stream of the events of all masters, for somebody with a token.
    pub(crate) async fn stream(&self, token: String) -> (Stream, Watching) {
        let watching = self.watchers.begin(token);
        let stream = self.all.stream();
        let mut links = self.links.subscribe();
        let all_begun = links.wait_for(|links| !links.contains(&Link::Idle));
        // Who is slow joins later.
        let _ = timeout(OTHER_STREAMS_WITHIN, all_begun).await;
        (stream, watching)
    }

    /// Begins to hear all masters.
    pub(super) fn hear(self: &Arc<Self>, own: &Events) {
        let (masters, mut own) = (Arc::clone(self), own.stream());
        tokio::spawn(async move {
            while let Some(next) = own.next().await {
                match next {
                    Next::Event(text) => masters.told(OWN as u64, text),
                    Next::Lost(count) => tracing::warn!(count, "events were dropped"),
                }
            }
        });
        for index in 0..self.others.len() {
            let masters = Arc::clone(self);
            tokio::spawn(async move { masters.follow(index).await });
        }
    }

    /// Hands an event on unless another master has told it.
    fn told(&self, stream: u64, text: Text) {
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        if copies.is_new(Instant::now(), stream, text.tag(), text.json()) {
            self.all.push(text);
        }
    }

    async fn follow(&self, index: usize) {
        let Some(other) = self.others.get(index) else {
            return;
        };
        let mut listeners = self.watchers.count();
        loop {
            if listeners.wait_for(|count| *count > 0).await.is_err() {
                return;
            }
            let begun = Instant::now();
            match self.open(other).await {
                Some(body) => {
                    self.set_link(index, Link::Open);
                    tracing::info!(master = %other.wire.address, "the events of a master are heard");
                    tokio::select! {
                        () = self.read(other, body) => {}
                        _ = listeners.wait_for(|count| *count == 0) => {}
                    }
                }
                None => self.set_link(index, Link::Failed),
            }
            if *listeners.borrow_and_update() == 0 {
                self.set_link(index, Link::Idle);
            }
            if begun.elapsed() < SHORT {
                sleep(OTHER_STREAM_PAUSE).await;
            }
        }
    }

    fn set_link(&self, index: usize, link: Link) {
        self.links
            .send_if_modified(|links| match links.get_mut(index) {
                Some(known) if *known != link => {
                    *known = link;
                    true
                }
                _ => false,
            });
    }

    /// The event stream of another API.
    async fn open(&self, other: &Other) -> Option<Incoming> {
        if other.is_self.load(Relaxed) {
            return None;
        }
        let mut refused = None;
        for token in self.watchers.tokens(TOKENS_TRIED_MAX) {
            let asked = other.wire.send(Method::GET, "/events", Some(&token), None);
            match timeout(OTHER_STREAM_SILENT_MAX, asked).await {
                Ok(Ok(response)) if response.status() == StatusCode::OK => {
                    return Some(response.into_body());
                }
                Ok(Ok(response)) if response.status() == StatusCode::LOOP_DETECTED => {
                    other.is_self.store(true, Relaxed);
                    return None;
                }
                Ok(Ok(response)) => refused = Some(response.status()),
                Ok(Err(error)) => {
                    let error = halite_proto::chain(&error);
                    tracing::debug!(master = %other.wire.address, "no events: {error}");
                    return None;
                }
                Err(_) => return None,
            }
        }
        if let Some(status) = refused
            && !other.has_refused.swap(true, Relaxed)
        {
            tracing::warn!(
                master = %other.wire.address,
                %status,
                "a master refuses its events: masters that answer for each other keep tokens in \
                 one store"
            );
        }
        None
    }

    async fn read(&self, other: &Other, mut body: Incoming) {
        let stream = self.next_stream.fetch_add(1, Relaxed);
        let mut reader = Reader::default();
        loop {
            let Ok(Some(Ok(frame))) = timeout(OTHER_STREAM_SILENT_MAX, body.frame()).await else {
                tracing::info!(master = %other.wire.address, "a stream of events has ended");
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
                tracing::warn!(master = %other.wire.address, "an event stream says: {comment}");
            }
            for record in records {
                if let Some(text) = Text::from_record(&record.tag, &record.json) {
                    self.told(stream, text);
                }
            }
        }
    }
}
