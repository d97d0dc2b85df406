//! States of users and groups.

use halite_call::{Call, CallError, CallResult, Function, StateReturn, python};
use halite_proto::{Map, Value};

use super::{Removal, function, holds, names, remove, server, with_psql};
use crate::postgres::password::{Method, is_kept, kept};

const GROUP_PRESENT: &str = "(name, createdb=None, createroles=None, encrypted=None, superuser=None, inherit=None, login=None, replication=None, password=None, refresh_password=None, groups=None, user=None, maintenance_db=None, db_password=None, db_host=None, db_port=None, db_user=None)";
const USER_PRESENT: &str = "(name, createdb=None, createroles=None, encrypted=None, superuser=None, replication=None, inherit=None, login=None, password=None, default_password=None, refresh_password=None, valid_until=None, groups=None, user=None, maintenance_db=None, db_password=None, db_host=None, db_port=None, db_user=None)";
const ABSENT: &str = "(name, user=None, maintenance_db=None, db_password=None, db_host=None, db_port=None, db_user=None)";

pub(super) const GROUP: &[Function] = &[
    function(
        "postgres_group.absent",
        ABSENT,
        |call| with_psql(call, |call| absent(call, "Group", "group_remove")),
        "A group does not exist.",
    ),
    function(
        "postgres_group.present",
        GROUP_PRESENT,
        |call| with_psql(call, |call| present(call, "group")),
        "A group exists, with these rights, password and groups.",
    ),
];

pub(super) const USER: &[Function] = &[
    function(
        "postgres_user.absent",
        ABSENT,
        |call| with_psql(call, |call| absent(call, "User", "user_remove")),
        "A user does not exist.",
    ),
    function(
        "postgres_user.present",
        USER_PRESENT,
        |call| with_psql(call, |call| present(call, "user")),
        "A user exists, with these rights, password and groups. A password that is\nkept already is not set again; with refresh_password it is not looked at, and\nset each time.",
    ),
];

/// The arguments of the state that say what a role may, and what the role is
/// said to be.
const RIGHTS: [(&str, &str); 6] = [
    ("createdb", "can create databases"),
    ("inherit", "inherits privileges"),
    ("login", "can login"),
    ("createroles", "can create roles"),
    ("replication", "replication"),
    ("superuser", "superuser"),
];

fn present(call: &Call<'_>, kind: &'static str) -> CallResult {
    let name = call.text("name");
    let capital = if kind == "user" { "User" } else { "Group" };
    let state = StateReturn::of(call);
    let server = server(call);
    let refresh = call.flag("refresh_password");
    let mut kwargs = server.clone();
    kwargs.insert("return_password", !refresh);
    let role = call.salt("postgres.role_get", &[name.as_str().into()], kwargs)?;
    let role = (!role.is_nil()).then_some(role);
    let password = password(call, &name, role.as_ref(), refresh)?;
    let mut update = Map::new();
    if let Some(role) = &role {
        update = changes(call, role, password.is_some(), &server)?;
        if update.is_empty() {
            return Ok(state
                .ok(format!("{capital} {name} is already present"))
                .into());
        }
    }
    let mode = if role.is_some() { "update" } else { "create" };
    if call.is_test() {
        let mut state = state.pending(format!("{capital} {name} is set to be {mode}d"));
        if !update.is_empty() {
            state.changes.insert(name, update);
        }
        return Ok(state.into());
    }
    let mut kwargs = server;
    kwargs.insert(format!("{kind}name"), name.as_str());
    for argument in ["encrypted", "valid_until", "groups"] {
        if let Some(value) = call.get(argument) {
            kwargs.insert(argument, value.clone());
        }
    }
    for (argument, _) in RIGHTS {
        kwargs.insert(argument, call.arg(argument).clone());
    }
    kwargs.insert("rolepassword", password.map_or(Value::Nil, Value::from));
    Ok(match holds(call, &format!("{kind}_{mode}"), &[], kwargs)? {
        true => {
            let change = match update.is_empty() {
                true => Value::from("Present"),
                false => update.into(),
            };
            state
                .ok(format!("The {kind} {name} has been {mode}d"))
                .change(name, change)
        }
        false => state.failed(format!("Failed to {mode} {kind} {name}")),
    }
    .into())
}

/// The password to be set, as it is kept; none if there is nothing to set.
fn password(
    call: &Call<'_>,
    name: &str,
    role: Option<&Value>,
    refresh: bool,
) -> Result<Option<String>, CallError> {
    let given = |argument: &str| {
        let value = call.get(argument).filter(|value| !value.is_nil());
        value.map(python::str)
    };
    let wanted = match role {
        Some(_) => given("password"),
        None => given("password").or_else(|| given("default_password")),
    };
    let Some(wanted) = wanted else {
        return Ok(None);
    };
    let method = Method::from_encrypted(call.arg("encrypted"))?;
    if let Some(role) = role.filter(|_| !refresh) {
        let verifier = role.get("password").map(python::str).unwrap_or_default();
        if is_kept(name, &wanted, &verifier, method) {
            return Ok(None);
        }
    }
    Ok(Some(kept(name, &wanted, method)))
}

/// How a role differs from what is wanted.
fn changes(
    call: &Call<'_>,
    role: &Value,
    sets_password: bool,
    server: &Map,
) -> Result<Map, CallError> {
    let mut update = Map::new();
    for (argument, key) in RIGHTS {
        let wanted = call.arg(argument);
        if !wanted.is_nil() && role.get(key) != Some(wanted) {
            update.insert(argument, wanted.clone());
        }
    }
    if sets_password {
        update.insert("password", true);
    }
    if let Some(until) = call.get("valid_until").filter(|until| !until.is_nil()) {
        let until = python::str(until).replace('\'', "''");
        let sql = format!("SELECT '{until}'::timestamp(0) as dt;");
        let rows = call.salt("postgres.psql_query", &[sql.into()], server.clone())?;
        let moment = rows
            .as_list()
            .and_then(|rows| rows.first()?.get("dt"))
            .map(python::str);
        // `infinity` is none.
        let moment = moment.filter(|text| text.starts_with(|first: char| first.is_ascii_digit()));
        let is = role
            .get("expiry time")
            .filter(|is| !is.is_nil())
            .map(python::str);
        if moment != is {
            update.insert("valid_until", call.arg("valid_until").clone());
        }
    }
    if !call.arg("groups").is_nil() {
        let have = role.get("groups").map(names).unwrap_or_default();
        let wanted = names(call.arg("groups")).into_iter();
        let missing: Vec<Value> = wanted
            .filter(|group| !have.contains(group))
            .map(Value::from)
            .collect();
        if !missing.is_empty() {
            update.insert("groups", missing);
        }
    }
    Ok(update)
}

fn absent(call: &Call<'_>, capital: &str, function: &str) -> CallResult {
    let name = call.text("name");
    let removal = Removal {
        what: format!("{capital} {name}"),
        exists: "user_exists",
        remove: function,
        nothing: format!("{capital} {name} is not present, so it cannot be removed"),
    };
    remove(call, &removal, &[name.into()], &server(call), Map::new())
}
