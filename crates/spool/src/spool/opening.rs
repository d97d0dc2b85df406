//! What an earlier process has left in the directory.
//!
//! Invariant: whatever the files hold, a spool opens; each message that can be
//! read is found again, and what cannot be read is reported.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use tracing::{error, warn};

use super::{Location, OnDisk, Spool};
use crate::error::SpoolError;
use crate::limits::{Dropped, Limits};
use crate::moment::{Moment, Waiting};
use crate::record::{self, HEADER_BYTES, Read, Record};
use crate::segment::{self, Segment};
use crate::stamp;

impl Spool {
    /// Opens the spool in `dir`, which is made if it is not there. What a
    /// crash left half written is cut off; damage in a file costs the messages
    /// that it hits, which is reported. However old they look, messages are
    /// kept for a while.
    ///
    /// # Errors
    /// When the directory cannot be used.
    pub fn open(dir: &Path, limits: Limits, now: Moment) -> Result<Self, SpoolError> {
        Self::open_as(dir, limits, now, false)
    }

    /// The same as a window onto the last while, which nobody empties: that
    /// messages grow too old is as it should be and not reported, and none that
    /// may be too old is in it.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_window(dir: &Path, limits: Limits, now: Moment) -> Result<Self, SpoolError> {
        Self::open_as(dir, limits, now, true)
    }

    fn open_as(
        dir: &Path,
        limits: Limits,
        now: Moment,
        is_window: bool,
    ) -> Result<Self, SpoolError> {
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
            next_segment: 1,
            on_disk: OnDisk::default(),
            dropped: Dropped::default(),
            is_window,
        };
        for number in segment::list(dir).map_err(failed)? {
            spool.next_segment = number.saturating_add(1);
            let opened = spool
                .replay(number, now)
                .and_then(|bytes| Segment::open(dir, number, bytes));
            match opened {
                Ok(segment) => {
                    spool.on_disk.lacks(number);
                    spool.segments.push_back(segment);
                }
                Err(cause) => {
                    error!(
                        spool = %dir.display(), file = number, error = %cause,
                        "a file of the spool cannot be used; its messages stay in it"
                    );
                    spool.forget_segment(number);
                }
            }
        }
        Ok(spool)
    }

    /// Reads one file and returns where its last good record ends.
    fn replay(&mut self, number: u64, now: Moment) -> io::Result<u64> {
        let bytes = segment::read(&self.dir, number)?;
        let mut at = 0;
        let mut end = 0;
        while at < bytes.len() {
            let rest = bytes.get(at..).unwrap_or_default();
            if let Read::Record(record, length) = record::read(rest) {
                self.take_up(record, number, at, now);
                at += length;
                end = at;
                continue;
            }
            // The first byte is none of a record, so the search begins behind.
            let next = rest.get(1..).and_then(record::find);
            let lost = next.map_or(rest.len(), |next| next + 1);
            warn!(
                spool = %self.dir.display(), file = number, at, bytes = lost,
                "a part of the spool is damaged; its messages are lost"
            );
            at += lost;
        }
        Ok(end as u64)
    }

    fn take_up(&mut self, record: Record<'_>, segment: u64, at: usize, now: Moment) {
        let sequence = match record {
            Record::Message { sequence, payload } => {
                let (stamp, _) = stamp::split(payload);
                let age_max = self.limits.age_max;
                let place = Location {
                    segment,
                    at: (at + HEADER_BYTES) as u64,
                    bytes: payload.len(),
                    waiting: match self.is_window {
                        true => Waiting::found_in_window(stamp, now, age_max),
                        false => Waiting::found(stamp, now, age_max),
                    },
                };
                self.remember(sequence, place);
                sequence
            }
            Record::Acknowledged(sequence) => {
                self.forget(sequence);
                sequence
            }
        };
        self.next = self.next.max(sequence.saturating_add(1));
    }

    /// Forgets what stands in a file that cannot be used.
    fn forget_segment(&mut self, number: u64) {
        let of_it =
            |(sequence, place): (&u64, &Location)| (place.segment == number).then_some(*sequence);
        let gone: Vec<u64> = self.pending.iter().filter_map(of_it).collect();
        for sequence in gone {
            self.forget(sequence);
        }
    }
}

pub(super) fn make_dir(dir: &Path) -> io::Result<()> {
    const MODE_DIR: u32 = 0o700;
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(MODE_DIR).create(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
        done => done,
    }
}
