//! Getting rid of what is done with: pending messages are written anew.
//!
//! Invariant: the old files go only when the new one is on the disk.

use std::collections::VecDeque;
use std::io;

use tracing::warn;

use super::{Place, Spool};
use crate::record::{self, HEADER_BYTES};
use crate::segment::Segment;

impl Spool {
    /// Writes what is pending to a new file and removes all others.
    pub(super) fn rewrite(&mut self) -> io::Result<()> {
        let number = self.segments.back().map_or(1, |last| last.number + 1);
        let mut fresh = Segment::create(&self.dir, number)?;
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
            if let Err(error) = old.remove() {
                warn!(spool = %self.dir.display(), %error, "an old file of the spool stays");
            }
        }
        Ok(())
    }

    fn copy_pending(&self, fresh: &mut Segment) -> io::Result<Vec<(u64, Place)>> {
        let mut places = Vec::with_capacity(self.pending.len());
        for (&sequence, place) in &self.pending {
            let stamped = self.stamped(place)?;
            let mut bytes = Vec::with_capacity(HEADER_BYTES + stamped.len());
            record::write_message(&mut bytes, sequence, &stamped);
            let at = fresh.append(&bytes)? + HEADER_BYTES as u64;
            places.push((
                sequence,
                Place {
                    segment: fresh.number,
                    at,
                    ..*place
                },
            ));
        }
        Ok(places)
    }
}
