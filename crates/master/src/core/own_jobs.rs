//! Bounds what a minion makes this master store of jobs that the master did not
//! start: returns of a schedule or of `salt-call`, jobs of other masters, those
//! that a minion publishes, and invented ids.
//!
//! Invariant: in one window a minion grows the job cache by at most
//! `own_jobs_max_size` in this way, and the log says once when that is used up.
//! Further returns are acknowledged and fired on the event bus, but not stored.

use std::collections::HashMap;
use std::time::Duration;

use halite_proto::MinionId;

/// Disk space of even the smallest job: two directories, four files. With the default of
/// the option a minion has room for more than one job a second, day and night.
pub const JOB_BYTES: u64 = 16 * 1024;

/// The window if jobs are kept without a limit.
pub const WINDOW_DEFAULT: Duration = Duration::from_secs(24 * 60 * 60);

/// Whether a job may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Yes.
    Enough,
    /// Not for one as large as this, but for smaller ones.
    TooLarge,
    /// No more from here on, and that is worth a line in the log.
    JustUsedUp,
    /// No, as before.
    UsedUp,
}

/// What each minion has used.
#[derive(Debug)]
pub struct OwnJobs {
    bytes_max: u64,
    window_s: i64,
    since_s: i64,
    used: HashMap<MinionId, u64>,
}

impl OwnJobs {
    /// This many bytes for each minion, anew in each period for which jobs are kept; zero
    /// means without a limit.
    pub fn new(bytes_max: u64, keep: Duration) -> Self {
        let window = if keep.is_zero() { WINDOW_DEFAULT } else { keep };
        Self {
            bytes_max,
            window_s: i64::try_from(window.as_secs()).unwrap_or(i64::MAX),
            since_s: 0,
            used: HashMap::new(),
        }
    }

    /// How many bytes there are for each.
    pub fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// Takes room for one more job of `id` with this much in it.
    pub fn take(&mut self, id: &MinionId, bytes: u64, now_s: i64) -> Room {
        // Also when the clock goes back.
        if !(0..self.window_s).contains(&now_s.saturating_sub(self.since_s)) {
            self.since_s = now_s;
            self.used.clear();
        }
        let used = self.used.entry(id.clone()).or_default();
        if *used > self.bytes_max {
            return Room::UsedUp;
        }
        let more = used.saturating_add(bytes).saturating_add(JOB_BYTES);
        if more > self.bytes_max {
            // A single large one does not close the door for small ones, but
            // it must not be tried without an end either.
            *used = used.saturating_add(JOB_BYTES);
            return match *used > self.bytes_max {
                true => Room::JustUsedUp,
                false => Room::TooLarge,
            };
        }
        *used = more;
        Room::Enough
    }

    /// Returns the space taken for a job of this size, because the disk did not accept it
    /// or had it already. While a disk is full a minion sends each of its jobs
    /// repeatedly.
    pub fn give_back(&mut self, id: &MinionId, bytes: u64) {
        if let Some(used) = self.used.get_mut(id) {
            *used = used.saturating_sub(bytes.saturating_add(JOB_BYTES));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);
    const MAX: u64 = 2 * 1024 * 1024 * 1024;

    fn id(name: &str) -> MinionId {
        MinionId::parse(name).unwrap()
    }

    #[test]
    fn a_flood_is_bounded_told_once_and_nobody_elses_trouble() {
        let mut jobs = OwnJobs::new(MAX, DAY);
        let mut kept = 0_u64;
        let mut told = 0;
        for _ in 0..200_000 {
            match jobs.take(&id("evil"), 100, 1_000_000) {
                Room::Enough => kept += 1,
                Room::JustUsedUp => told += 1,
                Room::UsedUp | Room::TooLarge => {}
            }
        }
        assert_eq!(kept, MAX / (JOB_BYTES + 100));
        assert_eq!(told, 1);
        assert_eq!(jobs.take(&id("web1"), 1, 1_000_001), Room::Enough);
        assert_eq!(jobs.take(&id("evil"), 1, 1_086_399), Room::UsedUp);
        assert_eq!(jobs.take(&id("evil"), 1, 1_086_400), Room::Enough);
    }

    #[test]
    fn a_job_every_second_has_room() {
        let mut jobs = OwnJobs::new(MAX, DAY);
        let second = |n: i64| 1_000_000 + n;
        assert!((0..86_400).all(|n| jobs.take(&id("web1"), 500, second(n)) == Room::Enough));
    }

    #[test]
    fn one_large_return_does_not_close_the_door() {
        let mut jobs = OwnJobs::new(MAX, Duration::ZERO);
        assert_eq!(jobs.take(&id("a"), MAX, 5), Room::TooLarge);
        assert_eq!(jobs.take(&id("a"), 1, 5), Room::Enough);
    }

    #[test]
    fn what_is_not_stored_takes_no_room() {
        let mut jobs = OwnJobs::new(JOB_BYTES + 9, DAY);
        for _ in 0..100 {
            assert_eq!(jobs.take(&id("a"), 9, 5), Room::Enough);
            jobs.give_back(&id("a"), 9);
        }
        assert_eq!(jobs.take(&id("a"), 9, 5), Room::Enough);
        assert_eq!(jobs.take(&id("a"), 9, 5), Room::JustUsedUp);
    }
}
