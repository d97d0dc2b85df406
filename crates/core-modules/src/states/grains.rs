//! States of grains.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "grains",
    functions: &[
        Function::new(
            "grains.absent",
            "(name, destructive=False, delimiter=':', force=False)",
            absent,
            "A grain has no value; with destructive it does not exist.",
        ),
        Function::new(
            "grains.append",
            "(name, value, convert=False, delimiter=':')",
            append,
            "A value is in a grain that is a list.",
        ),
        Function::new(
            "grains.exists",
            "(name, delimiter=':')",
            exists,
            "There is such a grain.",
        ),
        Function::new(
            "grains.list_absent",
            "(name, value, delimiter=':')",
            list_absent,
            "Values are not in a grain that is a list.",
        ),
        Function::new(
            "grains.list_present",
            "(name, value, delimiter=':')",
            list_present,
            "Values are in a grain that is a list.",
        ),
        Function::new(
            "grains.make_hashable",
            "(list_grain, result=None)",
            make_hashable,
            "The values of a list, lists within it taken apart.",
        ),
        Function::new(
            "grains.present",
            "(name, value, delimiter=':', force=False)",
            present,
            "A grain has a value.",
        ),
    ],
};

/// No grain has this value.
const MISSING: &str = "\u{0}no such grain";

fn name(call: &Call<'_>) -> String {
    call.text("name").replace(&call.text("delimiter"), ":")
}

fn get(call: &Call<'_>, name: &str) -> Result<Option<Value>, CallError> {
    let value = call.salt("grains.get", &[name.into(), MISSING.into()], Map::new())?;
    Ok((value.as_str() != Some(MISSING)).then_some(value))
}

fn state(name: &str) -> StateReturn {
    StateReturn::new(name)
}

/// The result of `grains.set`, with the name of the state.
fn set(call: &Call<'_>, name: &str, value: Value, more: Map) -> Result<StateReturn, CallError> {
    let ret = call.salt("grains.set", &[name.into(), value], more)?;
    let mut state = state(name);
    state.result = ret.get("result").and_then(Value::as_bool);
    state.comment = ret.get("comment").cloned().unwrap_or_else(|| "".into());
    if let Some(Value::Map(changes)) = ret.get("changes") {
        state.changes = changes.clone();
    }
    Ok(state)
}

fn exists(call: &Call<'_>) -> CallResult {
    let name = name(call);
    Ok(match get(call, &name)? {
        Some(_) => state(&name).ok("Grain exists"),
        None => state(&name).failed("Grain does not exist"),
    }
    .into())
}

fn present(call: &Call<'_>) -> CallResult {
    let (name, value) = (name(call), call.arg("value"));
    let existing = get(call, &name)?;
    if existing
        .as_ref()
        .is_some_and(|existing| python::equal(existing, value))
    {
        return Ok(state(&name).ok("Grain is already set").into());
    }
    if call.is_test() {
        return Ok(match existing {
            None => state(&name)
                .pending(format!("Grain {name} is set to be added"))
                .change("new", name.as_str()),
            Some(_) => state(&name)
                .pending(format!("Grain {name} is set to be changed"))
                .change("changed", Map::from([(name.as_str(), value.clone())])),
        }
        .into());
    }
    let more = Map::from([("force", call.arg("force").clone())]);
    let mut state = set(call, &name, value.clone(), more)?;
    if state.result == Some(true) && !state.changes.is_empty() {
        state.comment = format!("Set grain {name} to {}", python::str(value)).into();
    }
    Ok(state.into())
}

fn absent(call: &Call<'_>) -> CallResult {
    let name = name(call);
    let destructive = call.arg("destructive") == &Value::Bool(true);
    let Some(grain) = get(call, &name)? else {
        return Ok(state(&name)
            .ok(format!("Grain {name} does not exist"))
            .into());
    };
    let told = |state: StateReturn, set: bool| {
        let (gone, none) = if set {
            (
                format!("Grain {name} is set to be deleted"),
                format!("Value for grain {name} is set to be deleted (None)"),
            )
        } else {
            (
                format!("Grain {name} was deleted"),
                format!("Value for grain {name} was set to None"),
            )
        };
        let mut state = state;
        if destructive {
            state.comment = gone.into();
            state.changes = Map::from([("deleted", name.as_str())]);
        } else if !grain.is_nil() {
            state.comment = none.into();
            state.changes =
                Map::from([("grain", Value::from(name.as_str())), ("value", Value::Nil)]);
        }
        state
    };
    if call.is_test() {
        return Ok(told(state(&name).pending(""), true).into());
    }
    let more = Map::from([
        ("destructive", call.arg("destructive").clone()),
        ("force", call.arg("force").clone()),
    ]);
    let state = set(call, &name, Value::Nil, more)?;
    let done = state.result == Some(true);
    Ok(if done { told(state, false) } else { state }.into())
}

fn values(value: &Value) -> Vec<Value> {
    match value {
        Value::List(items) => items.clone(),
        other => vec![other.clone()],
    }
}

