//! Users, their passwords, tags and rights.

use std::collections::BTreeSet;

use halite_call::{Call, CallError, StateReturn, python};
use halite_proto::{Map, Value};

use super::{ask, from_to};

pub(super) fn absent(call: &Call<'_>) -> Result<StateReturn, CallError> {
    let name = call.text("name");
    let state = StateReturn::of(call);
    let args = [Value::from(name.as_str())];
    if !ask(call, "user_exists", &args)?.is_true() {
        return Ok(state.ok(format!("The user '{name}' is not present.")));
    }
    let state = state.change("name", from_to(name.as_str(), ""));
    if call.is_test() {
        return Ok(state.pending(format!("The user '{name}' will be removed.")));
    }
    ask(call, "delete_user", &args)?;
    Ok(state.ok(format!("The user '{name}' was removed.")))
}

/// The rights that are wanted: by virtual host what may be configured, written
/// and read.
fn wanted_rights(call: &Call<'_>) -> Result<Vec<(Value, Map)>, CallError> {
    let mut wanted = Vec::new();
    for entry in call.arg("perms").as_list().unwrap_or_default() {
        for (vhost, rights) in entry.as_map().into_iter().flatten() {
            let rights = rights.as_list().unwrap_or_default();
            let [configure, write, read] = rights else {
                let text = format!("three patterns are needed for {}", python::str(vhost));
                return Err(CallError::command(text));
            };
            let pattern = |value: &Value| match value {
                Value::Nil => String::new(),
                other => python::str(other),
            };
            let rights = Map::from([
                ("configure", pattern(configure)),
                ("write", pattern(write)),
                ("read", pattern(read)),
            ]);
            wanted.push((vhost.clone(), rights));
        }
    }
    Ok(wanted)
}

pub(super) fn present(call: &Call<'_>) -> Result<StateReturn, CallError> {
    let name = call.text("name");
    let mut state = StateReturn::of(call);
    let me = Value::from(name.as_str());
    let password = call.text_opt("password");
    let rights = wanted_rights(call)?;
    let exists = ask(call, "user_exists", std::slice::from_ref(&me))?.is_true();
    if !exists {
        state = state.change("user", from_to("", name.as_str()));
        if call.is_test() {
            return Ok(state.pending(format!("User '{name}' is set to be created.")));
        }
        ask(
            call,
            "add_user",
            &[me.clone(), call.arg("password").clone()],
        )?;
    } else {
        let is_same = match &password {
            Some(password) => {
                let args = [me.clone(), password.as_str().into()];
                ask(call, "check_password", &args)?.is_true()
            }
            None => true,
        };
        let force = call.flag("force");
        if is_same && !force && rights.is_empty() && !call.flag("tags") {
            return Ok(state.ok(format!("User '{name}' is already present.")));
        }
        if force || !is_same {
            state = set_password(call, state, &me, password.as_deref())?;
        }
    }
    state = set_tags(call, state, &me)?;
    state = set_rights(call, state, &me, rights)?;
    Ok(if state.changes.is_empty() {
        state.ok(format!("'{name}' is already in the desired state."))
    } else if call.is_test() {
        state.pending(format!("Configuration for '{name}' will change."))
    } else {
        state.ok(format!("'{name}' was configured."))
    })
}

fn set_password(
    call: &Call<'_>,
    state: StateReturn,
    me: &Value,
    password: Option<&str>,
) -> Result<StateReturn, CallError> {
    let change = match password {
        Some(_) => from_to("", "Set password."),
        None => from_to("Removed password.", ""),
    };
    if !call.is_test() {
        match password {
            Some(password) => ask(call, "change_password", &[me.clone(), password.into()])?,
            None => ask(call, "clear_password", std::slice::from_ref(me))?,
        };
    }
    Ok(state.change("password", change))
}

fn set_tags(call: &Call<'_>, state: StateReturn, me: &Value) -> Result<StateReturn, CallError> {
    let wanted = match call.arg("tags") {
        Value::Nil => return Ok(state),
        Value::Str(text) => text.split_whitespace().map(str::to_owned).collect(),
        other => python::texts(other),
    };
    let users = ask(call, "list_users", &[])?;
    let current = users
        .get(&python::str(me))
        .map(python::texts)
        .unwrap_or_default();
    let set = |tags: &[String]| tags.iter().cloned().collect::<BTreeSet<_>>();
    if set(&wanted) == set(&current) {
        return Ok(state);
    }
    let list = |tags: Vec<String>| tags.into_iter().map(Value::from).collect::<Vec<_>>();
    if !call.is_test() {
        ask(
            call,
            "set_user_tags",
            &[me.clone(), list(wanted.clone()).into()],
        )?;
    }
    Ok(state.change("tags", from_to(list(current), list(wanted))))
}

fn set_rights(
    call: &Call<'_>,
    mut state: StateReturn,
    me: &Value,
    rights: Vec<(Value, Map)>,
) -> Result<StateReturn, CallError> {
    if rights.is_empty() {
        return Ok(state);
    }
    // Who is only to be made in test mode has none.
    let existing = ask(call, "list_user_permissions", std::slice::from_ref(me))?;
    let (mut old, mut new) = (Map::new(), Map::new());
    for (vhost, wanted) in rights {
        let current = existing.as_map().and_then(|all| all.get_value(&vhost));
        if current == Some(&Value::Map(wanted.clone())) {
            continue;
        }
        if !call.is_test() {
            let text = |key: &str| wanted.get(key).cloned().unwrap_or_default();
            let args = [
                vhost.clone(),
                me.clone(),
                text("configure"),
                text("write"),
                text("read"),
            ];
            ask(call, "set_permissions", &args)?;
        }
        if let Some(current) = current {
            old.insert(vhost.clone(), current.clone());
        }
        new.insert(vhost, wanted);
    }
    if !new.is_empty() {
        let change = match old.is_empty() {
            true => Map::from([("new", new)]),
            false => Map::from([("old", old), ("new", new)]),
        };
        state = state.change("perms", change);
    }
    Ok(state)
}
