//! Compaction: pending messages are written again, and their old files are removed.
//!
//! Invariant: the old files are removed only when the copies are on the disk, and
//! the oldest first: the record that a message is finished is never in an older
//! file than the message.

use std::collections::VecDeque;
use std::io;

use tracing::warn;

use super::{Location, Spool};
use crate::error::SpoolError;
use crate::limits::GARBAGE_BYTES_MIN;
use crate::record::{self, HEADER_BYTES};
use crate::segment::Segment;

impl Spool {
    /// Whether [`Self::tidy`] has something to do.
    pub fn is_untidy(&self) -> bool {
        let on_disk: u64 = self.segments.iter().map(|segment| segment.bytes).sum();
        let garbage = on_disk.saturating_sub(self.pending_bytes);
        garbage >= GARBAGE_BYTES_MIN && garbage >= self.pending_bytes
    }

    /// Makes room on the disk when most of what is there is done with: the oldest
    /// files go where nothing in them is pending, and only if that does not help is
    /// what is pending written to one new file, which takes a while.
    ///
    /// # Errors
    /// When the disk does not take it; nothing is lost.
    pub fn tidy(&mut self) -> Result<(), SpoolError> {
        if self.is_untidy() {
            self.drop_oldest();
        }
        // While files that are older than all others are being removed, all others stay:
        // the next call goes on.
        if !self.is_untidy() || self.on_disk.is_removing() {
            return Ok(());
        }
        self.rewrite().map_err(|source| self.write_error(source))
    }

    /// The same a little at a time, for a spool behind a lock: writes what is pending
    /// in the oldest file once more, and lets that file go with the next
    /// [`Unsynced::sync`](super::Unsynced::sync).
    ///
    /// # Errors
    /// When the disk does not take it; nothing is lost.
    pub fn tidy_some(&mut self) -> Result<(), SpoolError> {
        if self.is_untidy() {
            self.drop_oldest();
        }
        // The last one is appended to.
        if !self.is_untidy() || self.segments.len() < 2 || self.on_disk.is_replacing() {
            return Ok(());
        }
        self.move_oldest()
            .map_err(|source| self.write_error(source))
    }

    /// Writes what is pending to a new file if somebody has removed files of
    /// this spool, with their directory perhaps. Whether that was so.
    ///
    /// # Errors
    /// When the disk does not take it; nothing is lost while this process lives.
    pub fn restore(&mut self) -> Result<bool, SpoolError> {
        if !self.segments.iter().any(Segment::is_removed) {
            return Ok(false);
        }
        self.rewrite().map_err(|source| self.write_error(source))?;
        warn!(
            spool = %self.dir.display(), messages = self.pending.len(),
            "files of the spool were removed; their messages are written again"
        );
        Ok(true)
    }

    /// Removes the oldest files up to the first in which something is pending. What
    /// they note as acknowledged is in them, or was in older ones, so nothing comes
    /// back by that.
    fn drop_oldest(&mut self) {
        if self.on_disk.is_replacing() {
            return;
        }
        let first = self.pending.values().map(|place| place.segment).min();
        // The last one is appended to.
        while self.segments.len() > 1
            && let Some(oldest) = self.segments.front()
            && first.is_none_or(|first| oldest.number < first)
            && let Some(oldest) = self.segments.pop_front()
        {
            if let Err(error) = oldest.remove() {
                warn!(
                    spool = %self.dir.display(), %error,
                    "an old file of the spool could not be removed"
                );
                self.segments.push_front(oldest);
                return;
            }
        }
    }

    /// Appends what is pending in the oldest file, of which only that is left then.
    fn move_oldest(&mut self) -> io::Result<()> {
        let Some(oldest) = self.segments.front().map(|oldest| oldest.number) else {
            return Ok(());
        };
        let is_in_it = |(_, place): &(&u64, &Location)| place.segment == oldest;
        let moved = self.pending.iter().filter(is_in_it);
        let moved: Vec<(u64, Location)> = moved.map(|(number, place)| (*number, *place)).collect();
        for (sequence, place) in moved {
            let stamped = self.stamped(&place)?;
            let (segment, at) = self.write_stamped(sequence, &stamped)?;
            let place = Location {
                segment,
                at,
                ..place
            };
            self.pending.insert(sequence, place);
        }
        if let Some(oldest) = self.segments.pop_front() {
            self.on_disk.replace(oldest);
        }
        Ok(())
    }

