//! The functions of `cron`.
use halite_call::{Call, CallResult, python};
use halite_proto::{Map, Value};

use super::tab::{Entry, When};
use super::{
    Job, TIMES, optional, raw, read, remove, remove_env, remove_special, set, set_env, times_of,
    write_file,
};

pub(super) fn user(call: &Call<'_>) -> String {
    call.text("user")
}

pub(super) fn job_of(call: &Call<'_>, when: When) -> Job {
    Job {
        when,
        cmd: call.text("cmd"),
        commented: call.flag("commented"),
        comment: optional(call.arg("comment")),
        identifier: optional(call.arg("identifier")),
    }
}

pub(super) fn set_job_(call: &Call<'_>) -> CallResult {
    let job = job_of(call, When::Times(times_of(call)));
    Ok(set(call, &user(call), &job)?.into())
}

pub(super) fn set_special_(call: &Call<'_>) -> CallResult {
    let job = job_of(call, When::Special(call.text("special")));
    Ok(set(call, &user(call), &job)?.into())
}

pub(super) fn rm_job_(call: &Call<'_>) -> CallResult {
    let times = TIMES.map(|name| {
        let value = call.arg(name);
        (!value.is_nil()).then(|| python::str(value).to_lowercase())
    });
    let identifier = optional(call.arg("identifier"));
    let cmd = call.text("cmd");
    Ok(remove(call, &user(call), &cmd, identifier.as_deref(), &times)?.into())
}

pub(super) fn rm_special_(call: &Call<'_>) -> CallResult {
    let identifier = optional(call.arg("identifier"));
    let special = optional(call.arg("special"));
    let cmd = call.text("cmd");
    let (identifier, special) = (identifier.as_deref(), special.as_deref());
    Ok(remove_special(call, &user(call), &cmd, identifier, special)?.into())
}

pub(super) fn set_env_(call: &Call<'_>) -> CallResult {
    let value = call.arg("value");
    let value = (!value.is_nil()).then(|| python::str(value));
    Ok(set_env(call, &user(call), &call.text("name"), value)?.into())
}

pub(super) fn rm_env_(call: &Call<'_>) -> CallResult {
    Ok(remove_env(call, &user(call), &call.text("name"))?.into())
}

pub(super) fn write_cron_file(call: &Call<'_>) -> CallResult {
    Ok(write_file(call, &user(call), &call.text("path"))?
        .ok()
        .into())
}

pub(super) fn write_cron_file_verbose(call: &Call<'_>) -> CallResult {
    let ran = write_file(call, &user(call), &call.text("path"))?;
    Ok(Map::from([
        ("retcode", Value::from(ran.code)),
        ("stdout", ran.stdout.into()),
        ("stderr", ran.stderr.into()),
    ])
    .into())
}

pub(super) fn raw_cron(call: &Call<'_>) -> CallResult {
    Ok(raw(call, &user(call))?.into())
}

pub(super) fn describe(entry: &Entry) -> Map {
    let mut map = Map::new();
    match &entry.when {
        When::Times(times) => {
            for (name, value) in TIMES.iter().zip(times) {
                map.insert(*name, value.as_str());
            }
        }
        When::Special(special) => drop(map.insert("spec", special.as_str())),
    }
    map.insert("identifier", entry.identifier.clone());
    map.insert("cmd", entry.cmd.as_str());
    map.insert("comment", entry.comment.clone());
    map.insert("commented", entry.commented);
    map
}

pub(super) fn list_tab(call: &Call<'_>) -> CallResult {
    let tab = read(call, &user(call))?;
    let entries =
        |list: &[Entry]| Value::List(list.iter().map(|entry| describe(entry).into()).collect());
    let env = tab.env.iter().map(|(name, value)| {
        Map::from([
            ("name", Value::from(name.as_str())),
            ("value", value.clone().into()),
        ])
        .into()
    });
    let pre = tab.pre.iter().map(|line| line.as_str().into());
    Ok(Map::from([
        ("pre", Value::List(pre.collect())),
        ("crons", entries(&tab.crons)),
        ("special", entries(&tab.special)),
        ("env", Value::List(env.collect())),
    ])
    .into())
}

pub(super) fn get_entry(call: &Call<'_>) -> CallResult {
    let tab = read(call, &user(call))?;
    let (identifier, cmd) = (optional(call.arg("identifier")), optional(call.arg("cmd")));
    let found = tab
        .crons
        .iter()
        .chain(&tab.special)
        .find(|entry| match &identifier {
            Some(identifier) => entry.identifier.as_ref() == Some(identifier),
            None => cmd.as_ref() == Some(&entry.cmd),
        });
    Ok(found.map_or(Value::Bool(false), |entry| describe(entry).into()))
}
