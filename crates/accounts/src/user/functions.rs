//! The functions of `user`.
use halite_call::host::Program;
use halite_call::{Call, CallError, CallResult};
use halite_proto::{Map, Value};

use super::change::{add, change, chgroups, delete};
use super::{describe, groups_list, info};
use halite_call::host::accounts;

pub(super) fn arguments(call: &Call<'_>, names: &[&str]) -> Map {
    names
        .iter()
        .map(|name| (*name, call.arg(name).clone()))
        .collect()
}

pub(super) fn add_(call: &Call<'_>) -> CallResult {
    let args = arguments(
        call,
        &[
            "name",
            "uid",
            "gid",
            "groups",
            "home",
            "shell",
            "unique",
            "system",
            "fullname",
            "roomnumber",
            "workphone",
            "homephone",
            "other",
            "createhome",
            "nologinit",
            "root",
            "usergroup",
            "local",
        ],
    );
    Ok(add(call, &args)?.into())
}

pub(super) fn delete_(call: &Call<'_>) -> CallResult {
    let (remove, force, local) = (call.flag("remove"), call.flag("force"), call.flag("local"));
    Ok(delete(call, &call.text("name"), remove, force, local)?.into())
}

pub(super) fn change_(call: &Call<'_>, key: &str) -> CallResult {
    let persist = call.get("persist").is_some_and(Value::is_true);
    Ok(change(call, &call.text("name"), key, call.arg(key), persist)?.into())
}

pub(super) fn chgroups_(call: &Call<'_>) -> CallResult {
    let groups = groups_list(call.arg("groups"));
    Ok(chgroups(call, &call.text("name"), &groups, call.flag("append"))?.into())
}

pub(super) fn rename(call: &Call<'_>) -> CallResult {
    let (name, new) = (call.text("name"), call.text("new_name"));
    if accounts::user(call, &new).is_some() {
        return Err(CallError::command(format!("User '{new}' already exists")));
    }
    change(call, &name, "name", &new.as_str().into(), false)?;
    Ok((accounts::user(call, &new).is_some() && accounts::user(call, &name).is_none()).into())
}

pub(super) fn getent(call: &Call<'_>) -> CallResult {
    let all = accounts::users(call)
        .iter()
        .map(|user| describe(call, user).into())
        .collect();
    Ok(Value::List(all))
}

pub(super) fn info_(call: &Call<'_>) -> CallResult {
    Ok(info(call, &call.text("name")).into())
}

pub(super) fn list_groups(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let groups = accounts::user(call, &name).map(|user| accounts::groups_of(call, &user));
    let groups = groups.unwrap_or_default();
    Ok(Value::List(groups.into_iter().map(Value::from).collect()))
}

pub(super) fn list_users(call: &Call<'_>) -> CallResult {
    let mut names: Vec<String> = accounts::users(call)
        .into_iter()
        .map(|user| user.name)
        .collect();
    names.sort();
    Ok(Value::List(names.into_iter().map(Value::from).collect()))
}

pub(super) fn primary_group(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let group = accounts::user(call, &name).and_then(|user| accounts::group_of(call, user.gid));
    if let Some(group) = group {
        return Ok(group.name.into());
    }
    // Who is not in the files may be known elsewhere; else `id` says so.
    let ran = Program::new(call, &["id", "-g", "-n", &name]).run()?;
    Ok(ran.complaint().into())
}
