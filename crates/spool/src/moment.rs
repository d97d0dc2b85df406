//! A moment on two clocks: the wall clock, which may be set, and the monotonic one.
//! Records on disk are stamped by the first, since nothing else survives the
//! process; while a process runs, ages are measured by the second.

use std::time::{Duration, Instant, SystemTime};

/// How long what was found at the start is kept at least, however old its stamp
/// says it is: while nobody ran, nobody could take it, and the clock may have
/// been set meanwhile.
const KEPT_AFTER_START: Duration = Duration::from_secs(60 * 60);

/// A moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// By the clock on the wall.
    pub wall: SystemTime,
    /// By the one that nobody sets.
    pub steady: Instant,
}

impl Moment {
    /// This moment.
    pub fn now() -> Self {
        Self {
            wall: SystemTime::now(),
            steady: Instant::now(),
        }
    }
}

/// Since when something waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting {
    /// How old it was...
    age: Duration,
    /// ...then.
    at: Instant,
}

impl Waiting {
    /// Something that begins to wait now.
    pub(crate) fn begin(now: Moment) -> Self {
        Self {
            age: Duration::ZERO,
            at: now.steady,
        }
    }

    /// Something that was found with this stamp, and may get as old as
    /// `age_max`. It counts as no older than lets it be kept for a while.
    pub(crate) fn found(stamp: SystemTime, now: Moment, age_max: Duration) -> Self {
        let age = now.wall.duration_since(stamp).unwrap_or_default();
        Self {
            age: age.min(age_max.saturating_sub(KEPT_AFTER_START)),
            at: now.steady,
        }
    }

    /// The same where being too old means that it must not be used any more:
    /// it is believed what the stamp says, and nothing if that is a time that
    /// is yet to come, by more than the age that it may have.
    pub(crate) fn found_in_window(stamp: SystemTime, now: Moment, age_max: Duration) -> Self {
        let age = match now.wall.duration_since(stamp) {
            Ok(age) => age,
            Err(ahead) if ahead.duration() <= age_max => Duration::ZERO,
            Err(_) => Duration::MAX,
        };
        Self {
            age,
            at: now.steady,
        }
    }

    /// How old it is now.
    pub(crate) fn age(self, now: Moment) -> Duration {
        let since = now.steady.saturating_duration_since(self.at);
        self.age.saturating_add(since)
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    const HOUR: Duration = Duration::from_secs(60 * 60);
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    fn moments() -> (Moment, Instant) {
        let steady = Instant::now();
        let wall = UNIX_EPOCH + 20_000 * DAY;
        (Moment { wall, steady }, steady)
    }

    #[test]
    fn a_clock_that_is_set_makes_nothing_older_or_younger() {
        let (begun, steady) = moments();
        let waiting = Waiting::begin(begun);
        for wall in [UNIX_EPOCH, begun.wall + 400 * DAY] {
            let steady = steady + Duration::from_secs(7);
            assert_eq!(waiting.age(Moment { wall, steady }), Duration::from_secs(7));
        }
    }

    #[test]
    fn what_was_found_gets_its_chance_and_no_more() {
        let (now, steady) = moments();
        let later = |by| Moment {
            steady: steady + by,
            ..now
        };
        let young = Waiting::found(now.wall - HOUR, now, DAY);
        assert_eq!(young.age(now), HOUR);
        // The machine had no clock when it was written, or was off for long.
        for stamp in [UNIX_EPOCH, now.wall - 2 * DAY] {
            let old = Waiting::found(stamp, now, DAY);
            assert!(old.age(later(HOUR)) <= DAY);
            assert!(old.age(later(HOUR + Duration::from_secs(1))) > DAY);
        }
        let ahead = Waiting::found(now.wall + 9 * DAY, now, DAY);
        assert_eq!(ahead.age(now), Duration::ZERO);
    }

    #[test]
    fn a_window_shows_nothing_that_may_be_too_old() {
        let (now, _) = moments();
        let age = |stamp| Waiting::found_in_window(stamp, now, HOUR).age(now);
        assert_eq!(age(now.wall - DAY), DAY);
        assert_eq!(age(now.wall + HOUR / 2), Duration::ZERO);
        assert_eq!(age(now.wall + DAY), Duration::MAX);
    }
}
