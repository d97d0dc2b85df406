//! Feeds any number of streams from one subscription of the master's bus.
//!
//! Each event is formatted once; streams share the text. The events that slow
//! streams have not read yet are bounded in number and bytes for all of them
//! together: a stream that is slower loses the oldest events and is told how many.
//! Of a large event a stream holds one piece, so the bound is one of memory.
//! Invariant: no stream waits for another.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use halite_client::LocalClient;
use halite_proto::event::Event;
use tokio::sync::watch;

use crate::event_text::Text;
use crate::limits::{BUS_PAUSE, EVENT_BYTES_KEPT_MAX, EVENT_PIECE_BYTES, EVENTS_KEPT_MAX};

/// The events of the master, for streams.
#[derive(Clone, Debug)]
pub(crate) struct Events(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    kept: Mutex<Kept>,
    /// The number of the next event.
    next: watch::Sender<u64>,
    /// How many events were lost before they came here.
    lost: AtomicU64,
    /// Whether the bus is heard now.
    is_heard: AtomicBool,
}

#[derive(Debug, Default)]
struct Kept {
    texts: VecDeque<Text>,
    bytes: usize,
    /// The number of the first of them.
    first: u64,
    /// Streams that there are.
    streams: usize,
}

impl Kept {
    /// The number of the next event.
    fn next(&self) -> u64 {
        self.first + self.texts.len() as u64
    }

    /// Drops this many of the oldest events, or all; later ones keep their numbers.
    fn forget(&mut self, count: usize) {
        for text in self.texts.drain(..count.min(self.texts.len())) {
            self.bytes -= text.len();
            self.first += 1;
        }
    }
}

/// The next item of a stream.
#[derive(Clone, Debug)]
pub(crate) enum Next {
    /// An event.
    Event(Text),
    /// This many events were dropped: the stream is too slow.
    Lost(u64),
}

/// The place of one stream.
#[derive(Debug)]
pub(crate) struct Stream {
    shared: Arc<Shared>,
    at: u64,
    /// How many of the events that were lost before they arrived here were reported.
    lost: u64,
    news: watch::Receiver<u64>,
}

impl Events {
    /// Listens to the master's bus until dropped.
    pub(crate) fn listen(client: LocalClient) -> Self {
        let events = Self::empty();
        let weak = Arc::downgrade(&events.0);
        tokio::spawn(async move {
            loop {
                // A master that is not there will be.
                if let Ok(mut bus) = client.events().await {
                    if let Some(shared) = weak.upgrade() {
                        shared.is_heard.store(true, Relaxed);
                    }
                    tracing::info!("connected to the event bus of the master");
                    while let Ok(Some(event)) = bus.next().await {
                        let Some(shared) = weak.upgrade() else { return };
                        // Some are large; a stream begins with what comes after it.
                        if shared.next.receiver_count() == 0 {
                            continue;
                        }
                        match event.unpack() {
                            Ok(event) => shared.take(&event),
                            Err(error) => {
                                tracing::warn!(%error, tag = event.tag(), "cannot read an event");
                            }
                        }
                    }
                    if let Some(shared) = weak.upgrade() {
                        shared.is_heard.store(false, Relaxed);
                    }
                    tracing::warn!("lost the event bus of the master, connecting again");
                }
                if weak.strong_count() == 0 {
                    return;
                }
                tokio::time::sleep(BUS_PAUSE).await;
            }
        });
        events
    }

    /// Whether the bus is heard now.
    pub(crate) fn are_heard(&self) -> bool {
        self.0.is_heard.load(Relaxed)
    }

    /// Bytes of the events that are kept for streams.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.0.lock().bytes
    }

    /// None until some are pushed.
    pub(crate) fn empty() -> Self {
        Self(Arc::new(Shared {
            kept: Mutex::default(),
            next: watch::Sender::new(0),
            lost: AtomicU64::new(0),
            is_heard: AtomicBool::new(false),
        }))
    }

    /// Hands an event to all streams.
    pub(crate) fn push(&self, text: Text) {
        self.0.push(text);
    }

    /// Reports to all streams that this many events were lost before they arrived here.
    pub(crate) fn lose(&self, count: u64) {
        self.0.lost.fetch_add(count, Relaxed);
        self.0.next.send_modify(|_| {});
    }

    /// A stream of what is fired from now on.
    pub(crate) fn stream(&self) -> Stream {
        let news = self.0.next.subscribe();
        let mut kept = self.0.lock();
        kept.streams += 1;
        let at = kept.next();
        drop(kept);
        Stream {
            shared: Arc::clone(&self.0),
            at,
            lost: self.0.lost.load(Relaxed),
            news,
        }
    }
}

impl Shared {
    fn take(&self, event: &Event) {
        let Some(text) = Text::new(event) else {
            tracing::warn!(tag = %event.tag, "an event cannot be represented as JSON");
            return;
        };
        self.push(text);
    }

