//! The spool itself: what is pending, where it stands, and what to do when
//! there is too much of it.

mod rewrite;

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tracing::{debug, warn};

use crate::error::SpoolError;
use crate::record::{self, HEADER_BYTES, Read, Record};
use crate::segment::{self, Segment};
use crate::stamp;

/// A segment is closed at this size and a new one begun.
const SEGMENT_BYTES: u64 = 1024 * 1024;

/// Files are rewritten when more than this in them is done with, and more than
/// is still pending.
const GARBAGE_BYTES_MIN: u64 = 256 * 1024;

/// The bounds of a spool. What is oldest is dropped first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of pending messages.
    pub bytes_max: u64,
    /// Age of a pending message.
    pub age_max: Duration,
}

/// Messages that a limit has cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Because there were too many bytes.
    pub too_much: u64,
    /// Because they were too old.
    pub too_old: u64,
}

/// A message that waits to be acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// Its number.
    pub sequence: u64,
    /// When it was appended.
    pub appended: SystemTime,
    /// What it holds.
    pub payload: Vec<u8>,
}

/// What the disk may not have yet.
#[derive(Debug)]
pub struct Unsynced {
    dir: PathBuf,
    file: File,
}

impl Unsynced {
    /// Waits until the disk has it.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn sync(self) -> Result<(), SpoolError> {
        self.file.sync_data().map_err(|source| SpoolError::Write {
            path: self.dir,
            source,
        })
    }
}

/// Where a pending message stands.
#[derive(Debug, Clone, Copy)]
struct Place {
    segment: u64,
    at: u64,
    /// Of the payload, with its time.
    bytes: usize,
    appended: SystemTime,
}

/// A directory of messages that wait to be acknowledged.
#[derive(Debug)]
pub struct Spool {
    dir: PathBuf,
    limits: Limits,
    /// The last one is appended to.
    segments: VecDeque<Segment>,
    pending: BTreeMap<u64, Place>,
    pending_bytes: u64,
    next: u64,
    dirty: bool,
    dropped: Dropped,
    /// Whether messages are meant to grow too old.
    is_window: bool,
}

impl Spool {
    /// Opens the spool in `dir`, which is made if it is not there. What a
    /// crash left half written is cut off; damage in the middle of a file
    /// costs the rest of that file, which is reported.
    ///
    /// # Errors
    /// When the directory or a file in it cannot be used.
    pub fn open(dir: &Path, limits: Limits) -> Result<Self, SpoolError> {
        let failed = |source| SpoolError::Open {
            path: dir.to_owned(),
            source,
        };
        make_dir(dir).map_err(failed)?;
        let mut spool = Self {
            dir: dir.to_owned(),
            limits,
            segments: VecDeque::new(),
            pending: BTreeMap::new(),
            pending_bytes: 0,
            next: 1,
            dirty: false,
            dropped: Dropped::default(),
            is_window: false,
        };
        let numbers = segment::list(dir).map_err(failed)?;
        for number in numbers {
            let bytes = spool.replay(number).map_err(failed)?;
            let segment = Segment::open(dir, number, bytes).map_err(failed)?;
            spool.segments.push_back(segment);
        }
        Ok(spool)
    }

    /// The same spool as a window onto the last while, which nobody empties:
    /// that messages grow too old is as it should be, and not reported.
    #[must_use]
    pub fn as_window(mut self) -> Self {
        self.is_window = true;
        self
    }

    /// Appends a message and returns its number. The process may die after
    /// this; for a power cut see [`Self::sync`].
    ///
    /// # Errors
    /// When the disk does not take it, or it is larger than the spool may be.
    pub fn append(&mut self, now: SystemTime, payload: &[u8]) -> Result<u64, SpoolError> {
        let bytes = (payload.len() + stamp::TIME_BYTES) as u64;
        if bytes > self.limits.bytes_max {
            let max = self.limits.bytes_max;
            return Err(SpoolError::TooLarge {
                bytes: payload.len() as u64,
                max,
            });
        }
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

    /// Whether [`Self::tidy`] has something to do.
    pub fn is_untidy(&self) -> bool {
        let on_disk: u64 = self.segments.iter().map(|segment| segment.bytes).sum();
        let garbage = on_disk.saturating_sub(self.pending_bytes);
        garbage >= GARBAGE_BYTES_MIN && garbage >= self.pending_bytes
    }

    /// Rewrites what is pending into one new file when most of what is on disk
    /// is done with.
    ///
    /// # Errors
    /// When the disk does not take it; nothing is lost.
    pub fn tidy(&mut self) -> Result<(), SpoolError> {
        if !self.is_untidy() {
            return Ok(());
        }
        self.rewrite().map_err(|source| self.write_error(source))
    }

    /// The oldest pending messages with numbers above `after`, at most `count`.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn pending(&self, after: u64, count: usize) -> Result<Vec<Pending>, SpoolError> {
        let failed = |source| SpoolError::Read {
            path: self.dir.clone(),
            source,
        };
        self.pending
            .range(after.saturating_add(1)..)
            .take(count)
            .map(|(sequence, place)| {
                let payload = self.payload(place).map_err(failed)?;
                Ok(Pending {
                    sequence: *sequence,
                    appended: place.appended,
                    payload,
                })
            })
            .collect()
    }

