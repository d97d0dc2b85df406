//! States of MySQL and MariaDB: databases, users and their privileges.

use halite_call::{Call, CallResult, Function, Module, StateReturn, host, python};
use halite_proto::Map;

use crate::mysql::databases;
use crate::mysql::grants::{self, RequestedGrant};
use crate::mysql::link::{Asked, Server};
use crate::mysql::users::{self, Login};

pub(crate) const DATABASE: Module = Module {
    name: "mysql_database",
    functions: &[
        Function::new(
            "mysql_database.absent",
            "(name, **connection_args)",
            |call| run(call, database_absent),
            "A database does not exist.",
        ),
        Function::new(
            "mysql_database.present",
            "(name, character_set=None, collate=None, **connection_args)",
            |call| run(call, database_present),
            "A database exists, with this character set and collation.",
        ),
    ],
};

pub(crate) const GRANTS: Module = Module {
    name: "mysql_grants",
    functions: &[
        Function::new(
            "mysql_grants.absent",
            "(name, grant=None, database=None, user=None, host='localhost', grant_option=False, escape=True, **connection_args)",
            |call| run(call, grant_absent),
            "A user does not have privileges.",
        ),
        Function::new(
            "mysql_grants.present",
            "(name, grant=None, database=None, user=None, host='localhost', grant_option=False, escape=True, revoke_first=False, ssl_option=False, **connection_args)",
            |call| run(call, grant_present),
            "A user has privileges on a database (db.*) or a table.",
        ),
    ],
};

pub(crate) const USER: Module = Module {
    name: "mysql_user",
    functions: &[
        Function::new(
            "mysql_user.absent",
            "(name, host='localhost', **connection_args)",
            |call| run(call, user_absent),
            "A user does not exist.",
        ),
        Function::new(
            "mysql_user.present",
            "(name, host='localhost', password=None, password_hash=None, allow_passwordless=False, unix_socket=False, password_column=None, auth_plugin='mysql_native_password', **connection_args)",
            |call| run(call, user_present),
            "A user exists, with this password.",
        ),
    ],
};

