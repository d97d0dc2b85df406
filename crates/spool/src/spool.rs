//! The spool itself: which messages are pending, where they are, and what happens
//! when there are too many.

mod opening;
mod rewrite;
mod syncing;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tracing::{debug, error, warn};

use self::syncing::OnDisk;
pub use self::syncing::Unsynced;
use crate::error::SpoolError;
use crate::limits::{Dropped, Limits, SEGMENT_BYTES};
use crate::moment::{Moment, Waiting};
use crate::record::{self, HEADER_BYTES};
use crate::segment::Segment;
use crate::stamp;

/// A message that waits to be acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// Its number.
    pub sequence: u64,
    /// How long it has waited.
    pub age: Duration,
    /// What it holds.
    pub payload: Vec<u8>,
}

/// Where a pending message is stored.
#[derive(Debug, Clone, Copy)]
struct Location {
    segment: u64,
    at: u64,
    /// Of the payload, with its time.
    bytes: usize,
    waiting: Waiting,
}

/// A directory of messages that wait to be acknowledged.
#[derive(Debug)]
pub struct Spool {
    dir: PathBuf,
    limits: Limits,
    /// The last one is appended to.
    segments: VecDeque<Segment>,
    pending: BTreeMap<u64, Location>,
    pending_bytes: u64,
    next: u64,
    next_segment: u64,
    on_disk: OnDisk,
    dropped: Dropped,
    /// Whether messages expire.
    is_window: bool,
}

impl Spool {
    /// Appends a message and returns its number. The process may die after
    /// this; for a power cut see [`Self::sync`].
    ///
    /// # Errors
    /// When the disk does not take it, or it is larger than the spool may be.
    pub fn append(&mut self, now: Moment, payload: &[u8]) -> Result<u64, SpoolError> {
        let bytes = (payload.len() + stamp::TIME_BYTES) as u64;
        if bytes > self.limits.bytes_max {
            let max = self.limits.bytes_max;
            return Err(SpoolError::TooLarge {
                bytes: payload.len() as u64,
                max,
            });
        }
        self.restore()?;
        self.make_room(now, bytes);
        let sequence = self.next;
        self.write_message(sequence, now, payload)
            .map_err(|source| self.write_error(source))?;
        self.next += 1;
        Ok(sequence)
    }

    /// Forgets a message that has arrived. One that is not pending is ignored:
    /// it was dropped, or acknowledged before.
    ///
    /// # Errors
    /// When the disk does not take the note; the message is not pending in
    /// this process any more, but may be again in the next.
    pub fn acknowledge(&mut self, sequence: u64) -> Result<(), SpoolError> {
        self.acknowledge_untidily(sequence)?;
        self.tidy()
    }