fn list_present(call: &Call<'_>) -> CallResult {
    let (name, value) = (name(call), call.arg("value"));
    let grain = get(call, &name)?.filter(Value::is_true);
    let is_list = matches!(value, Value::List(_));
    let mut wanted = value.clone();
    let mut comment = String::new();
    match &grain {
        Some(Value::List(has)) => {
            let (old, new): (Vec<Value>, Vec<Value>) = values(value)
                .into_iter()
                .partition(|value| has.iter().any(|known| python::equal(known, value)));
            if new.is_empty() {
                return Ok(state(&name)
                    .ok(format!(
                        "Value {} is already in grain {name} (or pending)",
                        python::str(value)
                    ))
                    .into());
            }
            if is_list {
                wanted = Value::List(new);
                if !old.is_empty() {
                    comment = format!(
                        "Removed value {} from update due to value found in \"{name}\" (or pending).\n",
                        python::str(&Value::List(old))
                    );
                }
            }
            if call.is_test() {
                return Ok(state(&name)
                    .pending(format!(
                        "Value {} is set to be appended to grain {name}",
                        python::str(&wanted)
                    ))
                    .change("new", grain.clone().unwrap_or_default())
                    .into());
            }
        }
        Some(_) => {
            return Ok(state(&name)
                .failed(format!("Grain {name} is not a valid list"))
                .into());
        }
        None if call.is_test() => {
            let grain = get(call, &name)?.unwrap_or_else(|| "".into());
            return Ok(state(&name)
                .pending(format!("Grain {name} is set to be added"))
                .change("new", grain)
                .into());
        }
        None => {}
    }
    let new = call.salt(
        "grains.append",
        &[name.as_str().into(), wanted.clone()],
        Map::new(),
    )?;
    let now = get(call, &name)?;
    let has = now.as_ref().and_then(Value::as_list).unwrap_or_default();
    let all_there = values(&wanted).iter().all(|value| has.contains(value));
    let text = python::str(&wanted);
    Ok(if all_there {
        state(&name)
            .ok(format!("{comment}Append value {text} to grain {name}"))
            .change("new", new)
    } else {
        state(&name).failed(format!("Failed append value {text} to grain {name}"))
    }
    .into())
}

fn list_absent(call: &Call<'_>) -> CallResult {
    let name = name(call);
    let mut state = state(&name);
    let has = match get(call, &name)?.filter(Value::is_true) {
        Some(Value::List(has)) => has,
        Some(_) => {
            return Ok(state
                .failed(format!("Grain {name} is not a valid list"))
                .into());
        }
        None => return Ok(state.ok(format!("Grain {name} does not exist")).into()),
    };
    let mut comments = Vec::new();
    let mut deleted = Vec::new();
    for value in values(call.arg("value")) {
        let text = python::str(&value);
        if !has.contains(&value) {
            comments.push(format!("Value {text} is absent from grain {name}"));
            continue;
        }
        if call.is_test() {
            state.result = None;
            comments.push(format!("Value {text} in grain {name} is set to be deleted"));
        } else {
            call.salt(
                "grains.remove",
                &[name.as_str().into(), value.clone()],
                Map::new(),
            )?;
            comments.push(format!("Value {text} was deleted from grain {name}"));
        }
        deleted.push(value);
    }
    if !deleted.is_empty() {
        state.changes.insert("deleted", Value::List(deleted));
    }
    state.comment = comments.join("\n").into();
    Ok(state.into())
}

fn append(call: &Call<'_>) -> CallResult {
    let (name, value) = (name(call), call.arg("value"));
    let state = state(&name);
    let text = python::str(value);
    let Some(grain) = get(call, &name)? else {
        return Ok(state.failed(format!("Grain {name} does not exist")).into());
    };
    let added = |state: StateReturn| state.change("added", value.clone());
    if let Value::List(has) = &grain {
        if has.contains(value) {
            return Ok(state
                .ok(format!(
                    "Value {text} is already in the list for grain {name}"
                ))
                .into());
        }
        if call.is_test() {
            let comment = format!("Value {text} in grain {name} is set to be added");
            return Ok(added(state.pending(comment)).into());
        }
        call.salt(
            "grains.append",
            &[name.as_str().into(), value.clone()],
            Map::new(),
        )?;
    } else if call.arg("convert") == &Value::Bool(true) {
        if call.is_test() {
            let comment = format!(
                "Grain {name} is set to be converted to list and value {text} will be added"
            );
            return Ok(added(state.pending(comment)).into());
        }
        let mut list = if grain.is_nil() {
            Vec::new()
        } else {
            vec![grain]
        };
        list.push(value.clone());
        call.salt(
            "grains.setval",
            &[name.as_str().into(), Value::List(list)],
            Map::new(),
        )?;
    } else {
        return Ok(state
            .failed(format!("Grain {name} is not a valid list"))
            .into());
    }
    Ok(added(state.ok(format!("Value {text} was added to grain {name}"))).into())
}

fn flatten(value: &Value, into: &mut Vec<Value>) {
    match value {
        Value::List(items) => items.iter().for_each(|item| flatten(item, into)),
        other if !into.contains(other) => into.push(other.clone()),
        _ => {}
    }
}

fn make_hashable(call: &Call<'_>) -> CallResult {
    let mut flat = Vec::new();
    flatten(call.arg("list_grain"), &mut flat);
    Ok(Value::List(flat))
}
