//! `environ.*`: the environment of the minion, as the functions of a job see it.

use halite_proto::{Map, Value};

use halite_call::{Call, CallResult, Function, Module, Reach, python};

pub(super) const MODULE: Module = Module {
    name: "environ",
    functions: &[
        Function::new(
            "environ.get",
            "(key, default='')",
            get,
            "The value of a variable of the minion's environment.",
        ),
        Function::new(
            "environ.has_value",
            "(key, value=None)",
            has_value,
            "Whether a variable is set, or has a certain value.",
        ),
        Function::new(
            "environ.item",
            "(keys, default='')",
            item,
            "The values of several variables.",
        ),
        Function::new(
            "environ.items",
            "()",
            items,
            "All variables of the minion's environment.",
        ),
        Function::new(
            "environ.setenv",
            "(environ, false_unsets=False, clear_all=False, update_minion=False, permanent=False)",
            setenv,
            "Sets variables of the environment, for the rest of the job or, with\nupdate_minion, for all that the minion does from now on.",
        ),
        Function::new(
            "environ.setval",
            "(key, val, false_unsets=False, permanent=False)",
            setval,
            "Sets a variable of the environment for the rest of the job. False empties\nit, or removes it with false_unsets.",
        ),
    ],
};

fn get(call: &Call<'_>) -> CallResult {
    let Value::Str(key) = call.arg("key") else {
        return Ok(false.into());
    };
    let value = call.job.env.get(key);
    Ok(value.map_or_else(|| call.arg("default").clone(), Value::from))
}

fn has_value(call: &Call<'_>) -> CallResult {
    let Value::Str(key) = call.arg("key") else {
        return Ok(false.into());
    };
    let Some(value) = call.job.env.get(key) else {
        return Ok(false.into());
    };
    let wanted = call.arg("value");
    Ok((wanted.is_nil() || wanted.as_str() == Some(&value)).into())
}

fn item(call: &Call<'_>) -> CallResult {
    let names = match call.arg("keys") {
        Value::Str(name) => vec![name.clone()],
        list => python::texts(list),
    };
    let found: Map = names
        .into_iter()
        .map(|name| {
            let value = call.job.env.get(&name);
            let value = value.map_or_else(|| call.arg("default").clone(), Value::from);
            (name, value)
        })
        .collect();
    Ok(found.into())
}

fn items(call: &Call<'_>) -> CallResult {
    Ok(call.job.env.all().into_iter().collect::<Map>().into())
}

/// Sets a variable; what became of it: the value, nothing if it is gone, or
/// false.
fn set(call: &Call<'_>, key: &str, val: &Value, unset: bool, reach: Reach) -> Value {
    let val = match val {
        Value::Bool(false) if unset => None,
        Value::Bool(false) => Some(""),
        Value::Str(text) => Some(text.as_str()),
        _ => return false.into(),
    };
    match call.job.env.set(key, val, reach) {
        true => val.map_or(Value::Nil, Value::from),
        // To remove what cannot be there is no failure.
        false if val.is_none() => Value::Nil,
        false => false.into(),
    }
}

/// Only true itself counts.
fn is_set(call: &Call<'_>, name: &str) -> bool {
    *call.arg(name) == Value::Bool(true)
}

fn setval(call: &Call<'_>) -> CallResult {
    let Value::Str(key) = call.arg("key") else {
        return Ok(false.into());
    };
    let unset = is_set(call, "false_unsets");
    Ok(set(call, key, call.arg("val"), unset, Reach::Job))
}

fn setenv(call: &Call<'_>) -> CallResult {
    let Value::Map(environ) = call.arg("environ") else {
        return Ok(false.into());
    };
    let unset = is_set(call, "false_unsets");
    let mut reaches = vec![Reach::Job];
    if is_set(call, "update_minion") {
        reaches.push(Reach::Minion);
    }
    let mut done = Map::new();
    let mut change = |key: &str, val: &Value| {
        for reach in &reaches {
            done.insert(key, set(call, key, val, unset, *reach));
        }
    };
    if is_set(call, "clear_all") {
        for key in call.job.env.all().into_keys() {
            if environ.get(key.as_str()).is_none() {
                change(&key, &Value::Bool(false));
            }
        }
    }
    for (key, val) in environ {
        match val {
            Value::Str(_) | Value::Bool(false) => change(&python::str(key), val),
            _ => return Ok(false.into()),
        }
    }
    Ok(done.into())
}
