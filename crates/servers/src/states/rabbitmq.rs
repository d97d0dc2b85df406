//! States of RabbitMQ: users, virtual hosts, plugins and policies.

use std::collections::BTreeSet;

use halite_modules::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value, json};

use crate::rabbitmq::CONTROL;

pub(crate) const PLUGIN: Module = Module {
    name: "rabbitmq_plugin",
    functions: &[
        Function::new(
            "rabbitmq_plugin.disabled",
            "(name, runas=None)",
            |call| run(call, |call| plugin(call, false)),
            "A plugin is off.",
        ),
        Function::new(
            "rabbitmq_plugin.enabled",
            "(name, runas=None)",
            |call| run(call, |call| plugin(call, true)),
            "A plugin is on.",
        ),
    ],
};

pub(crate) const POLICY: Module = Module {
    name: "rabbitmq_policy",
    functions: &[
        Function::new(
            "rabbitmq_policy.absent",
            "(name, vhost='/', runas=None)",
            |call| run(call, policy_absent),
            "There is no such policy.",
        ),
        Function::new(
            "rabbitmq_policy.present",
            "(name, pattern, definition, priority=0, vhost='/', runas=None, apply_to=None)",
            |call| run(call, policy_present),
            "A policy is as given.",
        ),
    ],
};

pub(crate) const USER: Module = Module {
    name: "rabbitmq_user",
    functions: &[
        Function::new(
            "rabbitmq_user.absent",
            "(name, runas=None)",
            |call| run(call, user_absent),
            "There is no such user.",
        ),
        Function::new(
            "rabbitmq_user.present",
            "(name, password=None, force=False, tags=None, perms=(), runas=None)",
            |call| run(call, user_present),
            "A user has this password, these tags, and these rights in virtual hosts.",
        ),
    ],
};

pub(crate) const VHOST: Module = Module {
    name: "rabbitmq_vhost",
    functions: &[
        Function::new(
            "rabbitmq_vhost.absent",
            "(name)",
            |call| run(call, |call| vhost(call, false)),
            "There is no such virtual host.",
        ),
        Function::new(
            "rabbitmq_vhost.present",
            "(name)",
            |call| run(call, |call| vhost(call, true)),
            "There is a virtual host.",
        ),
    ],
};

/// Runs a state; what the broker refuses is its comment.
fn run(call: &Call<'_>, state: fn(&Call<'_>) -> Result<StateReturn, CallError>) -> CallResult {
    let fresh = || StateReturn::new(call.arg("name").clone());
    if !call.host().has(CONTROL) {
        let text = format!("Command not found: {CONTROL}");
        return Ok(fresh().failed(text).into());
    }
    match state(call) {
        Err(CallError::Command(why)) => Ok(fresh().failed(format!("Error: {why}")).into()),
        other => Ok(other?.into()),
    }
}

fn ask(call: &Call<'_>, fun: &str, args: &[Value]) -> CallResult {
    let runas = call.get("runas").cloned().unwrap_or_default();
    call.salt(
        &format!("rabbitmq.{fun}"),
        args,
        Map::from([("runas", runas)]),
    )
}

/// What a change from one thing to another looks like.
fn from_to(old: impl Into<Value>, new: impl Into<Value>) -> Value {
    Map::from([("old", old.into()), ("new", new.into())]).into()
}

fn plugin(call: &Call<'_>, wanted: bool) -> Result<StateReturn, CallError> {
    let name = call.text("name");
    let mut state = StateReturn::new(call.arg("name").clone());
    let done = if wanted { "enabled" } else { "disabled" };
    let args = [Value::from(name.as_str())];
    if ask(call, "plugin_is_enabled", &args)?.is_true() == wanted {
        return Ok(state.ok(format!("Plugin '{name}' is already {done}.")));
    }
    let (old, new) = if wanted {
        ("", name.as_str())
    } else {
        (name.as_str(), "")
    };
    state.changes = Map::from([("old", old), ("new", new)]);
    if call.is_test() {
        return Ok(state.pending(format!("Plugin '{name}' is set to be {done}.")));
    }
    let function = if wanted {
        "enable_plugin"
    } else {
        "disable_plugin"
    };
    ask(call, function, &args)?;
    Ok(state.ok(format!("Plugin '{name}' was {done}.")))
}

