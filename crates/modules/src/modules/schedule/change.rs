//! Changes of the schedule.

use halite_proto::{Map, Value};
use halite_yaml::{DumpOptions, dump};

use super::listing::{Wanted, in_includes, listed, saved, saved_file};
use super::{Report, SETTINGS, ask, flag, item, job_in};
use crate::Refresh;
use crate::call::Call;
use crate::error::{CallError, CallResult};

/// The mode of the saved schedule.
const SAVED_MODE: u32 = 0o600;

pub(super) fn add(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let kwargs = call.clean_kwargs();
    let offline = flag(call, "offline", false);
    let wrong = |comment: String| {
        Ok(Report::new(false, comment)
            .with_changes(Map::new())
            .into_value())
    };
    let wanted = Wanted {
        offline,
        ..Wanted::ALL
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
        Wanted {
            offline,
            ..Wanted::ALL
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
    let wanted = Wanted {
        offline,
        ..Wanted::ALL
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

fn ask_to_delete(call: &Call<'_>, name: &str) -> Option<Map> {
    let persist = flag(call, "persist", true);
    let fields = [("name", Value::from(name)), ("persist", persist.into())];
    ask(call, "delete", fields)
}

pub(super) fn purge(call: &Call<'_>) -> CallResult {
    let offline = flag(call, "offline", false);
    let wanted = Wanted {
        offline,
        ..Wanted::ALL
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
    if !listed(call, Wanted::ALL).contains_key(&name) {
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

pub(super) fn run_job(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let jobs = listed(call, Wanted::ALL);
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

pub(super) fn save(call: &Call<'_>) -> CallResult {
    if flag(call, "test", false) {
        return Ok(Report::new(true, "Schedule would be saved.").into_value());
    }
    Ok(match ask(call, "save_schedule", []) {
        Some(_) => Report::new(true, "Schedule (non-pillar items) saved."),
        None => Report::new(false, "Failed to save schedule."),
    }
    .into_value())
}

pub(super) fn reload(call: &Call<'_>) -> CallResult {
    let mut comments: Vec<Value> = Vec::new();
    let mut result = true;
    if call.ctx.pillar().contains_key("schedule") {
        let what = Refresh::Pillar { clean_cache: false };
        let done = call.ctx.refresh(what, None).is_ok();
        result &= done;
        comments.push(
            match done {
                true => "Reloaded schedule from pillar on minion.",
                false => "Failed to reload schedule from pillar on minion.",
            }
            .into(),
        );
    }
    let file = in_includes(call, "schedule.conf");
    if file.is_file() {
        let text = std::fs::read_to_string(&file)
            .map_err(|error| CallError::command(format!("{}: {error}", file.display())))?;
        let schedule = match halite_yaml::load(&text, "schedule.conf") {
            Ok(node) => node.to_value().get("schedule").cloned(),
            Err(error) => {
                comments.push(format!("Unable to read existing schedule file: {error}").into());
                None
            }
        };
        let (done, comment) = match schedule.filter(Value::is_true) {
            Some(schedule) => match ask(call, "reload", [("schedule", schedule)]) {
                Some(_) => (true, "Reloaded schedule on minion from schedule.conf."),
                None => (
                    false,
                    "Failed to reload schedule on minion from schedule.conf.",
                ),
            },
            None => (
                false,
                "Failed to reload schedule on minion.  Saved file is empty or invalid.",
            ),
        };
        result &= done;
        comments.push(comment.into());
    }
    Ok(Report::new(result, Value::List(comments)).into_value())
}

pub(super) fn copy(call: &Call<'_>) -> CallResult {
    hand_on(call, false)
}

pub(super) fn move_(call: &Call<'_>) -> CallResult {
    hand_on(call, true)
}

/// Gives a job to other minions, by `publish.publish`.
fn hand_on(call: &Call<'_>, and_delete: bool) -> CallResult {
    let name = call.text("name");
    let (verb, title) = match and_delete {
        true => ("moved", "Moved"),
        false => ("copied", "Copied"),
    };
    if flag(call, "test", false) {
        let comment = format!("Job: {name} would be {verb} from schedule.");
        return Ok(Report::new(true, comment).into_value());
    }
    let jobs = listed(call, Wanted::ALL);
    let Some(Value::Map(job)) = jobs.get(&name) else {
        return Ok(Report::new(false, format!("Job {name} does not exist.")).into_value());
    };
    let words = job.iter().map(|(key, value)| {
        format!("{}={}", crate::python::str(key), crate::python::str(value)).into()
    });
    let words = std::iter::once(Value::from(name.as_str())).chain(words);
    let args = [
        call.arg("target").clone(),
        "schedule.add".into(),
        words.collect::<Vec<Value>>().into(),
    ];
    let response = call.salt("publish.publish", &args, Map::new())?;
    let answers = response.as_map().cloned().unwrap_or_default();
    if answers.is_empty() {
        let comment = "no servers answered the published schedule.add command";
        return Ok(Report::new(true, comment).into_value());
    }
    let of = |answers: &Map, failed: bool| -> Vec<Value> {
        let chosen = answers
            .iter()
            .filter(|(_, value)| value.is_true() != failed);
        chosen.map(|(minion, _)| minion.clone()).collect()
    };
    let errors = of(&answers, true);
    let (comment, minions) = if errors.is_empty() {
        if and_delete {
            ask_to_delete(call, &name);
        }
        let to = if and_delete { "" } else { " to minion(s)" };
        (
            format!("{title} Job {name} from schedule{to}."),
            of(&answers, false),
        )
    } else {
        ("the following minions return False".to_owned(), errors)
    };
    let mut report = Report::new(true, comment).into_value();
    if let Some(report) = report.as_map_mut() {
        report.insert("minions", minions);
    }
    Ok(report)
}

/// Writes the saved schedule of a minion that does not run.
fn save_offline(call: &Call<'_>, jobs: Map) -> Result<(), CallError> {
    let path = saved_file(call);
    let failed = |error: String| CallError::command(format!("the schedule is not saved: {error}"));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| failed(error.to_string()))?;
    }
    // Settings that are no jobs stay.
    let mut schedule = saved(call);
    schedule.retain(|name, _| name.as_str().is_some_and(|name| SETTINGS.contains(&name)));
    schedule.extend(jobs);
    let document = Map::from([("schedule", schedule)]);
    let text = dump(&document.into(), DumpOptions::block());
    halite_crypto::files::create_private(&path, SAVED_MODE, text.as_bytes())
        .map_err(|error| failed(error.to_string()))
}
