//! States of users.

mod changes;

use halite_call::paths::{self, Held};
use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, os_error, python};
use halite_proto::{Map, Value};

use crate::user::GECOS;
use crate::{hash, shadow, user};
use changes::{AGES, DesiredUser, changes, read};
use halite_call::host::accounts;

pub(crate) const MODULE: Module = Module {
    name: "user",
    functions: &[
        Function::new(
            "user.absent",
            "(name, purge=False, force=False, local=False)",
            absent,
            "A user does not exist; with purge its home neither.",
        ),
        Function::new(
            "user.present",
            "(name, uid=None, gid=None, usergroup=None, groups=None, optional_groups=None, remove_groups=True, home=None, createhome=True, persist_home=False, password=None, hash_password=False, enforce_password=True, empty_password=False, shell=None, unique=True, system=False, fullname=None, roomnumber=None, workphone=None, homephone=None, other=None, loginclass=None, date=None, mindays=None, maxdays=None, inactdays=None, warndays=None, expire=None, win_homedrive=None, win_profile=None, win_logonscript=None, win_description=None, nologinit=False, allow_uid_change=False, allow_gid_change=False, password_lock=None, local=False)",
            present,
            "A user exists, with these attributes.",
        ),
    ],
};

const REDACTED: &str = "XXX-REDACTED-XXX";

/// Arguments that a new user is added with.
const ADD_ARGUMENTS: &[&str] = &[
    "name",
    "uid",
    "gid",
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
    "loginclass",
    "local",
    "usergroup",
];

/// The hash of a password that was given in plain text: with the salt of the
/// present one, so that equal passwords stay equal.
fn hashed(call: &Call<'_>, name: &str, password: &str) -> Result<String, CallError> {
    let now = shadow::hash_of(call, name).unwrap_or_default();
    let fields: Vec<&str> = now.split('$').collect();
    if let [_, number @ ("5" | "6"), salt, _] = fields.as_slice() {
        let algorithm = if *number == "5" { "sha256" } else { "sha512" };
        return hash::hash(password, Some(salt), algorithm);
    }
    hash::hash(password, None, "sha512")
}

fn present(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let mut state = StateReturn::of(call).ok(format!("User {name} is present and up to date"));
    let mut wanted = match read(call) {
        Ok(wanted) => wanted,
        Err(comment) => return Ok(state.failed(comment).into()),
    };
    if let (Some(password), true) = (&wanted.password, call.flag("hash_password")) {
        wanted.password = Some(hashed(call, &name, password)?);
    }
    let exists = |group: &String| accounts::group(call, group).is_some();
    let mut missing = Vec::new();
    if let Some(groups) = &mut wanted.groups {
        missing = groups
            .iter()
            .filter(|group| !exists(group))
            .cloned()
            .collect();
        if !missing.is_empty() && !call.is_test() {
            return Ok(state
                .failed(format!(
                    "The following group(s) are not present: {}",
                    missing.join(",")
                ))
                .into());
        }
        groups.retain(exists);
    }
    wanted.optional.retain(exists);
    let first = if call.arg("usergroup").is_true() && exists(&name) {
        Value::from(name.as_str())
    } else {
        wanted.gid.clone()
    };
    let todo = match changes(call, &wanted, &first, false) {
        Ok(todo) => todo,
        Err(CallError::Command(text)) => return Ok(state.failed(text).into()),
        Err(other) => return Err(other),
    };
    match todo {
        None => create(call, &wanted, &missing, state),
        Some(todo) if todo.is_empty() => Ok(state.into()),
        Some(todo) if call.is_test() => {
            let mut comment = "The following user attributes are set to be changed:\n".to_owned();
            for (key, value) in &todo {
                let value = if key.as_str() == Some("passwd") {
                    REDACTED.to_owned()
                } else {
                    python::str(value)
                };
                comment.push_str(&format!("{}: {value}\n", python::str(key)));
            }
            if !missing.is_empty() {
                let groups = missing.join(",");
                comment.push_str(&format!("groups (pending creation): {groups}\n"));
            }
            Ok(state.pending(comment).into())
        }
        Some(todo) => {
            state = update(call, &wanted, todo, state)?;
            Ok(state.into())
        }
    }
}

fn update(
    call: &Call<'_>,
    wanted: &DesiredUser,
    todo: Map,
    mut state: StateReturn,
) -> Result<StateReturn, CallError> {
    let name = wanted.name.as_str();
    let (before, shadow_before) = (user::info(call, name), shadow::info(call, name));
    apply(call, wanted, todo, &before)?;
    for (key, value) in &user::info(call, name) {
        if before.get_value(key) != Some(value) {
            state.changes.insert(key.clone(), value.clone());
        }
    }
    for (key, value) in &shadow::info(call, name) {
        if shadow_before.get_value(key) == Some(value) {
            continue;
        }
        let shown = if key.as_str() == Some("passwd") {
            REDACTED.into()
        } else {
            value.clone()
        };
        state.changes.insert(key.clone(), shown);
    }
    if !state.changes.is_empty() {
        state.comment = format!("Updated user {name}").into();
    }
    let left = changes(call, wanted, &wanted.gid, true)?.unwrap_or_default();
    if !left.is_empty() {
        let mut left = left;
        if left.contains_key("passwd") {
            left.insert("passwd", REDACTED);
        }
        let left = python::repr(&left.into());
        state = state.failed(format!("These values could not be changed: {left}"));
    }
    Ok(state)
}

