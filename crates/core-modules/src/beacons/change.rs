//! Adds, changes and removes beacons.

use halite_proto::{Map, Value};
use halite_yaml::{DumpOptions, dump};

use super::{ask, diff, is_complete, is_test, listed, report, unanswered};
use crate::schedule::in_includes;
use halite_call::{Call, CallResult, paths, python};

/// The mode of the saved beacons: paths and names of services concern nobody.
const SAVED_MODE: u32 = 0o600;

/// The kind of a beacon: its name, unless its configuration names another.
fn kind(name: &str, data: &Value) -> String {
    let items = data.as_list().unwrap_or_default();
    let named = items.iter().find_map(|item| item.get("beacon_module"));
    named.map_or_else(|| name.to_owned(), python::str)
}

/// Whether the configuration makes sense; else why not.
fn checked(call: &Call<'_>, name: &str) -> Option<Result<(), String>> {
    let fields = [
        ("name", Value::from(name)),
        ("beacon_data", call.arg("beacon_data").clone()),
    ];
    let answer = ask(call, "validate_beacon", fields)?;
    if answer.get("valid").is_some_and(Value::is_true) {
        return Some(Ok(()));
    }
    Some(Err(answer
        .get("vcomment")
        .map(python::str)
        .unwrap_or_default()))
}

pub(super) fn add(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let data = call.arg("beacon_data");
    let Some(beacons) = listed(call, true, true) else {
        return Ok(unanswered("Beacon add").into());
    };
    if beacons.contains_key(&name) {
        let comment = format!("Beacon {name} is already configured.");
        return Ok(report(true, comment).into());
    }
    let kind = kind(&name, data);
    let kinds = ask(call, "list_available", []).and_then(|mut answer| answer.remove("beacons"));
    let kinds = kinds.unwrap_or_default();
    let kinds = kinds.as_list().unwrap_or_default();
    if !kinds.iter().any(|known| known.as_str() == Some(&kind)) {
        let comment = format!("Beacon \"{kind}\" is not available.");
        return Ok(report(false, comment).into());
    }
    if is_test(call) {
        return Ok(report(true, format!("Beacon: {name} would be added.")).into());
    }
    match checked(call, &name) {
        None => return Ok(unanswered("Beacon validation").into()),
        Some(Err(why)) => {
            let comment = format!("Beacon {name} configuration invalid, not adding.\n{why}");
            return Ok(report(false, comment).into());
        }
        Some(Ok(())) => {}
    }
    Ok(carried_out(call, "add", &name, &format!("Added beacon: {name}.")).into())
}

/// Has the minion do it and sees whether it has.
fn carried_out(call: &Call<'_>, func: &str, name: &str, done: &str) -> Map {
    let data = call.arg("beacon_data");
    let fields = [("name", Value::from(name)), ("beacon_data", data.clone())];
    let Some(answer) = ask(call, func, fields) else {
        return unanswered(&format!("Beacon {func}"));
    };
    if !is_complete(&answer) {
        return report(false, answer.get("comment").cloned().unwrap_or_default());
    }
    let now = answer.get("beacons").and_then(|beacons| beacons.get(name));
    match now == Some(data) {
        true => report(true, done),
        false => report(false, format!("Failed to {func} beacon {name}.")),
    }
}

pub(super) fn modify(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let data = call.arg("beacon_data");
    let Some(beacons) = listed(call, true, true) else {
        return Ok(unanswered("Beacon modify").into());
    };
    let Some(current) = beacons.get(&name) else {
        return Ok(report(true, format!("Beacon {name} is not configured.")).into());
    };
    if is_test(call) {
        let mut report = report(true, format!("Beacon: {name} would be modified."));
        // States of beacons show it.
        report.insert("changes", Map::new());
        return Ok(report.into());
    }
    match checked(call, &name) {
        None => return Ok(unanswered("Beacon modify").into()),
        Some(Err(why)) => {
            let comment = format!("Beacon {name} configuration invalid, not modifying.\n{why}");
            return Ok(report(false, comment).into());
        }
        Some(Ok(())) => {}
    }
    if current == data {
        return Ok(report(true, format!("Job {name} in correct state")).into());
    }
    let changes = diff::unified(&lines(current), &lines(data));
    let done = format!("Modified beacon: {name}.");
    let mut report = carried_out(call, "modify", &name, &done);
    report.insert("changes", Map::from([("diff", changes)]));
    Ok(report.into())
}

/// A configuration in lines of `key:value`.
fn lines(config: &Value) -> Vec<String> {
    let items = match config {
        Value::List(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let maps = items.iter().filter_map(Value::as_map);
    maps.flatten()
        .map(|(key, value)| format!("{}:{}\n", python::str(key), python::str(value)))
        .collect()
}

pub(super) fn delete(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    if is_test(call) {
        return Ok(report(true, format!("Beacon: {name} would be deleted.")).into());
    }
    let Some(answer) = ask(call, "delete", [("name", name.as_str().into())]) else {
        return Ok(unanswered("Beacon delete").into());
    };
    if !is_complete(&answer) {
        let comment = answer.get("comment").cloned().unwrap_or_default();
        return Ok(report(false, comment).into());
    }
    let left = answer.get("beacons").and_then(|all| all.get(&name));
    Ok(match left {
        None => report(true, format!("Deleted beacon: {name}.")),
        Some(_) => report(false, format!("Failed to delete beacon {name}.")),
    }
    .into())
}

pub(super) fn save(call: &Call<'_>) -> CallResult {
    let path = in_includes(call, "beacons.conf");
    let Some(beacons) = listed(call, false, true) else {
        return Ok(unanswered("Beacon save").into());
    };
    let text = match beacons.is_empty() {
        true => String::new(),
        false => dump(
            &Map::from([("beacons", beacons)]).into(),
            DumpOptions::block(),
        ),
    };
    if let Some(folder) = path.parent() {
        // What fails here fails below.
        let _ = paths::create_dir_all(folder);
    }
    let shown = path.display();
    let written = halite_crypto::files::create_private(&path, SAVED_MODE, text.as_bytes());
    Ok(match written {
        Ok(()) => report(true, format!("Beacons saved to {shown}.")),
        Err(error) => {
            tracing::error!(%error, "the beacons are not saved");
            let comment = format!("Unable to write to beacons file at {shown}. Check permissions.");
            report(false, comment)
        }
    }
    .into())
}
