//! The waiting returns, on disk and in memory: the data behind the lock of
//! [`super::shared_spool`].
//!
//! Invariant: a return that cannot be written to the disk waits in memory, and
//! moves to the disk as soon as that works again.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use halite_spool::{Limits, Moment, Pending, Spool, SpoolError};
use tracing::{error, info, warn};

use super::unspooled::Unspooled;
use crate::core::sign_in::chain;
use crate::limits::DELIVERIES_MAX;

/// Called with each return that an earlier run has left.
type Found = Box<dyn Fn(&[u8]) + Send>;

/// The state of the returns that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitingState {
    /// Their bytes, on disk and in memory.
    pub bytes: u64,
    /// How long the oldest one has waited; zero if none does.
    pub oldest: Duration,
    /// How many were dropped since the minion started: they became too old or too many,
    /// no master could store them, or the disk did not return them.
    pub dropped: u64,
}

/// The returns.
pub(super) struct KeptReturns {
    dir: PathBuf,
    limits: Limits,
    found: Found,
    /// `None` while its directory is unusable.
    pub(super) spool: Option<Spool>,
    /// Returns that could not be written to the spool.
    pub(super) unspooled: Unspooled,
    /// Whether the log says already that the disk fails.
    pub(super) failure_logged: bool,
    /// How many were lost in memory.
    lost: u64,
}

impl KeptReturns {
    /// Opens the spool in `dir`, if that is possible now. `found` is called with
    /// each return that an earlier run has left there.
    pub(super) fn open(dir: &Path, limits: Limits, found: impl Fn(&[u8]) + Send + 'static) -> Self {
        let mut kept = Self {
            dir: dir.to_owned(),
            limits,
            found: Box::new(found),
            spool: None,
            unspooled: Unspooled::default(),
            failure_logged: false,
            lost: 0,
        };
        if let Err(error) = kept.spool() {
            kept.log_failure(&error);
        }
        kept
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.spool.as_ref().map_or(0, Spool::len) + self.unspooled.len()
    }

    /// Their size, their age, and how many were lost.
    pub(super) fn state(&self, now: Moment) -> WaitingState {
        let spool = self.spool.as_ref();
        let in_spool = spool.and_then(|spool| spool.oldest_age(now));
        let in_memory = self.unspooled.oldest_age(now);
        let dropped = spool.map_or(0, |spool| spool.dropped().total());
        WaitingState {
            bytes: spool.map_or(0, Spool::bytes) + self.unspooled.bytes() as u64,
            oldest: in_spool.max(in_memory).unwrap_or_default(),
            dropped: dropped + self.lost,
        }
    }

    /// The spool, opened if that is possible now.
    fn spool(&mut self) -> Result<&mut Spool, SpoolError> {
        match &mut self.spool {
            Some(spool) => Ok(spool),
            none => {
                let mut spool = Spool::open(&self.dir, self.limits, Moment::now())?;
                find_all(&mut spool, &self.found);
                Ok(none.insert(spool))
            }
        }
    }

    /// Stores a return, on disk if possible; returns its number.
    pub(super) fn append(&mut self, now: Moment, packed: Vec<u8>) -> u64 {
        let appended = self.spool().and_then(|spool| spool.append(now, &packed));
        match appended {
            Ok(sequence) => {
                self.log_recovery();
                sequence
            }
            Err(error) => {
                self.log_failure(&error);
                let (sequence, dropped) = self.unspooled.put(now, packed);
                if dropped > 0 {
                    self.lost += dropped as u64;
                    error!(
                        returns = dropped,
                        "too many returns in memory: the oldest are lost"
                    );
                }
                sequence
            }
        }
    }

