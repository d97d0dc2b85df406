//! Whether a job that is due may run: its ranges, limits and skipped moments.

use std::time::Duration;

use halite_proto::{Map, Value};

use crate::clock::Local;
use crate::dates::Date;
use crate::job::{self, Job, Range};

/// How late a job of a moment may begin: the machine may have slept.
pub(super) const LATE_MAX: Duration = Duration::from_secs(5);

/// Whether a job may run now.
pub(super) enum Verdict {
    Run,
    /// Another function in its place.
    RunInstead(String),
    /// Not this time.
    Skip(&'static str),
    /// Not yet.
    Hold(&'static str),
    Broken(String),
}

/// How far from a skipped moment a job may be due: such moments are written in
/// whole seconds.
const SKIPPED_MS: std::ops::Range<i64> = -1_000..2_000;

/// Whether the ranges and bounds of a job let it run. It has been due since `due`;
/// where that is `None`, it was put off to this moment.
pub(super) fn judge(
    name: &str,
    job: &Job,
    schedule: &Map,
    now: Local,
    due: Option<Local>,
) -> Verdict {
    let instead = schedule.get("skip_function").and_then(Value::as_str);
    let skip = |why| match instead {
        Some(function) => Verdict::RunInstead(function.to_owned()),
        None => Verdict::Skip(why),
    };
    let broken = || {
        Verdict::Broken(format!(
            "schedule.handle_func: Invalid range, end must be larger than start. Ignoring job {name}."
        ))
    };
    if let Some(range) = job.range {
        match (contains(range, now), range.invert) {
            (None, _) => return broken(),
            (Some(true), true) => return Verdict::Hold("in_skip_range"),
            (Some(false), false) => {
                return match instead {
                    Some(function) => Verdict::RunInstead(function.to_owned()),
                    None => Verdict::Hold("not_in_range"),
                };
            }
            _ => {}
        }
    }
    let of_all = || job::read_range(name, schedule.get("skip_during_range")?).ok();
    if let Some(range) = job.skip_during.or_else(of_all) {
        match contains(range, now) {
            None => return broken(),
            Some(true) if job.run_after_skip => return Verdict::Hold("in_skip_range"),
            Some(true) => return skip("in_skip_range"),
            Some(false) => {}
        }
    }
    // Only the turn of that moment: the next one may be as near.
    let is_skipped = |moment: &Local| {
        due.is_some_and(|due| SKIPPED_MS.contains(&(due.0.saturating_sub(moment.0))))
    };
    if job.skips.iter().any(is_skipped) {
        return skip("skip_explicit");
    }
    let on = |date: Option<Date>| date.and_then(|date| date.on(now.day()));
    if on(job.until).is_some_and(|until| until <= now) {
        return Verdict::Skip("until_passed");
    }
    if on(job.after).is_some_and(|after| after >= now) {
        return Verdict::Skip("after_not_passed");
    }
    Verdict::Run
}

/// Whether a moment is in a range of its day; none if the range ends before it
/// starts.
fn contains(range: Range, now: Local) -> Option<bool> {
    let start = range.start.on(now.day())?;
    let end = range.end.on(now.day())?;
    // What is outside begins with the ends themselves.
    (end > start).then_some(match range.invert {
        true => start < now && now < end,
        false => start <= now && now <= end,
    })
}
