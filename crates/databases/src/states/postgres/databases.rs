//! States of databases, of the directories of servers, and of privileges.

use halite_call::{Call, CallResult, Function, StateReturn, python};
use halite_proto::{Map, Value};

use super::{Removal, function, holds, remove, server, with_psql};

const DB_ABSENT: &str = "(name, user=None, maintenance_db=None, db_password=None, db_host=None, db_port=None, db_user=None)";
const DB_PRESENT: &str = "(name, tablespace=None, encoding=None, lc_collate=None, lc_ctype=None, owner=None, owner_recurse=False, template=None, user=None, maintenance_db=None, db_password=None, db_host=None, db_port=None, db_user=None)";
const INIT: &str = "(name, user=None, password=None, auth='password', encoding='UTF8', locale=None, runas=None, waldir=None, checksums=False)";
const GRANTED: &str = "(name, object_name, object_type, privileges=None, grant_option=None, prepend='public', maintenance_db=None, user=None, db_password=None, db_host=None, db_port=None, db_user=None)";
const REVOKED: &str = "(name, object_name, object_type, privileges=None, prepend='public', maintenance_db=None, user=None, db_password=None, db_host=None, db_port=None, db_user=None)";

pub(super) const DATABASE: &[Function] = &[
    function(
        "postgres_database.absent",
        DB_ABSENT,
        |call| with_psql(call, absent),
        "A database does not exist.",
    ),
    function(
        "postgres_database.present",
        DB_PRESENT,
        |call| with_psql(call, present),
        "A database exists, with this owner and tablespace.",
    ),
];

pub(super) const INITDB: &[Function] = &[function(
    "postgres_initdb.present",
    INIT,
    initialized,
    "A directory for the data of a server has been made.",
)];

pub(super) const PRIVILEGES: &[Function] = &[
    function(
        "postgres_privileges.absent",
        REVOKED,
        |call| with_psql(call, |call| privileges(call, false)),
        "A role does not have privileges on an object.",
    ),
    function(
        "postgres_privileges.present",
        GRANTED,
        |call| with_psql(call, |call| privileges(call, true)),
        "A role has privileges on an object, or is a member of a group.",
    ),
];

fn absent(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let removal = Removal {
        what: format!("Database {name}"),
        exists: "db_exists",
        remove: "db_remove",
        nothing: format!("Database {name} is not present, so it cannot be removed"),
    };
    remove(call, &removal, &[name.into()], &server(call), Map::new())
}

fn present(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let state = StateReturn::of(call);
    let databases = call.salt("postgres.db_list", &[], server(call))?;
    let known = databases.get(&name);
    // Whether a setting is as wanted, where one is.
    let is = |key: &str, argument: &str| {
        let wanted = call.text_opt(argument);
        let have = known.and_then(|known| known.get(key)).map(python::str);
        wanted.is_none_or(|wanted| match key {
            "Encoding" => have.is_some_and(|have| have.eq_ignore_ascii_case(&wanted)),
            _ => have.as_ref() == Some(&wanted),
        })
    };
    if known.is_some() {
        let fixed =
            is("Encoding", "encoding") && is("Collate", "lc_collate") && is("Ctype", "lc_ctype");
        if !fixed {
            return Ok(state
                .failed(format!(
                    "Database {name} has wrong parameters which couldn't be changed on fly."
                ))
                .into());
        }
        if is("Tablespace", "tablespace") && is("Owner", "owner") {
            return Ok(state
                .ok(format!("Database {name} is already present"))
                .into());
        }
    }
    if call.is_test() {
        return Ok(match known {
            None => state.pending(format!("Database {name} is set to be created")),
            Some(_) => state.pending(format!(
                "Database {name} exists, but parameters need to be changed"
            )),
        }
        .into());
    }
    let (function, arguments): (_, &[&str]) = match known {
        None => (
            "db_create",
            &[
                "tablespace",
                "encoding",
                "lc_collate",
                "lc_ctype",
                "owner",
                "template",
            ],
        ),
        Some(_) => ("db_alter", &["tablespace", "owner", "owner_recurse"]),
    };
    let mut kwargs = server(call);
    for argument in arguments {
        kwargs.insert(*argument, call.arg(argument).clone());
    }
    let done = holds(call, function, &[name.as_str().into()], kwargs)?;
    Ok(match (known, done) {
        (None, true) => state
            .ok(format!("The database {name} has been created"))
            .change(name, "Present"),
        (None, false) => state.failed(format!("Failed to create database {name}")),
        (Some(_), true) => state
            .ok(format!("Parameters for database {name} have been changed"))
            .change(name, "Parameters changed"),
        (Some(_), false) => {
            state.failed(format!("Failed to change parameters for database {name}"))
        }
    }
    .into())
}

fn initialized(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let what = format!("Postgres data directory {name}");
    let state = StateReturn::of(call);
    let args = [Value::from(name.as_str())];
    if holds(call, "datadir_exists", &args, Map::new())? {
        return Ok(state.ok(format!("{what} is already present")).into());
    }
    if call.is_test() {
        return Ok(state
            .pending(format!("{what} is set to be initialized"))
            .into());
    }
    let arguments = [
        "user",
        "password",
        "auth",
        "encoding",
        "locale",
        "waldir",
        "checksums",
        "runas",
    ];
    let kwargs = arguments
        .iter()
        .map(|argument| (*argument, call.arg(argument).clone()));
    Ok(
        match holds(call, "datadir_init", &args, kwargs.collect())? {
            true => state
                .ok(format!("{what} has been initialized"))
                .change(name, "Present"),
            false => state.failed(format!("{what} initialization failed")),
        }
        .into(),
    )
}

fn privileges(call: &Call<'_>, wanted: bool) -> CallResult {
    let name = call.text("name");
    let state = StateReturn::of(call);
    let given = call.arg("privileges");
    let list = match given {
        // One privilege as a text is one, not its letters.
        Value::Str(text) => text.clone(),
        other => python::texts(other).join(","),
    };
    let mut kwargs = server(call);
    if given.is_true() {
        kwargs.insert("privileges", list.as_str());
    }
    kwargs.insert("prepend", call.arg("prepend").clone());
    if let Some(option) = call.get("grant_option") {
        kwargs.insert("grant_option", option.clone());
    }
    let is_group = call.text("object_type").eq_ignore_ascii_case("group");
    let what = match (is_group, given.is_true()) {
        (true, _) => call.text("object_name"),
        (false, true) => list,
        (false, false) => "None".to_owned(),
    };
    let args = ["name", "object_name", "object_type"].map(|name| call.arg(name).clone());
    if holds(call, "has_privileges", &args, kwargs.clone())? == wanted {
        return Ok(state
            .ok(match wanted {
                true => "The requested privilege(s) are already set",
                false => "The requested privilege(s) are not set so cannot be revoked",
            })
            .into());
    }
    let (done, undone, direction, function) = match wanted {
        true => ("granted", "grant", "to", "privileges_grant"),
        false => ("revoked", "revoke", "from", "privileges_revoke"),
    };
    if call.is_test() {
        let text = format!("The privilege(s): {what} are set to be {done} {direction} {name}");
        return Ok(state.pending(text).into());
    }
    Ok(match holds(call, function, &args, kwargs)? {
        true => state
            .ok(format!(
                "The privilege(s): {what} have been {done} {direction} {name}"
            ))
            .change(name, if wanted { "Present" } else { "Absent" }),
        false => state.failed(format!(
            "Failed to {undone} privilege(s): {what} {direction} {name}"
        )),
    }
    .into())
}
