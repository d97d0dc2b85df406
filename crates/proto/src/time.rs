//! The formats of a moment: job ids, event stamps, dates.
//!
//! Invariant: nothing here reads a clock. A moment is a number of microseconds
//! since 1970 in UTC, given by the caller.

use std::fmt::Write;
use std::ops::Range;

use crate::value::EXT_DATETIME;
use crate::{Jid, PublisherId, Value};

/// The last moment that has a four digit year: 9999-12-31 23:59:59.999999.
pub const UNIX_MICROS_MAX: u64 = 253_402_300_799_999_999;

const MICROS_PER_SECOND: u64 = 1_000_000;
const SECONDS_PER_DAY: u64 = 86_400;

/// A moment taken apart, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Civil {
    /// The year, 1 to 9999.
    pub year: u32,
    /// The month, 1 to 12.
    pub month: u32,
    /// The day of the month, 1 to 31.
    pub day: u32,
    /// The hour, 0 to 23.
    pub hour: u32,
    /// The minute, 0 to 59.
    pub minute: u32,
    /// The second, 0 to 59.
    pub second: u32,
    /// The microsecond, 0 to 999 999.
    pub micro: u32,
}

impl Civil {
    /// The parts of a moment. One beyond the year 9999 becomes that year's last.
    pub fn from_micros(unix_micros: u64) -> Self {
        let micros = unix_micros.min(UNIX_MICROS_MAX);
        let seconds = micros / MICROS_PER_SECOND;
        let (year, month, day) = civil_from_days(seconds / SECONDS_PER_DAY);
        let second_of_day = seconds % SECONDS_PER_DAY;
        Self {
            year: small(year),
            month: small(month),
            day: small(day),
            hour: small(second_of_day / 3600),
            minute: small(second_of_day / 60 % 60),
            second: small(second_of_day % 60),
            micro: small(micros % MICROS_PER_SECOND),
        }
    }

    /// The moment, if the parts are one and it is not before 1970.
    pub fn to_micros(self) -> Option<u64> {
        if !self.is_valid() || self.year < 1970 {
            return None;
        }
        let days = days_from_civil(self.year.into(), self.month.into(), self.day.into());
        let seconds = days * SECONDS_PER_DAY
            + u64::from(self.hour) * 3600
            + u64::from(self.minute) * 60
            + u64::from(self.second);
        Some(seconds * MICROS_PER_SECOND + u64::from(self.micro))
    }

    /// Whether there is such a day and such a time of day.
    pub fn is_valid(self) -> bool {
        (1..=9999).contains(&self.year)
            && (1..=12).contains(&self.month)
            && self.day >= 1
            && self.day <= days_of_month(self.year, self.month)
            && self.hour < 24
            && self.minute < 60
            && self.second < 60
            && self.micro < 1_000_000
    }
}

/// The job id of a moment.
pub fn jid_from_micros(unix_micros: u64) -> Jid {
    let at = Civil::from_micros(unix_micros);
    let mut text = String::with_capacity(Jid::DIGITS);
    let _ = write!(
        text,
        "{:04}{:02}{:02}{:02}{:02}{:02}{:06}",
        at.year, at.month, at.day, at.hour, at.minute, at.second, at.micro
    );
    Jid::from_digits(text)
}

/// The moment in a job id; `None` where its digits are no date and time.
pub fn jid_to_micros(jid: &Jid) -> Option<u64> {
    jid_civil(jid)?.to_micros()
}

/// A job id's moment for people: `2024, Feb 29 12:34:56.789012`. Empty where
/// its digits are no date and time.
pub fn jid_to_text(jid: &Jid) -> String {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let Some(at) = jid_civil(jid).filter(|at| at.is_valid()) else {
        return String::new();
    };
    let month = MONTHS
        .get((at.month as usize).wrapping_sub(1))
        .copied()
        .unwrap_or_default();
    // Not formatted: there may be very many, and the digits are there.
    let part = |range: Range<usize>| jid.digits().get(range).unwrap_or_default();
    [
        part(0..4),
        ", ",
        month,
        " ",
        part(6..8),
        " ",
        part(8..10),
        ":",
        part(10..12),
        ":",
        part(12..14),
        ".",
        part(14..20),
    ]
    .concat()
}

