//! The definition of one job of the schedule.

use halite_proto::{Map, Value};

use crate::clock::Local;
use crate::cron::Cron;
use crate::dates::Date;
use crate::strptime::strptime;

/// The form of `once` where `once_fmt` does not say another.
pub const TIME_FORM: &str = "%Y-%m-%dT%H:%M:%S";

/// Longest interval; a longer one is invalid.
const INTERVAL_SECONDS_MAX: i64 = 100 * 366 * 86_400;

/// When a job is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Timing {
    /// So many seconds after it ran last.
    Every(i64),
    /// At these times of day, week or year.
    When(Vec<Date>),
    /// At this moment.
    Once(Local),
    /// By a rule.
    Cron(Box<Cron>),
    /// Only at moments that it was put off to.
    Never,
}

/// A time that is added by chance, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Splay {
    /// At least.
    pub start: i64,
    /// At most.
    pub end: i64,
}

/// A span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Its start.
    pub start: Date,
    /// Its end.
    pub end: Date,
    /// Whether the range excludes: the job runs outside of it.
    pub invert: bool,
}

/// What a definition means.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// When it is due.
    pub timing: Timing,
    /// Whether it runs when the minion starts.
    pub run_on_start: bool,
    /// Added by chance to its time.
    pub splay: Option<Splay>,
    /// The only time it runs in.
    pub range: Option<Range>,
    /// A time it does not run in.
    pub skip_during: Option<Range>,
    /// Whether it runs when that is over.
    pub run_after_skip: bool,
    /// It does not run from then on.
    pub until: Option<Date>,
    /// It does not run before.
    pub after: Option<Date>,
    /// Moments at which it is left out.
    pub skips: Vec<Local>,
    /// Moments at which it runs besides.
    pub runs: Vec<Local>,
    /// Whether it is on.
    pub enabled: bool,
    /// How many of it may run at once; no bound without `jid_include`.
    pub running_max: Option<usize>,
    /// Whether it is only looked at.
    pub dry_run: bool,
}

/// `whens` of pillar or grains: names of moments.
pub type Whens<'a> = &'a dyn Fn(&str) -> Option<Value>;

impl Job {
    /// What a definition means; the text says what is wrong with it.
    ///
    /// # Errors
    /// When it cannot be meant.
    pub fn read(name: &str, data: &Map, whens: Whens<'_>) -> Result<Self, String> {
        let is_shown = data.get("jid_include").is_none_or(Value::is_true);
        let running_max = data.get("maxrunning").and_then(Value::as_i64).unwrap_or(1);
        let timing = timing(name, data, whens)?;
        let dates = |key: &str| -> Result<Option<Date>, String> {
            data.get(key)
                .map(|value| {
                    date(value).ok_or_else(|| {
                        format!("Invalid date string for {key}. Ignoring job {name}.")
                    })
                })
                .transpose()
        };
        Ok(Self {
            run_on_start: data
                .get("run_on_start")
                .map_or(matches!(timing, Timing::Every(_)), Value::is_true),
            timing,
            splay: data
                .get("splay")
                .map_or(Ok(None), |value| splay(name, value))?,
            range: range(name, data, "range")?,
            skip_during: range(name, data, "skip_during_range")?,
            run_after_skip: data.get("run_after_skip_range").is_some_and(Value::is_true),
            until: dates("until")?,
            after: dates("after")?,
            skips: moments(data, "skip_explicit"),
            runs: moments(data, "run_explicit"),
            enabled: data.get("enabled").is_none_or(Value::is_true),
            running_max: is_shown.then(|| usize::try_from(running_max).unwrap_or(1)),
            dry_run: data.get("dry_run").is_some_and(Value::is_true),
        })
    }
}

const INTERVALS: [(&str, i64); 4] = [
    ("seconds", 1),
    ("minutes", 60),
    ("hours", 3600),
    ("days", 86_400),
];