type StateFunction = fn(&Call<'_>, &Server<'_, '_>, StateReturn) -> Asked<StateReturn>;

/// Runs a state; what the server does not answer is its comment.
fn run(call: &Call<'_>, state: StateFunction) -> CallResult {
    let fresh = || StateReturn::of(call);
    let done = Server::from_call(call).and_then(|server| state(call, &server, fresh()));
    Ok(done
        .unwrap_or_else(|failure| fresh().failed(failure.0))
        .into())
}

/// What was to be done, or why not.
fn because(text: String, done: Asked<bool>) -> String {
    match done {
        Ok(_) => text,
        Err(failure) => format!("{text} ({failure})"),
    }
}

fn database_present(
    call: &Call<'_>,
    server: &Server<'_, '_>,
    state: StateReturn,
) -> Asked<StateReturn> {
    let name = call.text("name");
    let Some(existing) = databases::find(server, &name)? else {
        if call.is_test() {
            let text = format!("Database {name} is not present and needs to be created");
            return Ok(state.pending(text));
        }
        return Ok(match databases::create(call, server, &name) {
            Ok(true) => state
                .ok(format!("The database {name} has been created"))
                .change(name, "Present"),
            done => state.failed(because(format!("Failed to create database {name}"), done)),
        });
    };
    let mut comments = Vec::new();
    for (argument, what) in [("character_set", "character set"), ("collate", "collate")] {
        let is = existing.get(argument).map(python::str).unwrap_or_default();
        if let Some(wanted) = call.text_opt(argument).filter(|wanted| *wanted != is) {
            comments.push(format!(
                "Database {what} {wanted} != {is} needs to be updated"
            ));
        }
    }
    if comments.is_empty() {
        return Ok(state.ok(format!("Database {name} is already present")));
    }
    if call.is_test() {
        comments.push(format!("Database {name} is going to be updated"));
        return Ok(state.pending(comments.join("\n")));
    }
    databases::alter(call, server, &name)?;
    let current = databases::find(server, &name)?.unwrap_or_default();
    let mut state = state.ok(comments.join("\n"));
    for key in ["collate", "character_set"] {
        let [before, now] =
            [&existing, &current].map(|map| map.get(key).cloned().unwrap_or_default());
        if before != now {
            state
                .changes
                .insert(key, Map::from([("before", before), ("now", now)]));
        }
    }
    Ok(state)
}

fn database_absent(
    call: &Call<'_>,
    server: &Server<'_, '_>,
    state: StateReturn,
) -> Asked<StateReturn> {
    let name = call.text("name");
    if databases::find(server, &name)?.is_none() {
        let text = format!("Database {name} is not present, so it cannot be removed");
        return Ok(state.ok(text));
    }
    if call.is_test() {
        let text = format!("Database {name} is present and needs to be removed");
        return Ok(state.pending(text));
    }
    Ok(match databases::remove(server, &name) {
        Ok(true) => state
            .ok(format!("Database {name} has been removed"))
            .change(name, "Absent"),
        done => state.failed(because(format!("Unable to remove database {name}"), done)),
    })
}

fn user_present(
    call: &Call<'_>,
    server: &Server<'_, '_>,
    state: StateReturn,
) -> Asked<StateReturn> {
    let (name, host) = (call.text("name"), call.text("host"));
    let who = format!("{name}@{host}");
    let login = Login::from_call(call, "allow_passwordless");
    let passwordless = !login.has_password();
    if passwordless && !login.passwordless && !login.socket {
        return Ok(state.failed(
            "Either password or password_hash must be specified, unless allow_passwordless is True",
        ));
    }
    // Of who logs in without a password that is what is looked for.
    let looked_for = Login {
        passwordless,
        ..login.clone()
    };
    if users::exists(server, &name, &host, &looked_for)? {
        let native = login.plugin.as_deref() == Some("mysql_native_password");
        let how = match (passwordless, login.passwordless, native) {
            (true, true, _) => " with passwordless login",
            (true, false, _) => "",
            (false, _, true) if login.password.is_some() => " with the desired password",
            (false, _, true) => " with the desired password hash",
            (false, _, false) => ". Unable to verify password.",
        };
        return Ok(state.ok(format!("User {who} is already present{how}")));
    }
    if users::find(server, &name, &host)?.is_some() {
        let (done, verb) = match passwordless {
            true => ("cleared", "clear"),
            false => ("changed", "change"),
        };
        if call.is_test() {
            return Ok(state.pending(format!("Password for user {who} is set to be {done}")));
        }
        return Ok(match users::change_password(server, &name, &host, &login) {
            Ok(true) => state
                .ok(format!("Password for user {who} has been {done}"))
                .change(name, "Updated"),
            failed => {
                let text = format!("Failed to {verb} password for user {who}");
                state.failed(because(text, failed))
            }
        });
    }
    let mut more = String::new();
    if login.passwordless {
        more.push_str(" with passwordless login");
    }
    if login.socket {
        more.push_str(" using unix_socket");
    }
    if call.is_test() {
        return Ok(state.pending(format!("User {who} is set to be added{more}")));
    }
    Ok(match users::create(server, &name, &host, &login) {
        Ok(true) => state
            .ok(format!("The user {who} has been added{more}"))
            .change(name, "Present"),
        failed => state.failed(because(format!("Failed to create user {who}"), failed)),
    })
}

fn user_absent(call: &Call<'_>, server: &Server<'_, '_>, state: StateReturn) -> Asked<StateReturn> {
    let (name, host) = (call.text("name"), call.text("host"));
    let who = format!("{name}@{host}");
    if users::find(server, &name, &host)?.is_none() {
        return Ok(state.ok(format!(
            "User {who} is not present, so it cannot be removed"
        )));
    }
    if call.is_test() {
        return Ok(state.pending(format!("User {who} is set to be removed")));
    }
    users::remove(server, &name, &host)?;
    Ok(state
        .ok(format!("User {who} has been removed"))
        .change(name, "Absent"))
}

/// A grant in comments: what, where, whose.
fn grant_words(call: &Call<'_>) -> [String; 3] {
    let who = format!("{}@{}", call.text("user"), call.text("host"));
    [call.text("grant"), call.text("database"), who]
}

fn grant_present(
    call: &Call<'_>,
    server: &Server<'_, '_>,
    state: StateReturn,
) -> Asked<StateReturn> {
    let (name, wanted) = (call.text("name"), RequestedGrant::from_call(call));
    let [grant, database, who] = grant_words(call);
    if grants::exists(server, &wanted)? {
        return Ok(state.ok(format!(
            "Grant {grant} on {database} to {who} is already present"
        )));
    }
    if call.is_test() {
        return Ok(state.pending(format!("MySQL grant {name} is set to be created")));
    }
    if call.get("revoke_first").is_some_and(host::is_true) {
        grants::revoke_all(server, &wanted)?;
    }
    Ok(match grants::add(server, &wanted) {
        Ok(true) => state
            .ok(format!(
                "Grant {grant} on {database} to {who} has been added"
            ))
            .change(name, "Present"),
        failed => {
            let text = format!("Failed to execute: \"GRANT {grant} ON {database} TO {who}\"");
            state.failed(because(text, failed))
        }
    })
}

fn grant_absent(
    call: &Call<'_>,
    server: &Server<'_, '_>,
    state: StateReturn,
) -> Asked<StateReturn> {
    let (name, wanted) = (call.text("name"), RequestedGrant::from_call(call));
    let [grant, database, who] = grant_words(call);
    let about = format!("{grant} on {database} for {who}");
    let exists = match grants::exists(server, &wanted) {
        Ok(exists) => exists,
        Err(failure) => {
            return Ok(state.failed(format!(
                "Unable to determine if grant {about} exists ({failure})"
            )));
        }
    };
    if !exists {
        let text =
            format!("Grant {grant} on {database} to {who} is not present, so it cannot be revoked");
        return Ok(state.ok(text));
    }
    if call.is_test() {
        return Ok(state.pending(format!("MySQL grant {name} is set to be revoked")));
    }
    Ok(match grants::revoke(server, &wanted) {
        Ok(true) => state
            .ok(format!("Grant {about} has been revoked"))
            .change(name, "Absent"),
        failed => state.failed(because(format!("Unable to revoke grant {about}"), failed)),
    })
}
