//! Jobs that are added, modified and deleted.

use halite_proto::{Map, Value};

use super::files::save_offline;
use super::listing::{ListedPart, listed};
use super::{Report, SETTINGS, ask, flag, item, job_in};
use halite_call::{Call, CallError, CallResult};

pub(super) fn add(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let kwargs = call.clean_kwargs();
    let offline = flag(call, "offline", false);
    let wrong = |comment: String| {
        Ok(Report::new(false, comment)
            .with_changes(Map::new())
            .into_value())
    };
    let wanted = ListedPart {
        offline,
        ..ListedPart::ALL
    };
    if name.is_empty() {
        return Ok(Report::new(false, item::NO_NAME).into_value());
    }
    let mut current = listed(call, wanted);
    if current.contains_key(&name) {
        return wrong(format!("Job {name} already exists in schedule."));
    }
    if item::times_conflict(&kwargs) {
        return wrong(
            "Error: Unable to use \"seconds\", \"minutes\", \"hours\", or \"days\" with \"when\" or \"cron\" options."
                .to_owned(),
        );
    }
    if kwargs.contains_key("when") && kwargs.contains_key("cron") {
        return wrong(item::CRON_AND_WHEN.to_owned());
    }
    let job = match item::build(call, &name, &kwargs)? {
        Ok(job) => job,
        Err(report) => return Ok(report.into_value()),
    };
    if flag(call, "test", false) {
        let comment = format!("Job: {name} would be added to schedule.");
        let report = Report::new(true, comment).with_changes(Map::new());
        return Ok(report.into_value());
    }
    let added =
        Report::new(true, format!("Added job: {name} to schedule.")).changed(&name, "added");
    if offline {
        current.insert(name.as_str(), job);
        save_offline(call, current)?;
        return Ok(added.into_value());
    }
    let fields = [
        ("name", Value::from(name.as_str())),
        ("schedule", Map::from([(name.as_str(), job)]).into()),
        ("persist", flag(call, "persist", true).into()),
    ];
    let answer = ask(call, "add", fields);
    match job_in(answer.as_ref(), &name) {
        Some(_) => Ok(added.into_value()),
        None => wrong(format!("Failed to add job {name} to schedule.")),
    }
}

pub(super) fn modify(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let mut kwargs = call.clean_kwargs();
    let offline = flag(call, "offline", false);
    let report = |result: bool, comment: String, changes: Map| {
        Ok(Report::new(result, comment)
            .with_changes(changes)
            .into_value())
    };
    if item::times_conflict(&kwargs) {
        let comment = "Error: Unable to use \"seconds\", \"minutes\", \"hours\", or \"days\" with \"when\" option.";
        return report(false, comment.to_owned(), Map::new());
    }
    if kwargs.contains_key("when") && kwargs.contains_key("cron") {
        return report(false, item::CRON_AND_WHEN.to_owned(), Map::new());
    }
    let mut jobs = listed(
        call,
        ListedPart {
            offline,
            ..ListedPart::ALL
        },
    );
    let Some(current) = jobs.get(&name).and_then(Value::as_map).cloned() else {
        let comment = format!("Job {name} does not exist in schedule.");
        return report(false, comment, Map::new());
    };
    let function = current.get("function").cloned().unwrap_or(Value::Nil);
    kwargs.get_or_insert_with("function", || function);
    let new = match item::build(call, &name, &kwargs)? {
        Ok(new) => new,
        Err(report) => return Ok(report.into_value()),
    };
    if new == current {
        let comment = format!("Job {name} in correct state");
        return report(true, comment, Map::new());
    }
    let change = Map::from([("old", current), ("new", new.clone())]);
    let changes = Map::from([(name.as_str(), change)]);
    if flag(call, "test", false) {
        let comment = format!("Job: {name} would be modified in schedule.");
        return report(true, comment, changes);
    }
    let done = if offline {
        if let Some(Value::Map(old)) = jobs.get_mut(&name) {
            old.extend(new);
        }
        save_offline(call, jobs)?;
        true
    } else {
        let fields = [
            ("name", Value::from(name.as_str())),
            ("schedule", new.into()),
            ("persist", flag(call, "persist", true).into()),
        ];
        ask(call, "modify", fields).is_some()
    };
    match done {
        true => report(true, format!("Modified job: {name} in schedule."), changes),
        false => report(
            false,
            format!("Failed to modify job {name} in schedule."),
            changes,
        ),
    }
}

pub(super) fn delete(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let offline = flag(call, "offline", false);
    let failed = |comment: String| {
        Report::new(false, comment)
            .with_changes(Map::new())
            .into_value()
    };
    if flag(call, "test", false) {
        let comment = format!("Job: {name} would be deleted from schedule.");
        let report = Report::new(true, comment).with_changes(Map::new());
        return Ok(report.into_value());
    }
    let deleted = || {
        Report::new(true, format!("Deleted Job {name} from schedule."))
            .changed(&name, "removed")
            .into_value()
    };
    let wanted = ListedPart {
        offline,
        ..ListedPart::ALL
    };
    let mut current = listed(call, wanted);
    if offline {
        if current.remove(&name).is_none() {
            return Err(CallError::exception("KeyError", format!("'{name}'")));
        }
        save_offline(call, current)?;
        return Ok(deleted());
    }
    if !current.contains_key(&name) {
        return Ok(failed(format!("Job {name} does not exist.")));
    }
    let answer = ask_to_delete(call, &name);
    Ok(match (&answer, job_in(answer.as_ref(), &name)) {
        (Some(_), None) => deleted(),
        _ => failed(format!("Failed to delete job {name} from schedule.")),
    })
}

pub(super) fn ask_to_delete(call: &Call<'_>, name: &str) -> Option<Map> {
    let persist = flag(call, "persist", true);
    let fields = [("name", Value::from(name)), ("persist", persist.into())];
    ask(call, "delete", fields)
}

pub(super) fn purge(call: &Call<'_>) -> CallResult {
    let offline = flag(call, "offline", false);
    let wanted = ListedPart {
        offline,
        ..ListedPart::ALL
    };
    let mut current = listed(call, wanted);
    let names: Vec<String> = current
        .keys()
        .filter_map(Value::as_str)
        .filter(|name| !SETTINGS.contains(name) && !name.starts_with("__"))
        .map(str::to_owned)
        .collect();
    let (mut comments, mut changes) = (Vec::new(), Map::new());
    for name in names {
        if flag(call, "test", false) {
            comments.push(format!("Job: {name} would be deleted from schedule.").into());
            continue;
        }
        let is_gone = if offline {
            current.remove(&name).is_some()
        } else {
            let answer = ask_to_delete(call, &name);
            answer.is_some() && job_in(answer.as_ref(), &name).is_none()
        };
        if is_gone {
            changes.insert(name.as_str(), "removed");
            comments.push(format!("Deleted job: {name} from schedule.").into());
        } else {
            comments.push(format!("Failed to delete job {name} from schedule.").into());
        }
    }
    if offline && !flag(call, "test", false) {
        save_offline(call, current)?;
    }
    let report = Report::new(true, Value::List(comments)).with_changes(changes);
    Ok(report.into_value())
}
