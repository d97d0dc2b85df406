//! States of crontabs.

use std::io::Write;

use halite_call::replace::{Dress, replace_with};
use halite_call::{
    Call, CallError, CallResult, Function, Module, StateReturn, diff, os_error, paths, python,
};
use halite_proto::{Map, Value};

use crate::cron::tab::When;
use crate::cron::{self, Job, called, optional};
use halite_call::host::accounts;

pub(crate) const MODULE: Module = Module {
    name: "cron",
    functions: &[
        Function::new(
            "cron.absent",
            "(name, user='root', identifier=False, special=None, **kwargs)",
            absent,
            "An entry is not in a user's crontab.",
        ),
        Function::new(
            "cron.env_absent",
            "(name, user='root')",
            env_absent,
            "A variable is not in a user's crontab.",
        ),
        Function::new(
            "cron.env_present",
            "(name, value=None, user='root')",
            env_present,
            "A variable is in a user's crontab.",
        ),
        Function::new(
            "cron.file",
            "(name, source_hash='', source_hash_name=None, user='root', template=None, context=None, replace=True, defaults=None, backup='', **kwargs)",
            file,
            "A file is the crontab of a user.",
        ),
        Function::new(
            "cron.present",
            "(name, user='root', minute='*', hour='*', daymonth='*', month='*', dayweek='*', comment=None, commented=False, identifier=False, special=None)",
            present,
            "An entry is in a user's crontab.",
        ),
    ],
};

/// The name of the entry: the command, unless one is given or refused.
fn identifier(call: &Call<'_>, name: &str) -> Option<String> {
    match call.arg("identifier") {
        Value::Bool(false) => Some(name.to_owned()),
        other => optional(other),
    }
}

fn present(call: &Call<'_>) -> CallResult {
    let name = call.text("name").trim().to_owned();
    let user = call.text("user");
    let when = match optional(call.arg("special")) {
        Some(special) => When::Special(special),
        None => When::Times(cron::times_of(call)),
    };
    let job = Job {
        when,
        cmd: name.clone(),
        commented: call.arg("commented") == &Value::Bool(true),
        comment: optional(call.arg("comment")),
        identifier: identifier(call, &name),
    };
    if call.is_test() {
        job.check()?;
        let tab = called::read(call, &user)?;
        let list = match job.when {
            When::Times(_) => &tab.crons,
            When::Special(_) => &tab.special,
        };
        let found = list
            .iter()
            .find(|entry| entry.is_meant(&name, job.identifier.as_deref()));
        return Ok(match found {
            None => {
                StateReturn::new(name.as_str()).pending(format!("Cron {name} is set to be added"))
            }
            Some(entry) if job.is_as(entry) => {
                StateReturn::new(name.as_str()).ok(format!("Cron {name} already present"))
            }
            Some(_) => {
                StateReturn::new(name.as_str()).pending(format!("Cron {name} is set to be updated"))
            }
        }
        .into());
    }
    let outcome = called::set(call, &user, &job)?;
    Ok(set_result(
        StateReturn::new(name.as_str()),
        "Cron",
        &name,
        &user,
        &outcome,
    )
    .into())
}

/// The result of setting something.
fn set_result(
    state: StateReturn,
    what: &str,
    name: &str,
    user: &str,
    outcome: &str,
) -> StateReturn {
    match outcome {
        "present" => state.ok(format!("{what} {name} already present")),
        "new" => state
            .ok(format!("{what} {name} added to {user}'s crontab"))
            .change(user, name),
        "updated" => state
            .ok(format!("{what} {name} updated"))
            .change(user, name),
        "absent" => state.ok(format!("{what} {name} already absent")),
        "removed" => state
            .ok(format!("{what} {name} removed from {user}'s crontab"))
            .change(user, name),
        complaint => state.failed(format!(
            "{what} {name} for user {user} failed to commit with error \n{complaint}"
        )),
    }
}

fn absent(call: &Call<'_>) -> CallResult {
    let name = call.text("name").trim().to_owned();
    let user = call.text("user");
    let identifier = identifier(call, &name);
    let identifier = identifier.as_deref();
    let special = optional(call.arg("special"));
    if call.is_test() {
        let tab = called::read(call, &user)?;
        let list = if special.is_some() {
            &tab.special
        } else {
            &tab.crons
        };
        let is_there = list.iter().any(|entry| entry.is_meant(&name, identifier));
        return Ok(if is_there {
            StateReturn::new(name.as_str()).pending(format!("Cron {name} is set to be removed"))
        } else {
            StateReturn::new(name.as_str()).ok(format!("Cron {name} is absent"))
        }
        .into());
    }
    let outcome = called::remove(call, &user, &name, identifier, special.as_deref())?;
    Ok(set_result(
        StateReturn::new(name.as_str()),
        "Cron",
        &name,
        &user,
        &outcome,
    )
    .into())
}

fn env_status(
    call: &Call<'_>,
    user: &str,
    name: &str,
    value: &str,
) -> Result<Option<bool>, CallError> {
    let tab = called::read(call, user)?;
    let found = tab.env.iter().find(|(known, _)| known == name);
    Ok(found.map(|(_, old)| old.as_deref().unwrap_or_default() == value))
}