/// Makes the changes that are to be made to a user.
fn apply(
    call: &Call<'_>,
    wanted: &DesiredUser,
    mut todo: Map,
    before: &Map,
) -> Result<(), CallError> {
    let name = wanted.name.as_str();
    if todo.remove("passwd").is_some()
        && let Some(password) = &wanted.password
    {
        shadow::set_password(call, name, password)?;
    }
    if todo.remove("empty_password").is_some() {
        shadow::del_password(call, name)?;
    }
    if let Some(lock) = todo.remove("password_lock") {
        shadow::lock(call, name, lock.is_true())?;
    }
    let persist = call.flag("persist_home");
    let home = todo.remove("home");
    let no_home = todo.remove("homeDoesNotExist");
    if let Some(home) = no_home.as_ref().or(home.as_ref()) {
        user::change(call, name, "home", home, persist)?;
    }
    if let Some(home) = no_home {
        make_home(call, &python::str(&home), before)?;
    }
    for (arg, field, option, _) in AGES {
        if let Some(value) = todo.remove(arg) {
            shadow::set_age(call, name, field, option, &value)?;
        }
    }
    for key in ["uid", "gid", "shell"].iter().chain(GECOS) {
        if let Some(value) = todo.remove(key) {
            user::change(call, name, key, &value, false)?;
        }
    }
    if let Some(groups) = todo.remove("groups") {
        let groups = user::groups_list(&groups);
        user::chgroups(call, name, &groups, !wanted.remove_groups)?;
    }
    Ok(())
}

fn make_home(call: &Call<'_>, home: &str, before: &Map) -> Result<(), CallError> {
    let path = call.host().path(home);
    if path.is_dir() {
        return Ok(());
    }
    let failed = |error: std::io::Error| os_error(&error, home);
    let id = |key: &str| {
        let id = before.get(key).and_then(Value::as_i64);
        id.and_then(|id| u32::try_from(id).ok())
    };
    let is_real = call.host().is_real();
    let give = |made: &Held| match is_real && made.path() == path {
        true => made.chown(id("uid"), id("gid")),
        false => Ok(()),
    };
    paths::create_dirs(&path, 0o755, give).map_err(failed)
}

fn create(
    call: &Call<'_>,
    wanted: &DesiredUser,
    missing: &[String],
    mut state: StateReturn,
) -> CallResult {
    let name = wanted.name.as_str();
    if call.is_test() {
        let mut comment = format!("User {name} set to be added");
        if !missing.is_empty() {
            comment.push_str(&format!(" (pending groups: {})", missing.join(",")));
        }
        return Ok(state.pending(comment).into());
    }
    if !user::add(call, &add_arguments(call, wanted))? {
        return Ok(state
            .failed(format!("Failed to create new user {name}"))
            .into());
    }
    state.changes = user::info(call, name);
    if !wanted.createhome {
        state.changes.insert("home", "");
    }
    let state = state.ok(format!("New user {name} created"));
    let state = set_first_password(call, wanted, state)?;
    Ok(set_ages(call, name, state)?.into())
}

/// What a new user is added with.
fn add_arguments(call: &Call<'_>, wanted: &DesiredUser) -> Map {
    let mut args: Map = ADD_ARGUMENTS
        .iter()
        .map(|arg| (*arg, call.arg(arg).clone()))
        .collect();
    let mut groups = wanted.groups.clone().unwrap_or_default();
    groups.extend(wanted.optional.iter().cloned());
    let groups = groups.into_iter().map(Value::from).collect();
    args.insert("groups", Value::List(groups));
    args
}

/// Sets the password of a user who was added just now, or empties it.
fn set_first_password(
    call: &Call<'_>,
    wanted: &DesiredUser,
    mut state: StateReturn,
) -> Result<StateReturn, CallError> {
    let name = wanted.name.as_str();
    if let Some(password) = wanted.password.as_ref().filter(|_| !wanted.empty_password) {
        if !shadow::set_password(call, name, password)? {
            state = state.failed(format!(
                "User {name} created but failed to set password to {REDACTED}"
            ));
        }
        state.changes.insert("password", REDACTED);
    }
    if wanted.empty_password && wanted.password.is_none() {
        if !shadow::del_password(call, name)? {
            state = state.failed(format!("User {name} created but failed to empty password"));
        }
        state.changes.insert("password", "");
    }
    Ok(state)
}

/// Sets how long the password of a new user is valid.
fn set_ages(call: &Call<'_>, name: &str, mut state: StateReturn) -> Result<StateReturn, CallError> {
    for (arg, field, option, words) in AGES {
        let value = call.arg(arg);
        let given = if *arg == "date" {
            !value.is_nil()
        } else {
            value.is_true()
        };
        if !given {
            continue;
        }
        shadow::set_age(call, name, field, option, value)?;
        if shadow::info(call, name).get(field) != Some(value) {
            state = state.failed(format!(
                "User {name} created but failed to set {words} to {}",
                python::str(value)
            ));
        }
        state.changes.insert(*arg, value.clone());
    }
    Ok(state)
}

fn absent(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let mut state = StateReturn::of(call);
    let Some(found) = accounts::user(call, &name) else {
        return Ok(state.ok(format!("User {name} is not present")).into());
    };
    if call.is_test() {
        return Ok(state.pending(format!("User {name} set for removal")).into());
    }
    let groups = accounts::groups_of(call, &found);
    let (purge, force, local) = (call.flag("purge"), call.flag("force"), call.flag("local"));
    if !user::delete(call, &name, purge, force, local)? {
        return Ok(state.failed(format!("Failed to remove user {name}")).into());
    }
    for group in groups {
        if accounts::group(call, &group).is_none() {
            state.changes.insert(format!("{group} group"), "removed");
        }
    }
    state.changes.insert(name.as_str(), "removed");
    Ok(state.ok(format!("Removed user {name}")).into())
}