fn timing(name: &str, data: &Map, whens: Whens<'_>) -> Result<Timing, String> {
    let others = ["when", "cron", "once"];
    let given: Vec<&str> = others
        .into_iter()
        .filter(|key| data.contains_key(key))
        .collect();
    let has_interval = INTERVALS.iter().any(|(key, _)| data.contains_key(key));
    if given.len() > 1 {
        return Err(format!(
            "Unable to use \"{}\" options together. Ignoring.",
            others.join("\", \"")
        ));
    }
    if has_interval && !given.is_empty() {
        return Err(format!(
            "Unable to use \"seconds\", \"minutes\", \"hours\", \"days\" with \"{}\" options. Ignoring",
            others.join("\", \"")
        ));
    }
    match given.first() {
        None if has_interval => interval(name, data).map(Timing::Every),
        None => Ok(Timing::Never),
        Some(&"cron") => data
            .get("cron")
            .and_then(Value::as_str)
            .and_then(Cron::parse)
            .map(|cron| Timing::Cron(Box::new(cron)))
            .ok_or_else(|| format!("Invalid cron string. Ignoring job {name}.")),
        Some(&"once") => {
            let form = data
                .get("once_fmt")
                .and_then(Value::as_str)
                .unwrap_or(TIME_FORM);
            let text = data.get("once").and_then(Value::as_str).unwrap_or_default();
            let moment = strptime(text, form);
            moment.map(Timing::Once).ok_or_else(|| {
                format!("Date string could not be parsed: {text}, {form}. Ignoring job {name}.")
            })
        }
        Some(_) => when(name, data.get("when"), whens).map(Timing::When),
    }
}

fn interval(name: &str, data: &Map) -> Result<i64, String> {
    let mut total: i64 = 0;
    for (key, unit) in INTERVALS {
        let number = match data.get(key) {
            None => Some(0),
            Some(Value::Str(text)) => text.trim().parse().ok(),
            Some(Value::Float(float)) if float.is_finite() =>
            {
                #[expect(clippy::cast_possible_truncation, reason = "a cast saturates")]
                Some(*float as i64)
            }
            Some(value) => value.as_i64(),
        };
        let seconds = number.and_then(|number: i64| number.checked_mul(unit));
        total = seconds
            .and_then(|seconds| total.checked_add(seconds))
            .ok_or_else(|| format!("{key} is not a number. Ignoring job {name}."))?;
    }
    // Never twice in the same second: Salt looks once a second.
    Ok(total.clamp(1, INTERVAL_SECONDS_MAX))
}

fn when(name: &str, value: Option<&Value>, whens: Whens<'_>) -> Result<Vec<Date>, String> {
    let items = match value {
        Some(Value::List(items)) => items.clone(),
        Some(one) => vec![one.clone()],
        None => Vec::new(),
    };
    items
        .iter()
        .map(|item| {
            let named = item.as_str().and_then(whens);
            date(named.as_ref().unwrap_or(item)).ok_or_else(|| {
                let text = item.as_str().unwrap_or_default();
                format!("Invalid date string {text}. Ignoring job {name}.")
            })
        })
        .collect()
}

/// A moment of a definition. YAML reads `17:00` as a number of base 60.
pub fn date(value: &Value) -> Option<Date> {
    match value {
        Value::Str(text) => Date::parse(text),
        Value::Int(number) => {
            let minutes = i64::try_from(*number)
                .ok()
                .filter(|n| (0..1440).contains(n));
            let minutes = minutes?;
            Date::parse(&format!("{:02}:{:02}", minutes / 60, minutes % 60))
        }
        _ => None,
    }
}

/// `splay`: a number, or `start` and `end`.
pub fn splay(name: &str, value: &Value) -> Result<Option<Splay>, String> {
    let wrong =
        || format!("Invalid Splay, end must be larger than start. Ignoring splay of job {name}.");
    match value {
        Value::Nil | Value::Int(0) | Value::Bool(false) => Ok(None),
        Value::Map(map) => {
            let part = |key: &str| map.get(key).and_then(Value::as_i64);
            let (start, end) = part("start").zip(part("end")).ok_or_else(wrong)?;
            (0 <= start && start <= end)
                .then_some(Some(Splay { start, end }))
                .ok_or_else(wrong)
        }
        value => {
            let end = value.as_i64().filter(|end| *end > 0).ok_or_else(wrong)?;
            Ok(Some(Splay { start: 1, end }))
        }
    }
}