/// Gives job ids that always grow, although the clock may stand or step back.
#[derive(Debug, Default)]
pub struct JidClock {
    last_micros: u64,
    publisher: Option<PublisherId>,
}

impl JidClock {
    /// A clock that has given nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The clock of a master that gives only ids of its own.
    pub fn of(publisher: PublisherId) -> Self {
        Self {
            publisher: Some(publisher),
            ..Self::default()
        }
    }

    /// The next job id, from the moment it is now.
    pub fn next(&mut self, now_unix_micros: u64) -> Jid {
        let (now, step) = match self.publisher {
            Some(publisher) => (publisher.moment_before(now_unix_micros), PublisherId::STEP),
            None => (now_unix_micros, 1),
        };
        self.last_micros = now.max(self.last_micros.saturating_add(step));
        jid_from_micros(self.last_micros)
    }
}

/// A moment as events carry it in `_stamp`: ISO 8601 in UTC, without the
/// microseconds when there are none. `offset` appends `+00:00`, as 3008 does.
pub fn stamp(unix_micros: u64, offset: bool) -> String {
    let at = Civil::from_micros(unix_micros);
    let mut text = String::with_capacity(32);
    let _ = write!(
        text,
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
        at.year, at.month, at.day, at.hour, at.minute, at.second
    );
    if at.micro != 0 {
        let _ = write!(text, ".{:06}", at.micro);
    }
    if offset {
        text.push_str("+00:00");
    }
    text
}

/// The moment of an event's `_stamp`, with or without an offset.
pub fn parse_stamp(text: &str) -> Option<u64> {
    let text = text.strip_suffix("+00:00").unwrap_or(text);
    let (second, micro) = match text.split_once('.') {
        Some((second, micro)) if micro.len() == 6 => (second, digits(micro.as_bytes())?),
        Some(_) => return None,
        None => (text, 0),
    };
    let bytes = second.as_bytes();
    let separators: [(usize, u8); 5] = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    let separated = separators
        .iter()
        .all(|(at, separator)| bytes.get(*at) == Some(separator));
    if bytes.len() != 19 || !separated {
        return None;
    }
    let at = Civil {
        year: digits(bytes.get(..4)?)?,
        month: digits(bytes.get(5..7)?)?,
        day: digits(bytes.get(8..10)?)?,
        hour: digits(bytes.get(11..13)?)?,
        minute: digits(bytes.get(14..16)?)?,
        second: digits(bytes.get(17..19)?)?,
        micro,
    };
    at.to_micros()
}

/// A date and time as a value: msgpack's extension 78.
pub fn datetime(at: Civil) -> Value {
    let text = format!(
        "{:04}{:02}{:02}T{:02}:{:02}:{:02}.{:06}",
        at.year, at.month, at.day, at.hour, at.minute, at.second, at.micro
    );
    Value::Ext(EXT_DATETIME, text.into_bytes())
}

/// The date and time in the data of extension 78: `20240229T12:34:56.789012`.
pub fn parse_datetime(data: &[u8]) -> Option<Civil> {
    let [date, time] = [data.get(..8)?, data.get(8..)?];
    let separated = time.first() == Some(&b'T')
        && time.get(3) == Some(&b':')
        && time.get(6) == Some(&b':')
        && time.get(9) == Some(&b'.');
    if time.len() != 16 || !separated {
        return None;
    }
    let at = Civil {
        year: digits(date.get(..4)?)?,
        month: digits(date.get(4..6)?)?,
        day: digits(date.get(6..)?)?,
        hour: digits(time.get(1..3)?)?,
        minute: digits(time.get(4..6)?)?,
        second: digits(time.get(7..9)?)?,
        micro: digits(time.get(10..)?)?,
    };
    at.is_valid().then_some(at)
}