    /// Writes what is pending to a new file and removes all others.
    fn rewrite(&mut self) -> io::Result<()> {
        let mut fresh = self.new_segment()?;
        let copied = self.copy_pending(&mut fresh);
        let places = match copied.and_then(|places| fresh.sync().map(|()| places)) {
            Ok(places) => places,
            Err(error) => {
                let _ = fresh.remove();
                return Err(error);
            }
        };
        self.pending.extend(places);
        // Until the old files are gone they only repeat what the new one has.
        for old in std::mem::replace(&mut self.segments, VecDeque::from([fresh])) {
            self.on_disk.replace(old);
        }
        self.on_disk.remove_replaced(&self.dir);
        Ok(())
    }

    fn copy_pending(&self, fresh: &mut Segment) -> io::Result<Vec<(u64, Location)>> {
        let mut places = Vec::with_capacity(self.pending.len());
        for (&sequence, place) in &self.pending {
            let stamped = self.stamped(place)?;
            let mut bytes = Vec::with_capacity(HEADER_BYTES + stamped.len());
            record::write_message(&mut bytes, sequence, &stamped);
            let at = fresh.append(&bytes)? + HEADER_BYTES as u64;
            places.push((
                sequence,
                Location {
                    segment: fresh.number,
                    at,
                    ..*place
                },
            ));
        }
        Ok(places)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::{Limits, Moment, Spool};

    /// What is taken in order leaves files that nobody reads again: they go, and no
    /// byte of what is pending is written again.
    #[test]
    fn what_is_taken_in_order_costs_no_rewriting() {
        let dir = tempfile::tempdir().unwrap();
        let limits = Limits {
            bytes_max: 1 << 30,
            age_max: Duration::from_secs(60),
        };
        let mut spool = Spool::open(dir.path(), limits, Moment::now()).unwrap();
        let payload = vec![7; 300_000];
        for _ in 0..60 {
            spool.append(Moment::now(), &payload).unwrap();
        }
        let file = spool.pending[&60].segment;
        let files = spool.segments.len();
        for sequence in 1..=50 {
            spool.acknowledge(sequence).unwrap();
        }
        assert_eq!(spool.pending[&60].segment, file);
        assert!(spool.segments.len() < files / 2, "{files}");
        drop(spool);
        let mut again = Spool::open(dir.path(), limits, Moment::now()).unwrap();
        let found = again.pending(Moment::now(), 0, 100);
        let numbers: Vec<u64> = found.iter().map(|found| found.sequence).collect();
        assert_eq!(numbers, (51..=60).collect::<Vec<_>>());
        assert_eq!(again.append(Moment::now(), b"next").unwrap(), 61);
    }

    /// One that stays would otherwise have all that waits behind it written again.
    #[test]
    fn what_stays_moves_alone_and_its_file_goes_when_the_disk_has_it() {
        let dir = tempfile::tempdir().unwrap();
        let limits = Limits {
            bytes_max: 1 << 30,
            age_max: Duration::from_secs(60),
        };
        let mut spool = Spool::open(dir.path(), limits, Moment::now()).unwrap();
        for number in 1..=60 {
            spool.append(Moment::now(), &vec![number; 300_000]).unwrap();
        }
        let before = spool.segments.len();
        for sequence in 2..=40 {
            spool.acknowledge_untidily(sequence).unwrap();
        }
        let (oldest, place) = (spool.pending[&1].segment, spool.pending[&60].segment);
        spool.tidy_some().unwrap();
        // Only the first was written again, and its file is there still.
        assert_ne!(spool.pending[&1].segment, oldest);
        assert_eq!(spool.pending[&60].segment, place);
        let files = || std::fs::read_dir(dir.path()).unwrap().count();
        assert!(files() >= before);
        let copy = tempfile::tempdir().unwrap();
        for entry in std::fs::read_dir(dir.path()).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
        }
        // Nothing younger goes before the disk has it.
        let unsynced = spool.to_sync().unwrap();
        spool.tidy_some().unwrap();
        assert!(files() >= before);
        unsynced.sync().unwrap();
        spool.tidy_some().unwrap();
        assert!(files() < before / 2, "{} of {before}", files());
        let check = |mut spool: Spool| {
            let found = spool.pending(Moment::now(), 0, 100);
            let numbers: Vec<u64> = found.iter().map(|found| found.sequence).collect();
            let wanted: Vec<u64> = [1].into_iter().chain(41..=60).collect();
            assert_eq!(numbers, wanted);
            assert!(
                found
                    .iter()
                    .all(|it| u64::from(it.payload[0]) == it.sequence)
            );
        };
        drop(spool);
        check(Spool::open(dir.path(), limits, Moment::now()).unwrap());
        // Who is killed in between finds it once.
        check(Spool::open(copy.path(), limits, Moment::now()).unwrap());
    }
}
