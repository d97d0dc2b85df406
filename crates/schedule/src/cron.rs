//! `cron`: minute, hour, day of the month, month, day of the week, and a field
//! of seconds at the end, which may be missing.

use crate::clock::{Day, Local, days_in_month};

/// How far ahead a moment is looked for: a rule of the 29th of February may be
/// eight years away.
const DAYS_MAX: i64 = 366 * 9;

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    seconds: Vec<i64>,
    minutes: Vec<i64>,
    hours: Vec<i64>,
    days: Vec<i64>,
    is_last_day: bool,
    months: Vec<i64>,
    weekdays: Vec<i64>,
    /// The nth such weekday of a month.
    nth_weekdays: Vec<(i64, i64)>,
    any_day: bool,
    any_weekday: bool,
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

impl Cron {
    /// Reads a rule; none if it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let spelt_out = match text.as_str() {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            other => other,
        };
        let fields: Vec<&str> = spelt_out.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays, rest @ ..] = fields.as_slice() else {
            return None;
        };
        let seconds = match rest {
            [] => vec![0],
            [seconds] => numbers(seconds, 0, 59, &[])?,
            _ => return None,
        };
        let is_last_day = days.split(',').any(|item| item == "l");
        let plain_days: Vec<&str> = days.split(',').filter(|item| *item != "l").collect();
        let (nth, plain): (Vec<&str>, Vec<&str>) =
            weekdays.split(',').partition(|item| item.contains('#'));
        let weekdays_of = |text: &str| {
            let found = numbers(text, 0, 7, &WEEKDAYS)?;
            Some(found.into_iter().map(|day| day % 7).collect::<Vec<_>>())
        };
        Some(Self {
            seconds,
            minutes: numbers(minutes, 0, 59, &[])?,
            hours: numbers(hours, 0, 23, &[])?,
            days: match plain_days.as_slice() {
                [] => Vec::new(),
                some => numbers(&some.join(","), 1, 31, &[])?,
            },
            is_last_day,
            months: numbers(months, 1, 12, &MONTHS)?,
            weekdays: match plain.as_slice() {
                [] => Vec::new(),
                some => weekdays_of(&some.join(","))?,
            },
            nth_weekdays: nth
                .into_iter()
                .map(|item| {
                    let (day, nth) = item.split_once('#')?;
                    let [day] = weekdays_of(day)?.try_into().ok()?;
                    let nth = nth.parse().ok().filter(|nth| (1..=5).contains(nth))?;
                    Some((day, nth))
                })
                .collect::<Option<_>>()?,
            any_day: is_any(days),
            any_weekday: is_any(weekdays),
        })
    }

    /// The first moment after `moment`; none within eight years if the rule
    /// never applies.
    pub fn next(&self, moment: Local) -> Option<Local> {
        let from = moment.plus_seconds(1);
        let (today, mut second) = (from.day(), from.second_of_day());
        for ahead in 0..DAYS_MAX {
            let day = today.plus(ahead);
            if self.is_day(day)
                && let Some(found) = self.second_of_day(second)
            {
                return Some(Local::new(day, found));
            }
            second = 0;
        }
        None
    }

    fn is_day(&self, day: Day) -> bool {
        if !self.months.contains(&day.month) {
            return false;
        }
        let last = days_in_month(day.year, day.month);
        let by_day = self.days.contains(&day.day) || (self.is_last_day && day.day == last);
        let nth = (day.day - 1) / 7 + 1;
        let weekday = day.weekday();
        let by_weekday =
            self.weekdays.contains(&weekday) || self.nth_weekdays.contains(&(weekday, nth));
        // Where both are given, either is enough.
        match (self.any_day, self.any_weekday) {
            (true, _) => by_weekday,
            (_, true) => by_day,
            _ => by_day || by_weekday,
        }
    }

    /// The first second of a day from `from` on.
    fn second_of_day(&self, from: i64) -> Option<i64> {
        self.hours
            .iter()
            .filter(|hour| **hour >= from / 3600)
            .flat_map(|hour| self.minutes.iter().map(move |minute| hour * 60 + minute))
            .filter(|minute| *minute >= from / 60)
            .flat_map(|minute| self.seconds.iter().map(move |second| minute * 60 + second))
            .find(|second| *second >= from)
    }
}