fn jid_civil(jid: &Jid) -> Option<Civil> {
    let text = jid.digits().as_bytes();
    Some(Civil {
        year: digits(text.get(..4)?)?,
        month: digits(text.get(4..6)?)?,
        day: digits(text.get(6..8)?)?,
        hour: digits(text.get(8..10)?)?,
        minute: digits(text.get(10..12)?)?,
        second: digits(text.get(12..14)?)?,
        micro: digits(text.get(14..20)?)?,
    })
}

/// A number of at most nine decimal digits.
fn digits(text: &[u8]) -> Option<u32> {
    if text.is_empty() || text.len() > 9 {
        return None;
    }
    text.iter().try_fold(0, |number: u32, byte| {
        byte.is_ascii_digit()
            .then(|| number * 10 + u32::from(byte - b'0'))
    })
}

fn days_of_month(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        _ => 31,
    }
}

/// Year, month and day of a number of days since 1970-01-01: Howard Hinnant's
/// algorithm, with years that begin in March.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

/// The days from 1970-01-01 to a day that is not before it.
fn days_from_civil(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year / 400;
    let year_of_era = year % 400;
    let month_from_march = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * 146_097 + day_of_era).saturating_sub(719_468)
}

/// A part of a date, which always fits.
fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAP_DAY_MICROS: u64 = 1_709_210_096_789_012;

    #[test]
    fn a_moment_and_its_job_id_name_each_other() {
        let jid = jid_from_micros(LEAP_DAY_MICROS);
        assert_eq!(jid.as_str(), "20240229123456789012");
        assert_eq!(jid_to_micros(&jid), Some(LEAP_DAY_MICROS));
        assert_eq!(jid_to_text(&jid), "2024, Feb 29 12:34:56.789012");
        assert_eq!(jid_from_micros(0).as_str(), "19700101000000000000");
        assert_eq!(jid_from_micros(u64::MAX).as_str(), "99991231235959999999");
    }

    #[test]
    fn digits_that_are_no_date_have_no_moment() {
        let jid = Jid::parse("99999999999999999999").unwrap();
        assert_eq!(jid_to_micros(&jid), None);
        assert_eq!(jid_to_text(&jid), "");
        let february = Jid::parse("20230229000000000000").unwrap();
        assert_eq!(jid_to_micros(&february), None);
    }

    #[test]
    fn a_stamp_has_microseconds_only_where_there_are_some() {
        assert_eq!(
            stamp(LEAP_DAY_MICROS, true),
            "2024-02-29T12:34:56.789012+00:00"
        );
        assert_eq!(stamp(1_000_000, false), "1970-01-01T00:00:01");
        for offset in [false, true] {
            for micros in [0, 1, 999_999, LEAP_DAY_MICROS] {
                assert_eq!(parse_stamp(&stamp(micros, offset)), Some(micros));
            }
        }
        assert_eq!(parse_stamp("2024-02-30T00:00:00"), None);
        assert_eq!(parse_stamp("2024-02-29 00:00:00"), None);
    }

    #[test]
    fn job_ids_grow_while_the_clock_stands() {
        let mut clock = JidClock::new();
        let first = clock.next(LEAP_DAY_MICROS);
        let second = clock.next(LEAP_DAY_MICROS);
        let third = clock.next(5);
        assert!(first < second && second < third, "{first} {second} {third}");
    }

    #[test]
    fn two_masters_never_draw_one_id() {
        let draw = |bits| {
            let mut clock = JidClock::of(PublisherId::new(bits));
            let moments = (0..500).map(|n| LEAP_DAY_MICROS + n * 7);
            moments.map(|now| clock.next(now)).collect::<Vec<_>>()
        };
        let (one, other) = (draw(3), draw(4));
        assert!(one.is_sorted() && !one.iter().any(|jid| other.contains(jid)));
    }
}
