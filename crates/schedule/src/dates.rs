//! Moments as people write them: `5:00pm`, `Monday 8am`, `2026-11-20 17:00`,
//! `11/20/2026`, `Nov 20 2026 5pm`. Missing parts are taken from the present day,
//! as by Python's `dateutil`, which Salt uses.

use crate::clock::{Day, Local};

/// What a text says; the rest follows from the day it is asked on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Date {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    /// Sunday is 0.
    weekday: Option<i64>,
    second_of_day: Option<i64>,
}

/// How many days ahead a moment without a date is looked for.
const WEEK: i64 = 7;

/// And one whose year is left out.
const YEAR: i64 = 366;

pub(crate) const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = [
    "sunday",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
];

impl Date {
    /// Reads a text; none if it is no moment.
    pub fn parse(text: &str) -> Option<Self> {
        let mut date = Self::default();
        // Numbers that are not known yet to be a day, a month or a year.
        let mut loose: Vec<i64> = Vec::new();
        let lower = text.trim().to_ascii_lowercase();
        let words: Vec<&str> = lower
            .split(|c: char| c.is_whitespace() || c == ',')
            .filter(|word| !word.is_empty() && !matches!(*word, "at" | "on" | "of" | "and"))
            .collect();
        if words.is_empty() {
            return None;
        }
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next() {
            let half = words.peek().and_then(|next| half_of_day(next));
            if let Some((date_part, time)) = word.split_once('t').filter(|_| is_iso(word)) {
                date.take_date(date_part)?;
                date.take_time(time, None)?;
            } else if let Some(weekday) = name(word, &WEEKDAYS) {
                date.weekday = Some(weekday);
            } else if let Some(month) = name(word, &MONTHS) {
                date.month = Some(month + 1);
            } else if word.contains(':') || word.ends_with("am") || word.ends_with("pm") {
                if half.is_some() {
                    words.next();
                }
                date.take_time(word, half)?;
            } else if word.contains(['-', '/', '.']) {
                date.take_date(word)?;
            } else if half.is_some() {
                words.next();
                date.take_time(word, half)?;
            } else if word.len() == 8 && digits(word).is_some() {
                date.take_date(word)?;
            } else {
                let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
                let is_ordinal = matches!(&word[digits.len()..], "" | "st" | "nd" | "rd" | "th");
                loose.push(digits.parse().ok().filter(|_| is_ordinal)?);
            }
        }
        date.take_loose(&loose)?;
        date.is_possible().then_some(date)
    }

    /// The moment it means on `today`.
    pub fn on(&self, today: Day) -> Option<Local> {
        let mut day = Day::new(
            self.year.unwrap_or(today.year),
            self.month.unwrap_or(today.month),
            self.day.unwrap_or(today.day),
        )?;
        if let (Some(weekday), None) = (self.weekday, self.day) {
            day = day.plus((weekday - day.weekday()).rem_euclid(7));
        }
        Some(Local::new(day, self.second_of_day.unwrap_or(0)))
    }

    /// The first time it is so from `moment` on.
    pub fn from(&self, moment: Local) -> Option<Local> {
        let today = moment.day();
        let days = (0..=WEEK).chain([YEAR]);
        days.filter_map(|ahead| self.on(today.plus(ahead)))
            .find(|found| *found >= moment)
    }

    fn is_possible(&self) -> bool {
        let day = self.day.unwrap_or(1);
        let month = self.month.unwrap_or(1);
        // A leap year, if none is named.
        Day::new(self.year.unwrap_or(2000), month, day).is_some()
    }

