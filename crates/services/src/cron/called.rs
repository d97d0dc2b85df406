//! Crontabs from the view of states: by the functions of a custom module `cron`,
//! each of which replaces ours, and otherwise by ours.
//!
//! Invariant: a custom function gets the arguments that Salt's state gives it
//! (`salt/states/cron.py`, 3008.5), in the same way: by position or by name.

use halite_call::host::Ran;
use halite_call::{Call, CallError, python};
use halite_proto::{Map, Value};

use super::tab::{Entry, Tab, When};
use super::{Job, Outcome, TIMES, optional};

/// Whether users brought this function.
fn is_of_users(call: &Call<'_>, fun: &str) -> bool {
    call.find_function(fun)
        .is_some_and(|function| function.is_of_users())
}

/// What a function of users makes of a change.
fn outcome(call: &Call<'_>, fun: &str, args: &[Value], kwargs: Map) -> Result<Outcome, CallError> {
    Ok(python::str(&call.salt(fun, args, kwargs)?))
}

/// Adds or changes an entry.
pub(crate) fn set(call: &Call<'_>, user: &str, job: &Job) -> Result<Outcome, CallError> {
    let fun = match job.when {
        When::Times(_) => "cron.set_job",
        When::Special(_) => "cron.set_special",
    };
    if !is_of_users(call, fun) {
        return super::set(call, user, job);
    }
    let mut kwargs = Map::from([
        ("user", Value::from(user)),
        ("cmd", job.cmd.as_str().into()),
        ("comment", job.comment.clone().into()),
        ("commented", job.commented.into()),
        ("identifier", job.identifier.clone().into()),
    ]);
    match &job.when {
        // As they stand in the SLS file: a users' function may want the number.
        When::Times(_) => {
            for name in TIMES {
                kwargs.insert(*name, call.arg(name).clone());
            }
        }
        When::Special(special) => drop(kwargs.insert("special", special.as_str())),
    }
    outcome(call, fun, &[], kwargs)
}

/// Removes the entry of a command or name; one like `@daily` with `special`.
pub(crate) fn remove(
    call: &Call<'_>,
    user: &str,
    cmd: &str,
    identifier: Option<&str>,
    special: Option<&str>,
) -> Result<Outcome, CallError> {
    let fun = match special {
        Some(_) => "cron.rm_special",
        None => "cron.rm_job",
    };
    if is_of_users(call, fun) {
        let mut kwargs = Map::from([("identifier", Value::from(identifier))]);
        if let Some(special) = special {
            kwargs.insert("special", special);
        }
        return outcome(call, fun, &[user.into(), cmd.into()], kwargs);
    }
    match special {
        Some(special) => super::remove_special(call, user, cmd, identifier, Some(special)),
        None => super::remove(call, user, cmd, identifier, &Default::default()),
    }
}

/// Sets a variable.
pub(crate) fn set_env(
    call: &Call<'_>,
    user: &str,
    name: &str,
    value: Option<String>,
) -> Result<Outcome, CallError> {
    if is_of_users(call, "cron.set_env") {
        let kwargs = Map::from([("value", call.arg("value").clone())]);
        return outcome(call, "cron.set_env", &[user.into(), name.into()], kwargs);
    }
    super::set_env(call, user, name, value)
}

/// Removes a variable.
pub(crate) fn remove_env(call: &Call<'_>, user: &str, name: &str) -> Result<Outcome, CallError> {
    if is_of_users(call, "cron.rm_env") {
        let args = [user.into(), name.into()];
        return outcome(call, "cron.rm_env", &args, Map::new());
    }
    super::remove_env(call, user, name)
}

/// The text of a user's crontab.
pub(crate) fn raw(call: &Call<'_>, user: &str) -> Result<String, CallError> {
    if is_of_users(call, "cron.raw_cron") {
        let text = call.salt("cron.raw_cron", &[user.into()], Map::new())?;
        return Ok(python::str(&text));
    }
    super::raw(call, user)
}

/// The crontab of a user.
pub(crate) fn read(call: &Call<'_>, user: &str) -> Result<Tab, CallError> {
    if is_of_users(call, "cron.list_tab") {
        let listed = call.salt("cron.list_tab", &[user.into()], Map::new())?;
        return Ok(tab_of(&listed));
    }
    super::read(call, user)
}

/// Makes a file the crontab of a user.
pub(crate) fn write_file(call: &Call<'_>, user: &str, path: &str) -> Result<Ran, CallError> {
    const FUN: &str = "cron.write_cron_file_verbose";
    if !is_of_users(call, FUN) {
        return super::write_file(call, user, path);
    }
    let ran = call.salt(FUN, &[user.into(), path.into()], Map::new())?;
    let text = |key| ran.get(key).map(python::str).unwrap_or_default();
    let code = ran.get("retcode").and_then(Value::as_i64);
    Ok(Ran {
        code: code.ok_or_else(|| {
            CallError::command(format!("{FUN} returned no retcode: {}", python::repr(&ran)))
        })?,
        stdout: text("stdout"),
        stderr: text("stderr"),
    })
}

/// A crontab from what `cron.list_tab` returns.
fn tab_of(listed: &Value) -> Tab {
    let list = |key| listed.get(key).and_then(Value::as_list).unwrap_or_default();
    let env = list("env").iter().filter_map(|variable| {
        let name = variable.get("name").map(python::str)?;
        Some((name, variable.get("value").and_then(optional)))
    });
    Tab {
        pre: list("pre").iter().map(python::str).collect(),
        env: env.collect(),
        crons: list("crons").iter().map(entry_of).collect(),
        special: list("special").iter().map(entry_of).collect(),
    }
}

fn entry_of(listed: &Value) -> Entry {
    let text = |key: &str| listed.get(key).map(python::str).unwrap_or_default();
    let optional = |key: &str| listed.get(key).and_then(optional);
    Entry {
        when: match listed.get("spec") {
            Some(special) => When::Special(python::str(special)),
            None => When::Times(TIMES.map(text)),
        },
        cmd: text("cmd"),
        identifier: optional("identifier"),
        comment: optional("comment"),
        commented: listed.get("commented").is_some_and(Value::is_true),
    }
}
