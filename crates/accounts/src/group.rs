//! Groups: the execution module `group`.

use halite_call::host::Program;
use halite_call::{Call, CallError, CallResult, Function, Module, python};
use halite_proto::{Map, Value};

use crate::tools::{check_name, runs_well, tool, with_root, words};
use halite_call::host::accounts;

pub(crate) const MODULE: Module = Module {
    name: "group",
    functions: &[
        Function::new(
            "group.add",
            "(name, gid=None, system=False, root=None, non_unique=False, local=False)",
            add_,
            "Adds a group.",
        ),
        Function::new(
            "group.adduser",
            "(name, username, root=None)",
            adduser_,
            "Adds a user to a group.",
        ),
        Function::new(
            "group.chgid",
            "(name, gid, root=None, non_unique=False)",
            chgid_,
            "Changes the number of a group.",
        ),
        Function::new(
            "group.delete",
            "(name, root=None, local=False)",
            delete_,
            "Deletes a group.",
        ),
        Function::new(
            "group.deluser",
            "(name, username, root=None)",
            deluser_,
            "Takes a user out of a group.",
        ),
        Function::new(
            "group.getent",
            "(refresh=False, root=None)",
            getent,
            "What is known of all groups.",
        ),
        Function::new(
            "group.info",
            "(name, root=None)",
            info_,
            "What is known of a group; empty if there is none.",
        ),
        Function::new(
            "group.members",
            "(name, members_list, root=None)",
            members_,
            "Makes these users, and no others, members of a group.",
        ),
    ],
};

fn describe(group: &accounts::Group) -> Map {
    let members = group.members.iter().map(|name| name.as_str().into());
    Map::from([
        ("name", Value::from(group.name.as_str())),
        ("passwd", group.passwd.as_str().into()),
        ("gid", group.gid.into()),
        ("members", Value::List(members.collect())),
    ])
}

/// What is known of a group; empty if there is none.
pub(crate) fn info(call: &Call<'_>, name: &str) -> Map {
    accounts::group(call, name)
        .map(|group| describe(&group))
        .unwrap_or_default()
}

fn root<'c>(call: &'c Call<'_>) -> &'c Value {
    call.get("root").unwrap_or(&Value::Nil)
}

fn is_busybox(call: &Call<'_>) -> bool {
    let host = call.host();
    !host.has("groupadd") && host.has("addgroup")
}

/// Adds a group.
pub(crate) fn add(
    call: &Call<'_>,
    name: &str,
    gid: &Value,
    system: bool,
    non_unique: bool,
    local: bool,
) -> Result<bool, CallError> {
    check_name(name)?;
    let busybox = is_busybox(call);
    let mut line = words(&[if busybox {
        "addgroup"
    } else {
        tool(call, if local { "lgroupadd" } else { "groupadd" })?
    }]);
    if gid.is_true() {
        line.extend(["-g".to_owned(), python::str(gid)]);
        if non_unique && !local && !busybox {
            line.push("-o".to_owned());
        }
    }
    if system {
        line.push(if busybox { "-S" } else { "-r" }.to_owned());
    }
    if !local && !busybox {
        with_root(&mut line, root(call));
    }
    line.push(name.to_owned());
    runs_well(call, &line)
}

/// Deletes a group.
pub(crate) fn delete(call: &Call<'_>, name: &str, local: bool) -> Result<bool, CallError> {
    check_name(name)?;
    let busybox = is_busybox(call);
    let mut line = words(&[if busybox {
        "delgroup"
    } else {
        tool(call, if local { "lgroupdel" } else { "groupdel" })?
    }]);
    if !local && !busybox {
        with_root(&mut line, root(call));
    }
    line.push(name.to_owned());
    runs_well(call, &line)
}