    fn take_time(&mut self, text: &str, half: Option<Half>) -> Option<()> {
        let (text, half) = match half_at_end(text) {
            Some((text, half)) => (text, Some(half)),
            None => (text, half),
        };
        let compact = digits(text).filter(|_| matches!(text.len(), 4 | 6));
        let mut parts = text.split(':');
        let (hour, minute, second) = match compact {
            Some(number) if text.len() == 4 => (number / 100, number % 100, 0),
            Some(number) => (number / 10_000, number / 100 % 100, number % 100),
            None => {
                let hour = digits(parts.next()?)?;
                let minute = parts.next().map_or(Some(0), digits)?;
                let second = parts.next().map_or(Some(0), |second| {
                    digits(second.split('.').next().unwrap_or(second))
                })?;
                (hour, minute, second)
            }
        };
        let hour = match half {
            Some(_) if !(1..=12).contains(&hour) => return None,
            Some(Half::Am) => hour % 12,
            Some(Half::Pm) => hour % 12 + 12,
            None => hour,
        };
        if hour > 23 || minute > 59 || second > 59 || (compact.is_none() && parts.next().is_some())
        {
            return None;
        }
        self.second_of_day = Some(hour * 3600 + minute * 60 + second);
        Some(())
    }

    fn take_date(&mut self, text: &str) -> Option<()> {
        if let [y0, y1, y2, y3, m0, m1, d0, d1] = text.as_bytes() {
            let part = |bytes: &[u8]| digits(std::str::from_utf8(bytes).ok()?);
            if let (Some(year), Some(month), Some(day)) = (
                part(&[*y0, *y1, *y2, *y3]),
                part(&[*m0, *m1]),
                part(&[*d0, *d1]),
            ) {
                (self.year, self.month, self.day) = (Some(year), Some(month), Some(day));
                return Some(());
            }
        }
        let parts: Vec<&str> = text.split(['-', '/', '.']).collect();
        let month_at = parts.iter().position(|part| name(part, &MONTHS).is_some());
        if let Some(at) = month_at {
            self.month = name(parts.get(at)?, &MONTHS).map(|month| month + 1);
            let rest = parts.iter().enumerate().filter(|(other, _)| *other != at);
            let rest: Option<Vec<i64>> = rest.map(|(_, part)| digits(part)).collect();
            return self.take_loose(&rest?);
        }
        let numbers: Option<Vec<i64>> = parts.into_iter().map(digits).collect();
        self.take_loose(&numbers?)
    }

