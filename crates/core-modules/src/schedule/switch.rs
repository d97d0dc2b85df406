//! Turning jobs, or the whole schedule, on and off.

use halite_proto::{Map, Value};

use super::listing::{ListedPart, listed};
use super::{Report, ask, flag, job_in};
use halite_call::{Call, CallResult};

pub(super) fn enable_job(call: &Call<'_>) -> CallResult {
    switch_job(call, true, call.opt("test").is_true())
}

pub(super) fn disable_job(call: &Call<'_>) -> CallResult {
    switch_job(call, false, flag(call, "test", false))
}

fn switch_job(call: &Call<'_>, on: bool, is_test: bool) -> CallResult {
    let name = call.text("name");
    let (func, past, present) = match on {
        true => ("enable_job", "enabled", "enable"),
        false => ("disable_job", "disabled", "disable"),
    };
    let report =
        |result: bool, comment: String| Report::new(result, comment).with_changes(Map::new());
    if is_test {
        let comment = format!("Job: {name} would be {past} in schedule.");
        return Ok(report(true, comment).into_value());
    }
    if !listed(call, ListedPart::ALL).contains_key(&name) {
        return Ok(report(false, format!("Job {name} does not exist.")).into_value());
    }
    let persist = flag(call, "persist", true);
    let fields = [
        ("name", Value::from(name.as_str())),
        ("persist", persist.into()),
    ];
    let answer = ask(call, func, fields);
    let now_on =
        job_in(answer.as_ref(), &name).map(|job| job.get("enabled").is_none_or(Value::is_true));
    let title = if on { "Enabled" } else { "Disabled" };
    Ok(match now_on == Some(on) {
        true => report(true, format!("{title} Job {name} in schedule.")).changed(&name, past),
        false => report(
            false,
            format!("Failed to {present} job {name} in schedule."),
        ),
    }
    .into_value())
}

pub(super) fn enable(call: &Call<'_>) -> CallResult {
    switch(call, true)
}

pub(super) fn disable(call: &Call<'_>) -> CallResult {
    switch(call, false)
}

fn switch(call: &Call<'_>, on: bool) -> CallResult {
    let (func, past) = match on {
        true => ("enable", "enabled"),
        false => ("disable", "disabled"),
    };
    let report =
        |result: bool, comment: String| Report::new(result, comment).with_changes(Map::new());
    if flag(call, "test", false) {
        return Ok(report(true, format!("Schedule would be {past}.")).into_value());
    }
    let persist = flag(call, "persist", true);
    let answer = ask(call, func, [("persist", persist.into())]);
    let is_on = job_in(answer.as_ref(), "enabled").map(Value::is_true);
    let title = if on { "Enabled" } else { "Disabled" };
    Ok(match is_on == Some(on) {
        true => report(true, format!("{title} schedule on minion.")).changed("schedule", past),
        false => report(false, format!("Failed to {func} schedule on minion.")),
    }
    .into_value())
}