/// Changes the number of a group.
pub(crate) fn chgid(
    call: &Call<'_>,
    name: &str,
    gid: &Value,
    non_unique: bool,
) -> Result<bool, CallError> {
    let before = info(call, name);
    if before.is_empty() {
        return Ok(false);
    }
    if before.get("gid") == Some(gid) {
        return Ok(true);
    }
    let mut line = words(&[tool(call, "groupmod")?]);
    with_root(&mut line, root(call));
    let option = if non_unique { "-og" } else { "-g" };
    line.extend([option.to_owned(), python::str(gid), name.to_owned()]);
    Program::new(call, &line).run()?;
    Ok(info(call, name).get("gid") == Some(gid))
}

fn gpasswd(call: &Call<'_>, option: &str, users: &str, name: &str) -> Result<bool, CallError> {
    let mut line = words(&[tool(call, "gpasswd")?, option, users, name]);
    let root = root(call);
    if root.is_true() {
        line.extend(["--root".to_owned(), python::str(root)]);
    }
    runs_well(call, &line)
}

/// Adds a user to a group.
pub(crate) fn add_user(call: &Call<'_>, name: &str, user: &str) -> Result<bool, CallError> {
    check_name(name)?;
    check_name(user)?;
    if !call.host().has("gpasswd") && call.host().has("addgroup") {
        return runs_well(call, &words(&["addgroup", user, name]));
    }
    gpasswd(call, "--add", user, name)
}

/// Takes a user out of a group.
pub(crate) fn del_user(call: &Call<'_>, name: &str, user: &str) -> Result<bool, CallError> {
    let is_in =
        accounts::group(call, name).is_some_and(|group| group.members.iter().any(|m| m == user));
    if !is_in {
        return Ok(true);
    }
    if !call.host().has("gpasswd") && call.host().has("delgroup") {
        return runs_well(call, &words(&["delgroup", user, name]));
    }
    gpasswd(call, "--del", user, name)
}

/// Makes these users, and no others, members.
pub(crate) fn set_members(call: &Call<'_>, name: &str, users: &str) -> Result<bool, CallError> {
    if !call.host().has("gpasswd") && call.host().has("addgroup") {
        let wanted: Vec<&str> = users.split(',').filter(|user| !user.is_empty()).collect();
        let now = accounts::group(call, name)
            .map(|group| group.members)
            .unwrap_or_default();
        let mut fine = true;
        for user in now.iter().filter(|user| !wanted.contains(&user.as_str())) {
            fine &= del_user(call, name, user)?;
        }
        for user in wanted.iter().filter(|user| !now.iter().any(|m| m == *user)) {
            fine &= add_user(call, name, user)?;
        }
        return Ok(fine);
    }
    gpasswd(call, "--members", users, name)
}

fn add_(call: &Call<'_>) -> CallResult {
    let (system, non_unique) = (call.flag("system"), call.flag("non_unique"));
    let name = call.text("name");
    Ok(add(
        call,
        &name,
        call.arg("gid"),
        system,
        non_unique,
        call.flag("local"),
    )?
    .into())
}

fn delete_(call: &Call<'_>) -> CallResult {
    Ok(delete(call, &call.text("name"), call.flag("local"))?.into())
}

fn chgid_(call: &Call<'_>) -> CallResult {
    let non_unique = call.flag("non_unique");
    Ok(chgid(call, &call.text("name"), call.arg("gid"), non_unique)?.into())
}

fn adduser_(call: &Call<'_>) -> CallResult {
    Ok(add_user(call, &call.text("name"), &call.text("username"))?.into())
}

fn deluser_(call: &Call<'_>) -> CallResult {
    Ok(del_user(call, &call.text("name"), &call.text("username"))?.into())
}

fn members_(call: &Call<'_>) -> CallResult {
    Ok(set_members(call, &call.text("name"), &call.text("members_list"))?.into())
}

fn getent(call: &Call<'_>) -> CallResult {
    let all = accounts::groups(call)
        .iter()
        .map(|group| describe(group).into())
        .collect();
    Ok(Value::List(all))
}

fn info_(call: &Call<'_>) -> CallResult {
    Ok(info(call, &call.text("name")).into())
}
