//! The definition of a job from keyword arguments.

use halite_proto::{Map, Value};

use super::{Report, ask};
use halite_call::{Call, CallError, CallResult};

const INTERVALS: [&str; 4] = ["seconds", "minutes", "hours", "days"];

/// Keyword arguments that are taken over as they are, after the others.
const AS_GIVEN: [&str; 12] = [
    "range",
    "when",
    "once",
    "once_fmt",
    "cron",
    "returner",
    "after",
    "return_config",
    "return_kwargs",
    "until",
    "run_on_start",
    "skip_during_range",
];

/// What is said of a job without a name.
pub(super) const NO_NAME: &str = "Job name is required.";

pub(super) const CRON_AND_WHEN: &str =
    "Unable to use \"when\" and \"cron\" options together.  Ignoring.";

pub(super) fn build_schedule_item(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    if name.is_empty() {
        return Ok(Report::new(false, NO_NAME).into_value());
    }
    Ok(match build(call, &name, &call.clean_kwargs())? {
        Ok(job) => job.into(),
        Err(report) => report.into_value(),
    })
}

/// Whether an interval is given together with another kind of time.
pub(super) fn times_conflict(kwargs: &Map) -> bool {
    let has_interval = INTERVALS.iter().any(|key| kwargs.contains_key(key));
    has_interval && (kwargs.contains_key("when") || kwargs.contains_key("cron"))
}

/// The definition, or the report of what is wrong with it.
///
/// # Errors
/// When there is no function.
pub(super) fn build(
    call: &Call<'_>,
    name: &str,
    kwargs: &Map,
) -> Result<Result<Map, Report>, CallError> {
    let wrong = |comment: &str| Ok(Err(Report::new(false, comment)));
    let function = kwargs
        .get("function")
        .ok_or_else(|| CallError::exception("KeyError", "'function'"))?;
    let mut job = Map::from([("function", function.clone())]);
    if times_conflict(kwargs) {
        return wrong(
            "Unable to use \"seconds\", \"minutes\", \"hours\", or \"days\" with \"when\" or \"cron\" options.",
        );
    }
    if kwargs.contains_key("when") && kwargs.contains_key("cron") {
        return wrong(CRON_AND_WHEN);
    }
    let take = |job: &mut Map, key: &str| {
        if let Some(value) = kwargs.get(key) {
            job.insert(key, value.clone());
        }
    };
    for key in INTERVALS.into_iter().chain(["return_job", "metadata"]) {
        take(&mut job, key);
    }
    match kwargs.get("job_args") {
        None => {}
        Some(args @ Value::List(_)) => {
            job.insert("args", args.clone());
        }
        Some(_) => return wrong("job_args is not a list. please correct and try again."),
    }
    match kwargs.get("job_kwargs") {
        None => {}
        Some(args @ Value::Map(_)) => {
            job.insert("kwargs", args.clone());
        }
        Some(_) => return wrong("job_kwargs is not a dict. please correct and try again."),
    }
    let or = |key: &str, default: Value| kwargs.get(key).cloned().unwrap_or(default);
    job.insert("maxrunning", or("maxrunning", 1.into()));
    job.insert("name", or("name", name.into()));
    job.insert("enabled", or("enabled", true.into()));
    job.insert("jid_include", or("jid_include", true.into()));
    match kwargs.get("splay") {
        None => {}
        Some(Value::Map(splay)) => {
            let part = |key: &str| (key.to_owned(), splay.get(key).cloned().unwrap_or_default());
            let ordered: Map = ["start", "end"].map(part).into_iter().collect();
            job.insert("splay", ordered);
        }
        Some(splay) => {
            job.insert("splay", splay.clone());
        }
    }
    if let Some(when) = kwargs.get("when") {
        let answer = ask(call, "check", [("when", when.clone())]);
        let bad = answer.as_ref().and_then(|answer| answer.get("bad_when"));
        if let Some(bad) = bad.and_then(Value::as_str) {
            return wrong(&format!("Schedule item {bad} for \"when\" in invalid."));
        }
    }
    for key in AS_GIVEN {
        take(&mut job, key);
    }
    Ok(Ok(job))
}
