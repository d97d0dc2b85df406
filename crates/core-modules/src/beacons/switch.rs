//! Beacons on and off.

use halite_proto::Value;

use super::{ask, is_complete, is_test, listed, report, unanswered};
use halite_call::{Call, CallResult};

pub(super) fn enable(call: &Call<'_>) -> CallResult {
    switch_all(call, true)
}

pub(super) fn disable(call: &Call<'_>) -> CallResult {
    switch_all(call, false)
}

fn switch_all(call: &Call<'_>, on: bool) -> CallResult {
    let (func, past, past_title) = match on {
        true => ("enable", "enabled", "Enabled"),
        false => ("disable", "disabled", "Disabled"),
    };
    if is_test(call) {
        return Ok(report(true, format!("Beacons would be {past}.")).into());
    }
    let Some(answer) = ask(call, func, []) else {
        return Ok(unanswered(&format!("Beacons {func} job")).into());
    };
    let is_on = answer
        .get("beacons")
        .and_then(|beacons| beacons.get("enabled"))
        .is_some_and(Value::is_true);
    Ok(match is_complete(&answer) && is_on == on {
        true => report(true, format!("{past_title} beacons on minion.")),
        false => report(false, format!("Failed to {func} beacons on minion.")),
    }
    .into())
}

pub(super) fn enable_beacon(call: &Call<'_>) -> CallResult {
    switch(call, true)
}

pub(super) fn disable_beacon(call: &Call<'_>) -> CallResult {
    switch(call, false)
}

fn switch(call: &Call<'_>, on: bool) -> CallResult {
    if !call.flag("name") {
        return Ok(report(false, "Beacon name is required.").into());
    }
    let name = call.text("name");
    if is_test(call) {
        let comment = match on {
            true => format!("Beacon {name} would be enabled."),
            false => "Beacons would be disabled.".to_owned(),
        };
        return Ok(report(true, comment).into());
    }
    let func = if on {
        "enable_beacon"
    } else {
        "disable_beacon"
    };
    let Some(beacons) = listed(call, true, true) else {
        return Ok(unanswered(&format!("Beacon {func} job")).into());
    };
    if !beacons.contains_key(&name) {
        let comment = format!("Beacon {name} is not currently configured.");
        return Ok(report(false, comment).into());
    }
    let Some(answer) = ask(call, func, [("name", name.as_str().into())]) else {
        return Ok(unanswered(&format!("Beacon {func} job")).into());
    };
    if !is_complete(&answer) {
        let comment = answer.get("comment").cloned().unwrap_or_default();
        return Ok(report(false, comment).into());
    }
    let config = answer.get("beacons").and_then(|all| all.get(&name));
    let is_so = config.and_then(enabled) == Some(on);
    Ok(match (is_so, on) {
        (true, true) => report(true, format!("Enabled beacon {name} on minion.")),
        (true, false) => report(true, format!("Disabled beacon {name} on minion.")),
        (false, true) => report(false, format!("Failed to enable beacon {name} on minion.")),
        (false, false) => report(false, "Failed to disable beacon on minion."),
    }
    .into())
}

/// What a beacon's configuration says of its being on.
fn enabled(config: &Value) -> Option<bool> {
    let items = match config {
        Value::List(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut said = items.iter().filter_map(|item| item.get("enabled"));
    said.next_back().map(Value::is_true)
}

pub(super) fn reset(call: &Call<'_>) -> CallResult {
    if is_test(call) {
        return Ok(report(true, "Beacons would be reset.").into());
    }
    Ok(match ask(call, "reset", []) {
        Some(answer) if is_complete(&answer) => report(true, "Beacon configuration reset."),
        Some(answer) => report(false, answer.get("comment").cloned().unwrap_or_default()),
        None => unanswered("Beacon reset job"),
    }
    .into())
}