    /// Numbers of a date in the order they stand: `y m d`, `m d y`, or `d m y`
    /// where the first cannot be a month.
    fn take_loose(&mut self, numbers: &[i64]) -> Option<()> {
        match (numbers, self.month) {
            ([], _) => {}
            ([one], None) if *one > 31 => self.year = Some(full_year(*one)),
            ([one], Some(_)) if *one > 31 || self.day.is_some() => {
                self.year = Some(full_year(*one));
            }
            ([one], _) => self.day = Some(*one),
            ([day, year] | [year, day], Some(_)) if *day <= 31 && *year > 31 || day == year => {
                self.day = Some(*day);
                self.year = Some(full_year(*year));
            }
            ([day, year], Some(_)) => {
                self.day = Some(*day);
                self.year = Some(full_year(*year));
            }
            ([year, month], None) if *year > 31 => {
                self.year = Some(*year);
                self.month = Some(*month);
            }
            ([day, month], None) if *day > 12 => {
                self.day = Some(*day);
                self.month = Some(*month);
            }
            ([month, day], None) => {
                self.month = Some(*month);
                self.day = Some(*day);
            }
            ([year, month, day], None) if *year > 31 => {
                (self.year, self.month, self.day) = (Some(*year), Some(*month), Some(*day));
            }
            ([day, month, year], None) if *day > 12 => {
                (self.day, self.month) = (Some(*day), Some(*month));
                self.year = Some(full_year(*year));
            }
            ([month, day, year], None) => {
                (self.month, self.day) = (Some(*month), Some(*day));
                self.year = Some(full_year(*year));
            }
            _ => return None,
        }
        Some(())
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Half {
    Am,
    Pm,
}

/// Which half of a day a word names.
pub(crate) fn half_of_day(word: &str) -> Option<Half> {
    match word {
        "am" | "a.m." => Some(Half::Am),
        "pm" | "p.m." => Some(Half::Pm),
        _ => None,
    }
}

fn half_at_end(word: &str) -> Option<(&str, Half)> {
    let am = word.strip_suffix("am").map(|rest| (rest, Half::Am));
    am.or_else(|| word.strip_suffix("pm").map(|rest| (rest, Half::Pm)))
}

/// Whether a word is a date, a `t` and a time.
fn is_iso(word: &str) -> bool {
    let has_form = |(date, time): (&str, &str)| {
        date.len() >= 8
            && date.starts_with(|c: char| c.is_ascii_digit())
            && time.starts_with(|c: char| c.is_ascii_digit())
    };
    word.split_once('t').is_some_and(has_form)
}

pub(crate) fn name(word: &str, names: &[&str]) -> Option<i64> {
    let word = word.trim_end_matches('.');
    let is_it = |name: &&str| *name == word || (word.len() >= 3 && name.starts_with(word));
    let at = names.iter().position(is_it)?;
    i64::try_from(at).ok()
}

pub(crate) fn digits(text: &str) -> Option<i64> {
    let all = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| all)
}

pub(crate) fn full_year(year: i64) -> i64 {
    match year {
        0..=68 => 2000 + year,
        69..=99 => 1900 + year,
        _ => year,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strptime::strptime;

    /// A Friday.
    const NOW: &str = "2026-11-20T16:02:03";

    fn moment(text: &str) -> Local {
        strptime(text, "%Y-%m-%dT%H:%M:%S").unwrap()
    }

    /// What `dateutil.parser.parse` 2.9 makes of the same texts on that day.
    #[test]
    fn texts_mean_what_they_mean_to_dateutil() {
        for (text, expected) in [
            ("5:00pm", "2026-11-20T17:00:00"),
            ("5pm", "2026-11-20T17:00:00"),
            ("5 pm", "2026-11-20T17:00:00"),
            ("12:00am", "2026-11-20T00:00:00"),
            ("12pm", "2026-11-20T12:00:00"),
            ("17:30", "2026-11-20T17:30:00"),
            ("08:15:30", "2026-11-20T08:15:30"),
            ("Monday 8am", "2026-11-23T08:00:00"),
            ("Friday 8am", "2026-11-20T08:00:00"),
            ("tuesday 3:00pm", "2026-11-24T15:00:00"),
            ("Sat", "2026-11-21T00:00:00"),
            ("2026-12-24", "2026-12-24T00:00:00"),
            ("2026-12-24 18:30", "2026-12-24T18:30:00"),
            ("2026-12-24T18:30:01", "2026-12-24T18:30:01"),
            ("20261224", "2026-12-24T00:00:00"),
            ("20261224T183001", "2026-12-24T18:30:01"),
            ("12/24/2026", "2026-12-24T00:00:00"),
            ("12/24/26 5pm", "2026-12-24T17:00:00"),
            ("24/12/2026", "2026-12-24T00:00:00"),
            ("12/24", "2026-12-24T00:00:00"),
            ("Dec 24 2026 5:30 PM", "2026-12-24T17:30:00"),
            ("December 24, 2026", "2026-12-24T00:00:00"),
            ("24 Dec 2026", "2026-12-24T00:00:00"),
            ("24-Dec-2026 01:02", "2026-12-24T01:02:00"),
            ("Dec 24", "2026-12-24T00:00:00"),
            ("Dec 24th 2026", "2026-12-24T00:00:00"),
        ] {
            let date = Date::parse(text).unwrap_or_else(|| panic!("{text}"));
            let found = date.on(moment(NOW).day()).unwrap();
            assert_eq!(found.to_string(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "",
            "soon",
            "25:00",
            "13pm",
            "12:60",
            "2026-13-01",
            "2026-02-30",
            "5:00pmx",
            "1 2 3 4",
            "99999999999999999999",
        ] {
            assert_eq!(Date::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_moment_without_a_date_comes_again() {
        for (text, expected) in [
            ("5:00pm", Some("2026-11-20T17:00:00")),
            ("4:00pm", Some("2026-11-21T16:00:00")),
            ("Friday 8am", Some("2026-11-27T08:00:00")),
            ("Nov 20", Some("2027-11-20T00:00:00")),
            ("2026-11-19", None),
        ] {
            let next = Date::parse(text).unwrap().from(moment(NOW));
            let next = next.map(|at| at.to_string());
            assert_eq!(next.as_deref(), expected, "{text}");
        }
    }
}