fn range(name: &str, data: &Map, key: &str) -> Result<Option<Range>, String> {
    data.get(key)
        .filter(|value| value.is_true())
        .map(|value| read_range(name, value))
        .transpose()
}

/// A span of time in a definition.
///
/// # Errors
/// The text says what is wrong with it.
pub fn read_range(name: &str, value: &Value) -> Result<Range, String> {
    let Value::Map(map) = value else {
        return Err(format!(
            "schedule.handle_func: Invalid, range must be specified as a dictionary. Ignoring job {name}."
        ));
    };
    let end = |key: &str| {
        map.get(key)
            .and_then(date)
            .ok_or_else(|| format!("Invalid date string for {key}. Ignoring job {name}."))
    };
    Ok(Range {
        start: end("start")?,
        end: end("end")?,
        invert: map.get("invert").is_some_and(Value::is_true),
    })
}

/// `skip_explicit` and `run_explicit`: `{time, time_fmt}` each.
fn moments(data: &Map, key: &str) -> Vec<Local> {
    let list = data.get(key).and_then(Value::as_list).unwrap_or_default();
    list.iter()
        .filter_map(|item| {
            let part = |name: &str| item.get(name).and_then(Value::as_str);
            let (time, form) = match item {
                Value::Str(text) => (text.as_str(), TIME_FORM),
                _ => (part("time")?, part("time_fmt").unwrap_or(TIME_FORM)),
            };
            strptime(time, form)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(yaml: &[(&str, Value)]) -> Result<Job, String> {
        let data: Map = yaml
            .iter()
            .map(|(key, value)| (*key, value.clone()))
            .collect();
        Job::read("j", &data, &|name| (name == "tea").then(|| "4:00pm".into()))
    }

    #[test]
    fn intervals_add_up_and_run_at_the_start() {
        let job = read(&[("minutes", 2.into()), ("seconds", "5".into())]).unwrap();
        assert_eq!(job.timing, Timing::Every(125));
        assert!(job.run_on_start);
        assert_eq!(job.running_max, Some(1));
        assert_eq!(
            read(&[("seconds", 0.into())]).unwrap().timing,
            Timing::Every(1)
        );
    }

    #[test]
    fn other_timings_are_read_and_do_not_run_at_the_start() {
        for (key, value) in [
            ("cron", Value::from("*/5 * * * *")),
            ("when", "tea".into()),
            ("when", vec![Value::from("Monday 8am"), "5pm".into()].into()),
            ("once", "2026-11-20T17:00:00".into()),
        ] {
            let job = read(&[(key, value)]).unwrap();
            assert!(!job.run_on_start && job.timing != Timing::Never);
        }
        assert_eq!(date(&Value::Int(17 * 60)), Date::parse("17:00"));
    }

    #[test]
    fn what_cannot_be_meant_is_said() {
        for (pairs, expected) in [
            (
                vec![("cron", Value::from("x"))],
                "Invalid cron string. Ignoring job j.",
            ),
            (
                vec![("when", "soon".into())],
                "Invalid date string soon. Ignoring job j.",
            ),
            (
                vec![("seconds", 1.into()), ("cron", "* * * * *".into())],
                "Unable to use \"seconds\", \"minutes\", \"hours\", \"days\" with \"when\", \"cron\", \"once\" options. Ignoring",
            ),
            (
                vec![("when", "5pm".into()), ("cron", "* * * * *".into())],
                "Unable to use \"when\", \"cron\", \"once\" options together. Ignoring.",
            ),
            (
                vec![("seconds", "x".into())],
                "seconds is not a number. Ignoring job j.",
            ),
            (
                vec![("seconds", 1.into()), ("range", "x".into())],
                "schedule.handle_func: Invalid, range must be specified as a dictionary. Ignoring job j.",
            ),
        ] {
            assert_eq!(read(&pairs).unwrap_err(), expected);
        }
    }
}
