//! Single runs of jobs: run now, skip, postpone, show.

use halite_proto::{Map, Value};

use super::item::NO_NAME;
use super::listing::{ListedPart, listed};
use super::{Report, ask};
use halite_call::{Call, CallResult};

const FORM: &str = "%Y-%m-%dT%H:%M:%S";

pub(super) fn skip_job(call: &Call<'_>) -> CallResult {
    let (name, time) = (call.text("name"), call.arg("current_time"));
    if !time.is_true() {
        return Ok(Report::new(false, "Job time is required.").into_value());
    }
    let form = form(call);
    if !is_moment(call, time, &form) {
        return Ok(Report::new(false, "Date string could not be parsed.").into_value());
    }
    if call.opt("test").is_true() {
        let comment = format!("Job: {name} would be skipped in schedule.");
        return Ok(Report::new(true, comment).into_value());
    }
    let fields = [
        ("name", Value::from(name.as_str())),
        ("time", time.clone()),
        ("time_fmt", form),
    ];
    let texts = [
        format!("Added Skip Job {name} in schedule."),
        format!("Failed to skip job {name} in schedule."),
    ];
    Ok(change_job(call, &name, "skip_job", fields, texts))
}

pub(super) fn postpone_job(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let (old, new) = (call.arg("current_time"), call.arg("new_time"));
    let wrong = |comment: &str| Ok(Report::new(false, comment).into_value());
    if name.is_empty() {
        return wrong(NO_NAME);
    }
    let form = form(call);
    for (time, missing) in [
        (old, "Job current time is required."),
        (new, "Job new_time is required."),
    ] {
        if !time.is_true() {
            return wrong(missing);
        }
        if !is_moment(call, time, &form) {
            return wrong("Date string could not be parsed.");
        }
    }
    if call.opt("test").is_true() {
        let comment = format!("Job: {name} would be postponed in schedule.");
        return Ok(Report::new(true, comment).into_value());
    }
    let fields = [
        ("name", Value::from(name.as_str())),
        ("time", old.clone()),
        ("new_time", new.clone()),
        ("time_fmt", form),
    ];
    let texts = [
        format!("Postponed Job {name} in schedule."),
        format!("Failed to postpone job {name} in schedule."),
    ];
    Ok(change_job(call, &name, "postpone_job", fields, texts))
}

fn change_job<const N: usize>(
    call: &Call<'_>,
    name: &str,
    func: &str,
    fields: [(&str, Value); N],
    [done, failed]: [String; 2],
) -> Value {
    if !listed(call, ListedPart::ALL).contains_key(name) {
        return Report::new(false, format!("Job {name} does not exist.")).into_value();
    }
    let answer = ask(call, func, fields);
    let job = super::job_in(answer.as_ref(), name);
    let is_on = job.is_some_and(|job| job.get("enabled").is_none_or(Value::is_true));
    match is_on {
        true => Report::new(true, done),
        false => Report::new(false, failed),
    }
    .into_value()
}

fn form(call: &Call<'_>) -> Value {
    let form = call.get("time_fmt").filter(|form| form.is_true());
    form.cloned().unwrap_or_else(|| FORM.into())
}

/// Whether a text is a moment of the form, as far as the scheduler can say.
fn is_moment(call: &Call<'_>, time: &Value, form: &Value) -> bool {
    let fields = [("time", time.clone()), ("time_fmt", form.clone())];
    let answer = ask(call, "check", fields);
    let bad = answer.as_ref().and_then(|answer| answer.get("bad_time"));
    !bad.is_some_and(Value::is_true)
}

pub(super) fn show_next_fire_time(call: &Call<'_>) -> CallResult {
    let name = call.arg("name").clone();
    if !name.is_true() {
        return Ok(Map::from([
            ("result", Value::Bool(false)),
            ("comment", NO_NAME.into()),
            ("next_fire_time", Value::Nil),
        ])
        .into());
    }
    let answer = ask(call, "get_next_fire_time", [("name", name)]);
    let mut report = Map::from([("result", true)]);
    match answer
        .as_ref()
        .and_then(|answer| answer.get("next_fire_time"))
    {
        Some(next) => report.insert("next_fire_time", next.clone()),
        None => report.insert("comment", "next fire time not available."),
    };
    Ok(report.into())
}

pub(super) fn run_job(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let jobs = listed(call, ListedPart::ALL);
    let Some(job) = jobs.get(&name) else {
        return Ok(Report::new(false, format!("Job {name} does not exist.")).into_value());
    };
    let is_on = job.get("enabled").is_none_or(Value::is_true);
    if !is_on && !call.flag("force") {
        return Ok(Report::new(true, format!("Job {name} is disabled.")).into_value());
    }
    let asked = ask(call, "run_job", [("name", Value::from(name.as_str()))]);
    Ok(match asked {
        Some(_) => Report::new(true, format!("Scheduling Job {name} on minion.")),
        None => Report::new(false, format!("Failed to run job {name} on minion.")),
    }
    .into_value())
}