    /// The oldest that are not `carried`, at most `count`. Those that are too old
    /// are dropped, and what waits in memory goes to the disk if it can.
    pub(super) fn take(
        &mut self,
        now: Moment,
        count: usize,
        carried: &HashSet<u64>,
    ) -> Vec<Pending> {
        if let Err(error) = self.spool() {
            self.log_failure(&error);
        }
        self.expire(now);
        self.move_to_disk(now, carried);
        let is_free = |sequence| !carried.contains(&sequence);
        let mut taken: Vec<Pending> = Vec::new();
        let mut after = 0;
        while let Some(spool) = self.spool.as_mut().filter(|_| taken.len() < count) {
            let mut page = spool.pending(now, after, count);
            let Some(last) = page.last() else {
                break;
            };
            after = last.sequence;
            page.retain(|pending| is_free(pending.sequence));
            page.truncate(count - taken.len());
            taken.extend(page);
        }
        let more = count - taken.len();
        taken.extend(self.unspooled.pending(now, more, is_free));
        taken
    }

    /// Removes one that a master has acknowledged.
    pub(super) fn acknowledge(&mut self, sequence: u64) {
        if Unspooled::has_number(sequence) {
            self.unspooled.take(|known| known == sequence);
            return;
        }
        let Some(spool) = &mut self.spool else {
            return;
        };
        if let Err(error) = spool.acknowledge_untidily(sequence) {
            warn!(
                sequence,
                "a delivered return may be delivered again: {}",
                chain(&error)
            );
        }
    }

    /// Drops returns that are too old.
    fn expire(&mut self, now: Moment) {
        if let Some(Err(error)) = self.spool.as_mut().map(|spool| spool.expire(now)) {
            warn!("{}", chain(&error));
        }
        let lost = self.unspooled.expire(now, self.limits.age_max);
        if lost > 0 {
            self.lost += lost as u64;
            error!(
                returns = lost,
                "returns are lost: no master accepted them in time"
            );
        }
    }

    /// Moves returns from memory to the disk, unless they are being delivered. One
    /// that is larger than the spool's limit stays in memory and does not stop the
    /// others.
    fn move_to_disk(&mut self, now: Moment, carried: &HashSet<u64>) {
        let mut passed = HashSet::new();
        while let Some(held) = self
            .unspooled
            .take(|sequence| !carried.contains(&sequence) && !passed.contains(&sequence))
        {
            let appended = self
                .spool()
                .and_then(|spool| spool.append(now, &held.packed));
            match appended {
                Ok(_) => self.log_recovery(),
                Err(error) => {
                    passed.insert(held.sequence);
                    self.unspooled.give_back(held);
                    if !matches!(error, SpoolError::TooLarge { .. }) {
                        return;
                    }
                }
            }
        }
    }

    /// Writes returns again whose files somebody has removed.
    pub(super) fn restore(&mut self) {
        match self.spool.as_mut().map_or(Ok(false), Spool::restore) {
            Ok(false) => {}
            Ok(true) => self.log_recovery(),
            Err(error) => self.log_failure(&error),
        }
    }

    /// Logs that the disk works again, after a failure.
    fn log_recovery(&mut self) {
        if self.unspooled.len() == 0 && std::mem::take(&mut self.failure_logged) {
            info!("returns can be written to disk again");
        }
    }

    /// Logs a failure of the disk, once until it works again.
    fn log_failure(&mut self, error: &SpoolError) {
        if !std::mem::replace(&mut self.failure_logged, true) {
            error!(
                "could not write returns to disk: they are kept in memory until a master has \
                 stored them: {}",
                chain(error)
            );
        }
    }
}

/// Calls `found` with everything that an earlier run has left, page by page.
fn find_all(spool: &mut Spool, found: &Found) {
    let mut after = 0;
    loop {
        let page = spool.pending(Moment::now(), after, DELIVERIES_MAX);
        let Some(last) = page.last() else {
            break;
        };
        after = last.sequence;
        page.iter().for_each(|pending| found(&pending.payload));
    }
    if !spool.is_empty() {
        let returns = spool.len();
        warn!(
            returns,
            "found returns of an earlier run that no master has stored"
        );
    }
}
