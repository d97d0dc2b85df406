//! Moments of the local calendar, without a time zone: what a clock on the
//! wall shows.

use std::fmt;
use std::time::Duration;

const MS_PER_SECOND: i64 = 1000;
const MS_PER_DAY: i64 = 86_400 * MS_PER_SECOND;

/// A moment of the local calendar, in milliseconds since the start of 1970 as
/// the wall clock shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Local(pub i64);

/// A day of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Day {
    /// The year.
    pub year: i64,
    /// The month, from 1.
    pub month: i64,
    /// The day of the month, from 1.
    pub day: i64,
}

/// The present moment by both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// By the clock on the wall.
    pub local: Local,
    /// By a clock that only ever goes on, from any start.
    pub steady: Duration,
}

impl Now {
    /// The local time of a moment of the steady clock, if the wall clock is
    /// not set meanwhile.
    pub fn local_at(&self, steady: Duration) -> Local {
        let ms = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        Local(
            self.local
                .0
                .saturating_add(ms(steady))
                .saturating_sub(ms(self.steady)),
        )
    }
}

impl Local {
    /// The moment of a day's `second`, counted from midnight.
    pub fn new(day: Day, second: i64) -> Self {
        let midnight = day.number().saturating_mul(MS_PER_DAY);
        Self(midnight.saturating_add(second.saturating_mul(MS_PER_SECOND)))
    }

    /// The day it belongs to.
    pub fn day(self) -> Day {
        Day::from_number(self.0.div_euclid(MS_PER_DAY))
    }

    /// Seconds since midnight.
    pub fn second_of_day(self) -> i64 {
        self.0.rem_euclid(MS_PER_DAY) / MS_PER_SECOND
    }

    /// This many seconds later.
    #[must_use]
    pub fn plus_seconds(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds.saturating_mul(MS_PER_SECOND)))
    }

    /// How long it is from `earlier`; nothing if that is later.
    pub fn since(self, earlier: Self) -> Duration {
        let ms = self.0.saturating_sub(earlier.0);
        Duration::from_millis(u64::try_from(ms).unwrap_or(0))
    }
}

impl From<jiff::civil::DateTime> for Local {
    fn from(moment: jiff::civil::DateTime) -> Self {
        let day = Day {
            year: moment.year().into(),
            month: moment.month().into(),
            day: moment.day().into(),
        };
        let [hour, minute, second] =
            [moment.hour(), moment.minute(), moment.second()].map(i64::from);
        let Self(ms) = Self::new(day, hour * 3600 + minute * 60 + second);
        Self(ms + i64::from(moment.millisecond()))
    }
}

impl fmt::Display for Local {
    /// As Salt shows moments: `2026-11-20T16:02:03`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (day, second) = (self.day(), self.second_of_day());
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            day.year,
            day.month,
            day.day,
            second / 3600,
            second / 60 % 60,
            second % 60
        )
    }
}

impl Day {
    /// A day, if there is one of that name.
    pub fn new(year: i64, month: i64, day: i64) -> Option<Self> {
        let fits = (1..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=days_in_month(year, month)).contains(&day);
        fits.then_some(Self { year, month, day })
    }

    /// The days since the start of 1970.
    pub fn number(self) -> i64 {
        // Years begin in March here, so that the odd day comes last.
        let year = if self.month <= 2 {
            self.year - 1
        } else {
            self.year
        };
        let era = year.div_euclid(400);
        let of_era = year.rem_euclid(400);
        let month = (self.month + 9) % 12;
        let of_year = (153 * month + 2) / 5 + self.day - 1;
        era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
    }

    /// The day that is so many after the start of 1970.
    pub fn from_number(number: i64) -> Self {
        let shifted = number + 719_468;
        let era = shifted.div_euclid(146_097);
        let of_era = shifted.rem_euclid(146_097);
        let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        Self {
            year: year + era * 400 + i64::from(month <= 2),
            month,
            day,
        }
    }

    /// So many days later.
    #[must_use]
    pub fn plus(self, days: i64) -> Self {
        Self::from_number(self.number() + days)
    }

    /// The day of the week, Sunday being 0.
    pub fn weekday(self) -> i64 {
        // The first of January 1970 was a Thursday.
        (self.number() + 4).rem_euclid(7)
    }
}

/// How many days a month has.
pub fn days_in_month(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_their_numbers_are_each_others_inverse() {
        for number in (-700_000..800_000).step_by(97) {
            let day = Day::from_number(number);
            assert_eq!(day.number(), number, "{day:?}");
            assert!(Day::new(day.year.max(1), day.month, day.day).is_some());
        }
        assert_eq!(Day::from_number(0).number(), 0);
        assert_eq!(Day::new(2026, 11, 20).unwrap().weekday(), 5);
        assert_eq!(Day::new(2026, 2, 29), None);
        assert!(Day::new(2028, 2, 29).is_some());
    }

    #[test]
    fn a_moment_reads_as_on_a_clock() {
        let day = Day::new(2026, 11, 20).unwrap();
        let moment = Local::new(day, 57_723);
        assert_eq!(moment.to_string(), "2026-11-20T16:02:03");
        assert_eq!((moment.day(), moment.second_of_day()), (day, 57_723));
        // The ends of what can be said are no end of the daemon.
        for end in [Local(i64::MIN), Local(i64::MAX)] {
            let next = end.plus_seconds(i64::MAX).day().plus(1);
            assert_eq!(Local::new(next, i64::MAX).0, i64::MAX);
        }
    }
}