fn vhost(call: &Call<'_>, wanted: bool) -> Result<StateReturn, CallError> {
    let name = call.text("name");
    let mut state = StateReturn::new(call.arg("name").clone());
    let args = [Value::from(name.as_str())];
    if ask(call, "vhost_exists", &args)?.is_true() == wanted {
        return Ok(state.ok(match wanted {
            true => format!("Virtual Host '{name}' already exists."),
            false => format!("Virtual Host '{name}' is not present."),
        }));
    }
    let (old, new) = if wanted {
        ("", name.as_str())
    } else {
        (name.as_str(), "")
    };
    state.changes = Map::from([("old", old), ("new", new)]);
    let (function, key, verb) = match wanted {
        true => ("add_vhost", "Added", "created"),
        false => ("delete_vhost", "Deleted", "removed"),
    };
    if call.is_test() {
        return Ok(state.pending(format!("Virtual Host '{name}' will be {verb}.")));
    }
    let said = ask(call, function, &args)?;
    Ok(state.ok(said.get(key).cloned().unwrap_or_default()))
}

fn user_absent(call: &Call<'_>) -> Result<StateReturn, CallError> {
    let name = call.text("name");
    let state = StateReturn::new(call.arg("name").clone());
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

fn user_present(call: &Call<'_>) -> Result<StateReturn, CallError> {
    let name = call.text("name");
    let mut state = StateReturn::new(call.arg("name").clone());
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

fn policy_present(call: &Call<'_>) -> Result<StateReturn, CallError> {
    let names = ["name", "vhost", "pattern"];
    let [name, vhost, pattern] = names.map(|name| call.text(name));
    let state = StateReturn::new(call.arg("name").clone());
    let all = ask(call, "list_policies", &[vhost.as_str().into()])?;
    let policy = all.get(&vhost).and_then(|all| all.get(&name));
    let definition = match call.arg("definition") {
        Value::Str(text) => json::read(text).unwrap_or_default(),
        other => other.clone(),
    };
    let mut updates = Vec::new();
    if let Some(policy) = policy {
        let text = |key: &str| policy.get(key).map(python::str).unwrap_or_default();
        let applies = call.text_opt("apply_to");
        for (differs, what) in [
            (text("pattern") != pattern, "Pattern"),
            (
                json::read(&text("definition")).ok() != Some(definition),
                "Definition",
            ),
            (applies.is_some_and(|to| to != text("apply_to")), "Applyto"),
            (text("priority") != call.text("priority"), "Priority"),
        ] {
            if differs {
                updates.push(Value::from(what));
            }
        }
        if updates.is_empty() {
            return Ok(state.ok(format!("Policy {vhost} {name} is already present")));
        }
    }
    let (state, verb) = match policy {
        None => (
            state.change("old", Map::new()).change("new", name.as_str()),
            "created",
        ),
        Some(policy) => (
            state.change("old", policy.clone()).change("new", updates),
            "updated",
        ),
    };
    if call.is_test() {
        return Ok(state.pending(format!("Policy {vhost} {name} is set to be {verb}")));
    }
    let args = ["vhost", "name", "pattern", "definition", "priority"];
    let args = args.map(|argument| call.arg(argument).clone());
    let mut kwargs = Map::new();
    for argument in ["runas", "apply_to"] {
        kwargs.insert(argument, call.arg(argument).clone());
    }
    let said = call.salt("rabbitmq.set_policy", &args, kwargs)?;
    Ok(state.ok(said.get("Set").cloned().unwrap_or_default()))
}

fn policy_absent(call: &Call<'_>) -> Result<StateReturn, CallError> {
    let (name, vhost) = (call.text("name"), call.text("vhost"));
    let state = StateReturn::new(call.arg("name").clone());
    let args = [Value::from(vhost.as_str()), name.as_str().into()];
    if !ask(call, "policy_exists", &args)?.is_true() {
        return Ok(state.ok(format!("Policy '{vhost} {name}' is not present.")));
    }
    let state = state.change("new", "").change("old", name.as_str());
    if call.is_test() {
        return Ok(state.pending(format!("Policy '{vhost} {name}' will be removed.")));
    }
    ask(call, "delete_policy", &args)?;
    Ok(state.ok("Deleted"))
}