fn env_present(call: &Call<'_>) -> CallResult {
    let (name, user) = (call.text("name"), call.text("user"));
    let value = call.arg("value");
    let value = (!value.is_nil()).then(|| python::str(value));
    if call.is_test() {
        cron::check_env(&name, value.as_deref())?;
        let wanted = value.unwrap_or_default();
        return Ok(match env_status(call, &user, &name, &wanted)? {
            None => StateReturn::new(name.as_str())
                .pending(format!("Cron env {name} is set to be added")),
            Some(true) => {
                StateReturn::new(name.as_str()).ok(format!("Cron env {name} already present"))
            }
            Some(false) => StateReturn::new(name.as_str())
                .pending(format!("Cron env {name} is set to be updated")),
        }
        .into());
    }
    let outcome = called::set_env(call, &user, &name, value)?;
    Ok(set_result(
        StateReturn::new(name.as_str()),
        "Cron env",
        &name,
        &user,
        &outcome,
    )
    .into())
}

fn env_absent(call: &Call<'_>) -> CallResult {
    let name = call.text("name").trim().to_owned();
    let user = call.text("user");
    if call.is_test() {
        return Ok(match env_status(call, &user, &name, "")? {
            None => StateReturn::new(name.as_str()).ok(format!("Cron env {name} is absent")),
            Some(_) => StateReturn::new(name.as_str())
                .pending(format!("Cron env {name} is set to be removed")),
        }
        .into());
    }
    let outcome = called::remove_env(call, &user, &name)?;
    Ok(set_result(
        StateReturn::new(name.as_str()),
        "Cron env",
        &name,
        &user,
        &outcome,
    )
    .into())
}

/// The wanted crontab, fetched and rendered.
fn wanted_text(call: &Call<'_>, source: &str) -> Result<String, CallError> {
    let env = call
        .job
        .state
        .as_ref()
        .and_then(|state| state.low.get("__env__").cloned())
        .unwrap_or_else(|| "base".into());
    let template = call.arg("template");
    let cached = if template.is_true() {
        let mut kwargs = Map::from([("saltenv", env), ("template", template.clone())]);
        let mut context = call.arg("defaults").as_map().cloned().unwrap_or_default();
        context.extend(call.arg("context").as_map().cloned().unwrap_or_default());
        kwargs.extend(context);
        let dest = call.ctx.cachedir().join("cron-template");
        call.salt(
            "cp.get_template",
            &[source.into(), dest.display().to_string().into()],
            kwargs,
        )?
    } else {
        call.salt("cp.cache_file", &[source.into(), env], Map::new())?
    };
    if !cached.is_true() {
        return Err(CallError::command(format!(
            "Source file {source} not found"
        )));
    }
    let path = python::str(&cached);
    paths::read_to_string(&path).map_err(|error| os_error(&error, &path))
}

fn file(call: &Call<'_>) -> CallResult {
    let (name, user) = (call.text("name"), call.text("user"));
    let Some(account) = accounts::user(call, &user) else {
        return Ok(StateReturn::new(name.as_str())
            .failed(format!("Could not identify group for user {user}"))
            .into());
    };
    let old = called::raw(call, &user)?;
    if !call.flag("replace") && !old.is_empty() {
        return Ok(StateReturn::new(name.as_str())
            .ok(format!(
                "User {user} already has a crontab. No changes made"
            ))
            .into());
    }
    let new = match wanted_text(call, &name) {
        Ok(new) => new,
        Err(error) => {
            return Ok(StateReturn::new(name.as_str())
                .failed(format!("Unable to manage file: {error}"))
                .into());
        }
    };
    if old == new || format!("{old}\n") == new {
        return Ok(StateReturn::new(name.as_str())
            .ok(format!("Crontab for user {user} is in the correct state"))
            .into());
    }
    let diff = difference(&old, &new);
    if call.is_test() {
        return Ok(StateReturn::new(name.as_str())
            .pending(format!(
                "The following values are set to be changed:\ndiff: {diff}\n"
            ))
            .into());
    }
    let path = call.ctx.cachedir().join(format!("crontab-{user}"));
    let shown = path.display().to_string();
    let private = Dress::with_mode(0o600);
    let written = replace_with(&path, private, |file| file.write_all(new.as_bytes()));
    written.map_err(|error| os_error(&error, &shown))?;
    let ran = called::write_file(call, &user, &shown);
    let _ = paths::remove_file(&path);
    let ran = ran?;
    if !ran.ok() {
        return Ok(StateReturn::new(name.as_str())
            .failed(format!(
                "Unable to update user {user} crontab {shown}. Error: {}",
                ran.stderr
            ))
            .into());
    }
    let mut state = StateReturn::new(name.as_str())
        .ok(format!("Crontab for user {user} was updated"))
        .change("diff", diff);
    // Salt tells of the owners of the file that it makes on the way.
    if account.uid != 0 {
        let groups = accounts::groups_of(call, &account);
        state.changes.insert("user", account.name.as_str());
        state.changes.insert("group", groups.first().cloned());
    }
    Ok(state.into())
}

/// How the table changes; one that is not there counts as an empty line.
fn difference(old: &str, new: &str) -> String {
    let old = format!("{}\n", old.trim_end_matches('\n'));
    let lines = |text| str::split_inclusive(text, '\n').collect::<Vec<_>>();
    diff::unified(&lines(&old), &lines(new), "", "")
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn differences_are_those_of_lines() {
        assert_eq!(
            difference("", "# a\n1 2 3 4 5 x\n"),
            "--- \n+++ \n@@ -1 +1,2 @@\n-\n+# a\n+1 2 3 4 5 x\n"
        );
        assert_eq!(
            difference("a\nb", "a\nb\nmore\n"),
            "--- \n+++ \n@@ -1,2 +1,3 @@\n a\n b\n+more\n"
        );
    }
}
