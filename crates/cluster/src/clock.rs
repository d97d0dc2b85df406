//! A hybrid clock: its moments are close to the time of day, never go back, and are
//! later than every moment received before that is not far ahead.

use std::time::Duration;

use thiserror::Error;

use crate::limits::{CLOCK_ADOPTED_MAX, CLOCK_LEAD_MAX};

/// A moment of a hybrid clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    /// Microseconds since 1970.
    pub micros: u64,
    /// Tells moments within a microsecond apart.
    pub count: u32,
}

impl Stamp {
    fn successor(self) -> Self {
        match self.count.checked_add(1) {
            Some(count) => Self { count, ..self },
            None => Self {
                micros: self.micros.saturating_add(1),
                count: 0,
            },
        }
    }
}

/// A stamp that lies too far ahead of this master's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("its clock is {} s ahead of this master's, and at most {} s are accepted", .lead_s, CLOCK_LEAD_MAX.as_secs())]
pub struct ClockAhead {
    /// By how many seconds it is ahead.
    pub lead_s: u64,
}

/// The clock of one master. The time of day comes in with each call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HybridClock {
    last: Stamp,
}

impl HybridClock {
    /// A clock that goes on after `last`.
    pub fn after(last: Stamp) -> Self {
        Self { last }
    }

    /// A moment later than all before it, at `wall_micros` by the time of day.
    pub fn next(&mut self, wall_micros: u64) -> Stamp {
        self.last = if wall_micros > self.last.micros {
            Stamp {
                micros: wall_micros,
                count: 0,
            }
        } else {
            self.last.successor()
        };
        self.last
    }

    /// A moment later than `known` too, which may lie further ahead than the clock
    /// follows.
    pub fn next_after(&mut self, known: Stamp, wall_micros: u64) -> Stamp {
        self.next(wall_micros).max(known.successor())
    }

    /// Every moment from now on is later than `stamp` too, unless that lies further
    /// ahead of the time of day than [`CLOCK_ADOPTED_MAX`].
    pub fn hear(&mut self, stamp: Stamp, wall_micros: u64) {
        if lead(stamp, wall_micros) <= CLOCK_ADOPTED_MAX {
            self.restore(stamp);
        }
    }

    /// Every moment from now on is later than `stamp`, which this clock gave or
    /// heard in an earlier life.
    pub fn restore(&mut self, stamp: Stamp) {
        self.last = self.last.max(stamp);
    }

    /// The latest moment that was given or heard.
    pub fn last(&self) -> Stamp {
        self.last
    }
}

/// Checks that a stamp is no further ahead of the time of day than clocks of
/// masters may differ.
///
/// # Errors
/// When it is.
pub fn check(stamp: Stamp, wall_micros: u64) -> Result<(), ClockAhead> {
    let lead = lead(stamp, wall_micros);
    match lead > CLOCK_LEAD_MAX {
        true => Err(ClockAhead {
            lead_s: lead.as_secs(),
        }),
        false => Ok(()),
    }
}

fn lead(stamp: Stamp, wall_micros: u64) -> Duration {
    Duration::from_micros(stamp.micros.saturating_sub(wall_micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000_000_000;

    #[test]
    fn moments_only_grow_even_where_the_time_of_day_goes_back() {
        let mut clock = HybridClock::default();
        let mut last = clock.next(NOW);
        for wall in [NOW, NOW - 5_000_000, NOW + 1, NOW + 1, 0] {
            let next = clock.next(wall);
            assert!(next > last);
            last = next;
        }
        let heard = Stamp {
            micros: NOW + 9,
            count: u32::MAX,
        };
        clock.hear(heard, NOW);
        assert!(clock.next(NOW) > heard);
    }

    #[test]
    fn a_clock_follows_no_stamp_that_is_far_ahead_and_still_gives_later_ones() {
        let mut clock = HybridClock::default();
        let adopted = u64::try_from(CLOCK_ADOPTED_MAX.as_micros()).unwrap();
        let ahead = |micros| Stamp {
            micros: NOW + micros,
            count: 7,
        };
        clock.hear(ahead(adopted), NOW);
        assert!(clock.next(NOW) > ahead(adopted));
        clock.hear(ahead(adopted + 1), NOW);
        assert!(clock.next(NOW) < ahead(adopted + 1));
        assert!(clock.next_after(ahead(adopted + 1), NOW) > ahead(adopted + 1));
        assert!(clock.next(NOW) < ahead(adopted + 1));
    }

    #[test]
    fn a_stamp_may_lead_by_the_limit_and_not_by_more() {
        let lead = u64::try_from(CLOCK_LEAD_MAX.as_micros()).unwrap();
        let at = |micros| Stamp { micros, count: 0 };
        assert_eq!(check(at(NOW + lead), NOW), Ok(()));
        assert_eq!(check(at(0), NOW), Ok(()));
        assert_eq!(
            check(at(NOW + 5 * lead), NOW),
            Err(ClockAhead { lead_s: 300 })
        );
        assert!(check(at(u64::MAX), NOW).is_err());
    }
}