    /// Makes all that was appended survive a power cut.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn sync(&mut self) -> Result<(), SpoolError> {
        if !std::mem::take(&mut self.dirty) || self.pending.is_empty() {
            return Ok(());
        }
        let synced = self.segments.back().map_or(Ok(()), Segment::sync);
        synced.map_err(|source| self.write_error(source))
    }

    /// As [`Self::sync`] for a spool behind a lock: what has to be waited for,
    /// without the spool; `None` if there is nothing to wait for.
    ///
    /// # Errors
    /// When the system has no more file descriptors.
    pub fn to_sync(&mut self) -> Result<Option<Unsynced>, SpoolError> {
        if !std::mem::take(&mut self.dirty) || self.pending.is_empty() {
            return Ok(None);
        }
        let file = self.segments.back().map(Segment::handle).transpose();
        let file = file.map_err(|source| self.write_error(source))?;
        let dir = self.dir.clone();
        Ok(file.map(|file| Unsynced { dir, file }))
    }

    /// Drops what is older than the limit.
    ///
    /// # Errors
    /// When the disk does not take the note of it.
    pub fn expire(&mut self, now: SystemTime) -> Result<(), SpoolError> {
        while let Some((&sequence, place)) = self.pending.first_key_value()
            && is_older(place.appended, now, self.limits.age_max)
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

    /// What limits have cost since the spool was opened.
    pub fn dropped(&self) -> Dropped {
        self.dropped
    }

    /// Reads one file and returns how many of its bytes are good.
    fn replay(&mut self, number: u64) -> io::Result<u64> {
        let bytes = segment::read(&self.dir, number)?;
        let mut at = 0;
        loop {
            match record::read(bytes.get(at..).unwrap_or_default()) {
                Read::Record(Record::Message { sequence, payload }, length) => {
                    let (time, _) = stamp::split(payload);
                    let place = Place {
                        segment: number,
                        at: (at + HEADER_BYTES) as u64,
                        bytes: payload.len(),
                        appended: time,
                    };
                    self.remember(sequence, place);
                    self.next = self.next.max(sequence + 1);
                    at += length;
                }
                Read::Record(Record::Acknowledged(sequence), length) => {
                    self.forget(sequence);
                    self.next = self.next.max(sequence + 1);
                    at += length;
                }
                Read::End => break,
                Read::Damaged => {
                    warn!(
                        spool = %self.dir.display(), file = number, at,
                        "a file of the spool is damaged; what is behind the damage is lost"
                    );
                    break;
                }
            }
        }
        Ok(at as u64)
    }

    fn write_message(&mut self, sequence: u64, now: SystemTime, payload: &[u8]) -> io::Result<()> {
        let stamped = stamp::stamped(now, payload);
        let mut bytes = Vec::with_capacity(HEADER_BYTES + stamped.len());
        record::write_message(&mut bytes, sequence, &stamped);
        let (segment, at) = self.write(&bytes)?;
        let at = at + HEADER_BYTES as u64;
        let place = Place {
            segment,
            at,
            bytes: stamped.len(),
            appended: now,
        };
        self.remember(sequence, place);
        Ok(())
    }

    /// Appends to the last segment, or to a new one when that is full.
    fn write(&mut self, bytes: &[u8]) -> io::Result<(u64, u64)> {
        self.dirty = true;
        if let Some(last) = self.segments.back_mut()
            && last.bytes < SEGMENT_BYTES
        {
            return Ok((last.number, last.append(bytes)?));
        }
        if let Some(last) = self.segments.back() {
            last.sync()?;
        }
        let number = self.segments.back().map_or(1, |last| last.number + 1);
        let mut segment = Segment::create(&self.dir, number)?;
        let at = segment.append(bytes)?;
        self.segments.push_back(segment);
        Ok((number, at))
    }

    fn remember(&mut self, sequence: u64, place: Place) {
        self.pending_bytes += place.bytes as u64;
        if let Some(before) = self.pending.insert(sequence, place) {
            self.pending_bytes -= before.bytes as u64;
        }
    }

    fn forget(&mut self, sequence: u64) -> Option<Place> {
        let place = self.pending.remove(&sequence)?;
        self.pending_bytes -= place.bytes as u64;
        Some(place)
    }

    /// Drops the oldest messages until one of `bytes` bytes fits.
    fn make_room(&mut self, now: SystemTime, bytes: u64) {
        if let Err(error) = self.expire(now) {
            warn!(%error, "old messages stay in the spool");
        }
        while self.pending_bytes + bytes > self.limits.bytes_max {
            let Some((&sequence, _)) = self.pending.first_key_value() else {
                return;
            };
            self.dropped.too_much += 1;
            warn!(sequence, "the spool is full; its oldest message is dropped");
            if let Err(error) = self.acknowledge(sequence) {
                warn!(%error, "the drop is not noted on disk");
            }
        }
    }

    fn stamped(&self, place: &Place) -> io::Result<Vec<u8>> {
        let segment = self
            .segments
            .iter()
            .find(|segment| segment.number == place.segment)
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        segment.read_at(place.at, place.bytes)
    }

    fn payload(&self, place: &Place) -> io::Result<Vec<u8>> {
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

fn make_dir(dir: &Path) -> io::Result<()> {
    const MODE_DIR: u32 = 0o700;
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(MODE_DIR).create(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
        done => done,
    }
}

fn is_older(appended: SystemTime, now: SystemTime, age_max: Duration) -> bool {
    now.duration_since(appended).is_ok_and(|age| age > age_max)
}
