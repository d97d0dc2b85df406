//! All events of a master's bus since the log was opened.
//!
//! Invariant: an event stays in the log, so a test may wait for it after it has
//! happened.

use std::io::{ErrorKind, Read as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::wire::msgpack::Item;

/// Tags that an error shows of what was heard.
const TAGS_SHOWN_MAX: usize = 20;

/// One event.
#[derive(Clone, Debug)]
pub struct Event {
    /// What happened.
    pub tag: String,
    /// The rest.
    pub data: Value,
    /// When its bytes were read.
    pub at: Instant,
}

#[derive(Debug, Default)]
struct Shared {
    events: Mutex<Vec<Event>>,
    more: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Vec<Event>> {
        // A list of events is whole after every push.
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A subscription that keeps what it hears.
#[derive(Debug)]
pub struct EventLog {
    shared: Arc<Shared>,
    stream: UnixStream,
}

impl EventLog {
    /// Subscribes to the bus at `path`.
    pub fn open(path: &Path) -> Result<Self> {
        let stream = UnixStream::connect(path)
            .with_context(|| format!("no event bus at {}", path.display()))?;
        let shared = Arc::new(Shared::default());
        let reader = stream.try_clone()?;
        let heard = Arc::clone(&shared);
        std::thread::spawn(move || listen(reader, &heard));
        Ok(Self { shared, stream })
    }

    /// All events so far.
    pub fn events(&self) -> Vec<Event> {
        self.shared.lock().clone()
    }

    /// How many of the events so far `wanted` accepts, without a copy of them: a listener
    /// that is kept waiting falls behind, and then loses events.
    pub fn count(&self, wanted: impl Fn(&Event) -> bool) -> usize {
        self.shared
            .lock()
            .iter()
            .filter(|event| wanted(event))
            .count()
    }

    /// How many events there are so far: a mark for [`EventLog::wait_after`].
    pub fn mark(&self) -> usize {
        self.shared.lock().len()
    }

    /// The first event that `wanted` accepts, past or future.
    pub fn wait(
        &self,
        what: &str,
        deadline: Duration,
        wanted: impl Fn(&Event) -> bool,
    ) -> Result<Event> {
        self.wait_after(0, what, deadline, wanted)
    }

    /// As [`EventLog::wait`], but only events after a mark.
    pub fn wait_after(
        &self,
        mark: usize,
        what: &str,
        deadline: Duration,
        wanted: impl Fn(&Event) -> bool,
    ) -> Result<Event> {
        let begun = Instant::now();
        let mut events = self.shared.lock();
        let mut seen = mark;
        loop {
            if let Some(event) = events.iter().skip(seen).find(|event| wanted(event)) {
                return Ok(event.clone());
            }
            seen = events.len().max(mark);
            let Some(left) = deadline.checked_sub(begun.elapsed()) else {
                let after = events.iter().skip(mark);
                let mut tags: Vec<_> = after.map(|event| event.tag.as_str()).collect();
                tags.dedup();
                let tags = tags.split_off(tags.len().saturating_sub(TAGS_SHOWN_MAX));
                bail!(
                    "gave up after {} s: {what}; the last events: {tags:?}",
                    deadline.as_secs()
                );
            };
            events = self
                .shared
                .more
                .wait_timeout(events, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

impl Drop for EventLog {
    fn drop(&mut self) {
        self.stream.shutdown(std::net::Shutdown::Both).ok();
    }
}

/// Reads until the bus or the log closes the stream.
fn listen(mut stream: UnixStream, heard: &Shared) {
    let mut buffer = Vec::new();
    let mut chunk = vec![0; 64 * 1024];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => return,
            Ok(count) => buffer.extend(chunk.iter().take(count)),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return,
        }
        let at = Instant::now();
        while let Ok(Some((event, used))) = next(&buffer, at) {
            buffer.drain(..used);
            if let Some(event) = event {
                heard.lock().push(event);
                heard.more.notify_all();
            }
        }
    }
}

/// The first frame of a buffer with its length; the frame is nothing if it
/// is not an event.
///
/// Salt 3006 puts a length of four bytes before each frame, the later releases
/// do not. A frame is a map, so its first byte is above any that a sensible
/// length begins with.
fn next(buffer: &[u8], at: Instant) -> Result<Option<(Option<Event>, usize)>> {
    let (start, body) = match buffer.first() {
        Some(0x80..) => (0, buffer),
        _ => {
            let Some((len, rest)) = buffer.split_first_chunk::<4>() else {
                return Ok(None);
            };
            let len = usize::try_from(u32::from_be_bytes(*len))?;
            match rest.get(..len) {
                Some(body) => (4, body),
                None => return Ok(None),
            }
        }
    };
    Ok(Item::unpack_prefix(body)?.map(|(frame, used)| (event_of(&frame, at), start + used)))
}

/// The event in `{head: {}, body: tag, two line ends, data}`.
fn event_of(frame: &Item, at: Instant) -> Option<Event> {
    let body = frame.get("body")?.bytes()?;
    let cut = body.windows(2).position(|pair| pair == b"\n\n")?;
    let (tag, data) = body.split_at(cut);
    Some(Event {
        tag: String::from_utf8_lossy(tag).into_owned(),
        data: Item::unpack(data.get(2..)?).ok()?.to_json(),
        at,
    })
}