    /// The same without rewriting files, which may take a while: whoever calls
    /// this calls [`Self::tidy`] some time where it can wait.
    ///
    /// # Errors
    /// As [`Self::acknowledge`].
    pub fn acknowledge_untidily(&mut self, sequence: u64) -> Result<(), SpoolError> {
        if self.forget(sequence).is_none() {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        record::write_acknowledged(&mut bytes, sequence);
        self.write(&bytes)
            .map(drop)
            .map_err(|source| self.write_error(source))
    }

    /// The oldest pending messages with numbers above `after`, at most `count`.
    /// One that cannot be read is dropped, or it would hide the others for ever.
    pub fn pending(&mut self, now: Moment, after: u64, count: usize) -> Vec<Pending> {
        let mut found = Vec::new();
        let mut unreadable = Vec::new();
        for (&sequence, place) in self.pending.range(after.saturating_add(1)..) {
            if found.len() == count {
                break;
            }
            match self.payload(place) {
                Ok(payload) => found.push(Pending {
                    sequence,
                    age: place.waiting.age(now),
                    payload,
                }),
                Err(error) => unreadable.push((sequence, error)),
            }
        }
        for (sequence, error) in unreadable {
            error!(
                spool = %self.dir.display(), sequence, %error,
                "a message cannot be read back and is dropped"
            );
            self.dropped.unreadable += 1;
            self.forget(sequence);
        }
        found
    }

    /// Drops what is older than the limit.
    ///
    /// # Errors
    /// When the disk does not take the note of it.
    pub fn expire(&mut self, now: Moment) -> Result<(), SpoolError> {
        while let Some((&sequence, place)) = self.pending.first_key_value()
            && place.waiting.age(now) > self.limits.age_max
        {
            self.dropped.too_old += 1;
            if self.is_window {
                debug!(sequence, "a message is old enough to go");
            } else {
                warn!(
                    sequence,
                    "a message was not acknowledged in time and is dropped"
                );
            }
            self.acknowledge(sequence)?;
        }
        Ok(())
    }

    /// How many messages are pending.
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Bytes of the messages that are pending.
    pub fn bytes(&self) -> u64 {
        self.pending_bytes
    }

    /// How long the oldest message that is pending has waited; `None` if none is.
    pub fn oldest_age(&self, now: Moment) -> Option<Duration> {
        let (_, oldest) = self.pending.first_key_value()?;
        Some(oldest.waiting.age(now))
    }

    /// Whether a message of so many bytes fits without an older one being dropped.
    pub fn has_room(&self, bytes: usize) -> bool {
        let bytes = (bytes + stamp::TIME_BYTES) as u64;
        self.pending_bytes.saturating_add(bytes) <= self.limits.bytes_max
    }

    /// What limits and the disk have cost since the spool was opened.
    pub fn dropped(&self) -> Dropped {
        self.dropped
    }

    fn write_message(&mut self, sequence: u64, now: Moment, payload: &[u8]) -> io::Result<()> {
        let stamped = stamp::stamped(now.wall, payload);
        let (segment, at) = self.write_stamped(sequence, &stamped)?;
        let place = Location {
            segment,
            at,
            bytes: stamped.len(),
            waiting: Waiting::begin(now),
        };
        self.remember(sequence, place);
        Ok(())
    }

    /// Appends a message; the segment it is in, and where in that it is.
    fn write_stamped(&mut self, sequence: u64, stamped: &[u8]) -> io::Result<(u64, u64)> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + stamped.len());
        record::write_message(&mut bytes, sequence, stamped);
        let (segment, at) = self.write(&bytes)?;
        Ok((segment, at + HEADER_BYTES as u64))
    }

    /// Appends to the last segment, or to a new one when that is full.
    fn write(&mut self, bytes: &[u8]) -> io::Result<(u64, u64)> {
        if let Some(last) = self.segments.back_mut()
            && last.bytes < SEGMENT_BYTES
        {
            self.on_disk.lacks(last.number);
            return Ok((last.number, last.append(bytes)?));
        }
        self.on_disk.lacks(self.next_segment);
        let mut segment = self.new_segment()?;
        match segment.append(bytes) {
            Ok(at) => {
                let number = segment.number;
                self.segments.push_back(segment);
                Ok((number, at))
            }
            Err(error) => {
                // A full disk must not fill up with empty files.
                let _ = segment.remove();
                Err(error)
            }
        }
    }

    fn new_segment(&mut self) -> io::Result<Segment> {
        // Somebody may have removed it.
        opening::make_dir(&self.dir)?;
        let segment = Segment::create(&self.dir, self.next_segment)?;
        self.next_segment += 1;
        Ok(segment)
    }

    fn remember(&mut self, sequence: u64, place: Location) {
        self.pending_bytes += place.bytes as u64;
        if let Some(before) = self.pending.insert(sequence, place) {
            self.pending_bytes -= before.bytes as u64;
        }
    }

    fn forget(&mut self, sequence: u64) -> Option<Location> {
        let place = self.pending.remove(&sequence)?;
        self.pending_bytes -= place.bytes as u64;
        Some(place)
    }

    /// Drops the oldest messages until one of `bytes` bytes fits.
    fn make_room(&mut self, now: Moment, bytes: u64) {
        if let Err(error) = self.expire(now) {
            warn!(%error, "old messages could not be removed from the spool");
        }
        while self.pending_bytes + bytes > self.limits.bytes_max {
            let Some((&sequence, _)) = self.pending.first_key_value() else {
                return;
            };
            self.dropped.too_much += 1;
            warn!(sequence, "the spool is full; its oldest message is dropped");
            if let Err(error) = self.acknowledge(sequence) {
                warn!(%error, "the drop could not be recorded on disk");
            }
        }
    }

    fn stamped(&self, place: &Location) -> io::Result<Vec<u8>> {
        let segment = self
            .segments
            .iter()
            .find(|segment| segment.number == place.segment)
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        segment.read_at(place.at, place.bytes)
    }

    fn payload(&self, place: &Location) -> io::Result<Vec<u8>> {
        let mut stamped = self.stamped(place)?;
        Ok(stamped.split_off(stamp::TIME_BYTES.min(stamped.len())))
    }

    fn write_error(&self, source: io::Error) -> SpoolError {
        SpoolError::Write {
            path: self.dir.clone(),
            source,
        }
    }
}
