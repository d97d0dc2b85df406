//! States of the environment.

use halite_call::{Call, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "environ",
    functions: &[Function::new(
        "environ.setenv",
        "(name, value, false_unsets=False, clear_all=False, update_minion=False, permanent=False)",
        setenv,
        "Variables of the environment have these values, for the rest of the job or,\nwith update_minion, for all that the minion does from now on.",
    )],
};

fn setenv(call: &Call<'_>) -> CallResult {
    let name = call.arg("name");
    let mut state = StateReturn::new(name.clone());
    let wanted = match call.arg("value") {
        Value::Map(map) => map.clone(),
        value @ (Value::Str(_) | Value::Bool(false)) => {
            let mut wanted = Map::new();
            wanted.insert(name.clone(), value.clone());
            wanted
        }
        _ => {
            return Ok(state
                .failed("Environ value must be string, dict or False")
                .into());
        }
    };
    state.changes = changes(call, &wanted);
    let is_changed = !state.changes.is_empty();
    if call.is_test() {
        // Salt leaves the result at true here.
        return Ok(state
            .ok(if is_changed {
                "Environ values will be changed"
            } else {
                "Environ values are already set with the correct values"
            })
            .into());
    }
    if !is_changed {
        return Ok(state
            .ok("Environ values were already set with the correct values")
            .into());
    }
    let mut args = vec![Value::Map(wanted)];
    for flag in ["false_unsets", "clear_all", "update_minion", "permanent"] {
        args.push(call.arg(flag).clone());
    }
    let done = call.salt("environ.setenv", &args, Map::new())?;
    Ok(match done {
        Value::Map(done) if !done.is_empty() => {
            state.changes = done;
            state.ok("Environ values were set")
        }
        _ => state.failed("Failed to set environ variables"),
    }
    .into())
}

/// What is not as it is wanted.
fn changes(call: &Call<'_>, wanted: &Map) -> Map {
    let unset = *call.arg("false_unsets") == Value::Bool(true);
    let gone = if unset { Value::Nil } else { Value::from("") };
    let mut changes = Map::new();
    if *call.arg("clear_all") == Value::Bool(true) {
        for key in call.job.env.all().into_keys() {
            if wanted.get(key.as_str()).is_none() {
                changes.insert(key, gone.clone());
            }
        }
    }
    for (key, value) in wanted {
        let current = call.job.env.get(&python::str(key));
        let as_wanted = match (value, &current) {
            (Value::Bool(false), None) => unset,
            (Value::Bool(false), Some(current)) => !unset && current.is_empty(),
            (value, current) => value.as_str() == Some(current.as_deref().unwrap_or_default()),
        };
        if !as_wanted {
            let new = match value {
                Value::Bool(false) => gone.clone(),
                value => value.clone(),
            };
            changes.insert(key.clone(), new);
        }
    }
    changes
}