    fn push(&self, text: Text) {
        let mut kept = self.lock();
        // The last stream may just have ended; a new one begins with what comes later.
        if kept.streams == 0 {
            return;
        }
        kept.bytes += text.len();
        kept.texts.push_back(text);
        while kept.texts.len() > EVENTS_KEPT_MAX || kept.bytes > EVENT_BYTES_KEPT_MAX {
            kept.forget(1);
        }
        let next = kept.next();
        drop(kept);
        self.next.send_replace(next);
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream {
    /// Waits for the next item; `None` when the events have ended. Cancel-safe: nothing
    /// is lost when the future is dropped.
    pub(crate) async fn next(&mut self) -> Option<Next> {
        loop {
            if let Some(next) = self.poll() {
                return Some(next);
            }
            self.news.changed().await.ok()?;
        }
    }

    /// A part of the record that [`next`](Self::next) returned last, from this byte on;
    /// `None` when it is no longer kept.
    ///
    /// It is a copy: who is slow to take it holds no more of the event than that.
    pub(crate) fn piece(&self, from: usize) -> Option<Bytes> {
        let kept = self.shared.lock();
        let index = self.at.checked_sub(1)?.checked_sub(kept.first)?;
        let record = kept.texts.get(usize::try_from(index).ok()?)?.record();
        let end = record.len().min(from.saturating_add(EVENT_PIECE_BYTES));
        record.get(from..end).map(Bytes::copy_from_slice)
    }

    fn poll(&mut self) -> Option<Next> {
        let lost = self.shared.lost.load(Relaxed);
        if lost != self.lost {
            let more = lost.wrapping_sub(self.lost);
            self.lost = lost;
            return Some(Next::Lost(more));
        }
        let mut kept = self.shared.lock();
        if self.at < kept.first {
            let lost = kept.first - self.at;
            self.at = kept.first;
            return Some(Next::Lost(lost));
        }
        let index = usize::try_from(self.at - kept.first).ok()?;
        let text = kept.texts.get(index)?.clone();
        // What the only stream has taken is nobody's any more.
        if kept.streams == 1 {
            kept.forget(index);
        }
        self.at += 1;
        Some(Next::Event(text))
    }
}

impl Drop for Stream {
    /// Nobody takes what was kept for the last stream.
    fn drop(&mut self) {
        let mut kept = self.shared.lock();
        kept.streams -= 1;
        if kept.streams == 0 {
            kept.forget(usize::MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use halite_proto::{Map, Tag};

    use super::*;

    fn event(tag: &str, data: Map) -> Event {
        Event::new(Tag::parse(tag).unwrap(), data)
    }

    #[tokio::test]
    async fn what_was_lost_before_is_told_once() {
        let events = Events::empty();
        events.lose(1);
        let mut stream = events.stream();
        let waiting = stream.next();
        events.lose(3);
        events.0.take(&event("t", Map::new()));
        assert!(matches!(waiting.await, Some(Next::Lost(3))));
        assert!(matches!(stream.next().await, Some(Next::Event(_))));
        assert!(stream.poll().is_none());
    }

    #[tokio::test]
    async fn a_stream_that_is_slow_loses_the_oldest_and_nobody_else_does() {
        let events = Events::empty();
        let (mut slow, mut fast) = (events.stream(), events.stream());
        let more = 10;
        for number in 0..EVENTS_KEPT_MAX + more {
            events
                .0
                .take(&event("t", Map::from([("n", number as i64)])));
            assert!(matches!(fast.next().await, Some(Next::Event(_))));
        }
        assert!(matches!(slow.next().await, Some(Next::Lost(10))));
        let Some(Next::Event(text)) = slow.next().await else {
            panic!("no event");
        };
        let json = r#"{"tag": "t", "data": {"n": 10}}"#;
        assert_eq!(text.message().as_str(), format!("data: {json}\n\n"));
        let large = "x".repeat(EVENT_BYTES_KEPT_MAX / 4);
        for _ in 0..8 {
            events
                .0
                .take(&event("t", Map::from([("x", large.as_str())])));
        }
        assert!(events.0.lock().bytes <= EVENT_BYTES_KEPT_MAX);
        drop((slow, fast));
        assert_eq!(events.kept_bytes(), 0);
    }

    #[tokio::test]
    async fn a_large_event_is_given_in_pieces_for_as_long_as_it_is_kept() {
        let events = Events::empty();
        let mut stream = events.stream();
        let large = "x".repeat(3 * EVENT_PIECE_BYTES);
        let data = Map::from([("x", large.as_str())]);
        events.0.take(&event("t", data.clone()));
        let Some(Next::Event(text)) = stream.next().await else {
            panic!("no event");
        };
        let (mut given, mut all) = (0, Vec::new());
        while given < text.len() {
            let piece = stream.piece(given).unwrap();
            assert!(piece.len() <= EVENT_PIECE_BYTES);
            given += piece.len();
            all.extend_from_slice(&piece);
        }
        assert_eq!(all, text.record());
        // What is kept is no larger than it is counted.
        assert_eq!(events.kept_bytes(), text.len());
        for _ in 0..EVENTS_KEPT_MAX {
            events.0.take(&event("t", Map::new()));
        }
        assert_eq!(stream.piece(EVENT_PIECE_BYTES), None);
    }
}