fn is_any(field: &str) -> bool {
    field == "*" || field == "?"
}

/// The numbers that a field stands for, in order.
fn numbers(field: &str, low: i64, high: i64, names: &[&str]) -> Option<Vec<i64>> {
    let mut found = Vec::new();
    for item in field.split(',') {
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, step.parse().ok().filter(|step| *step > 0)?),
            None => (item, 1_i64),
        };
        let (first, last) = if is_any(range) {
            (low, high)
        } else {
            match range.split_once('-') {
                Some((first, last)) => (number(first, names, low)?, number(last, names, low)?),
                None => {
                    let first = number(range, names, low)?;
                    (first, if item.contains('/') { high } else { first })
                }
            }
        };
        if first < low || first > high || last < low || last > high {
            return None;
        }
        if first <= last {
            found.extend(every(first, last, step));
        } else {
            // Around the end, as in `fri-mon`.
            found.extend(every(first, high, step));
            found.extend(every(low, last, step));
        }
    }
    found.sort_unstable();
    found.dedup();
    Some(found)
}

fn every(first: i64, last: i64, step: i64) -> impl Iterator<Item = i64> {
    let step = usize::try_from(step).unwrap_or(usize::MAX);
    (first..=last).step_by(step)
}

fn number(text: &str, names: &[&str], low: i64) -> Option<i64> {
    let named = names.iter().position(|name| *name == text);
    match named {
        Some(at) => Some(low + i64::try_from(at).ok()?),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strptime::strptime;

    fn next(rule: &str, from: &str) -> String {
        let moment = strptime(from, "%Y-%m-%dT%H:%M:%S").unwrap();
        let rule = Cron::parse(rule).unwrap_or_else(|| panic!("{rule}"));
        rule.next(moment)
            .map_or_else(|| "never".to_owned(), |at| at.to_string())
    }

    #[test]
    fn the_next_moment_is_the_first_that_fits() {
        // Friday.
        let from = "2026-11-20T16:02:03";
        for (rule, expected) in [
            ("* * * * *", "2026-11-20T16:03:00"),
            ("*/15 * * * *", "2026-11-20T16:15:00"),
            ("2 16 * * *", "2026-11-21T16:02:00"),
            ("0 9-17/4 * * *", "2026-11-20T17:00:00"),
            ("30 8 * * mon-fri", "2026-11-23T08:30:00"),
            ("0 0 1 * *", "2026-12-01T00:00:00"),
            ("0 0 1 jan *", "2027-01-01T00:00:00"),
            ("0 0 13 * 5", "2026-11-27T00:00:00"),
            ("0 0 l * *", "2026-11-30T00:00:00"),
            ("0 0 * * mon#1", "2026-12-07T00:00:00"),
            ("0 0 29 2 *", "2028-02-29T00:00:00"),
            ("0 0 * * 7", "2026-11-22T00:00:00"),
            ("0 0 * * sat-mon", "2026-11-21T00:00:00"),
            ("* * * * * */20", "2026-11-20T16:02:20"),
            ("@hourly", "2026-11-20T17:00:00"),
            ("5,10 16 20 11 *", "2026-11-20T16:05:00"),
            ("0 0 30 2 *", "never"),
        ] {
            assert_eq!(next(rule, from), expected, "{rule}");
        }
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for rule in [
            "",
            "* * * *",
            "60 * * * *",
            "* 24 * * *",
            "a * * * *",
            "*/0 * * * *",
            "@never",
            "* * * * * * *",
            "* * 0 * *",
            "* * * * mon#6",
        ] {
            assert_eq!(Cron::parse(rule), None, "{rule}");
        }
    }
}
