//! Policies of virtual hosts.

use halite_call::{Call, CallError, StateReturn, python};
use halite_proto::{Map, Value, json};

use super::ask;

pub(super) fn present(call: &Call<'_>) -> Result<StateReturn, CallError> {
    let names = ["name", "vhost", "pattern"];
    let [name, vhost, pattern] = names.map(|name| call.text(name));
    let state = StateReturn::of(call);
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

pub(super) fn absent(call: &Call<'_>) -> Result<StateReturn, CallError> {
    let (name, vhost) = (call.text("name"), call.text("vhost"));
    let state = StateReturn::of(call);
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
