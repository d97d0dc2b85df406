//! `environ.*`: the environment of the minion, to read. It is not changed
//! while it runs: other threads may be reading it.

use std::env;

use halite_proto::{Map, Value};

use crate::call::Call;
use crate::error::CallResult;
use crate::python;
use crate::registry::{Function, Module};

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
    ],
};

fn get(call: &Call<'_>) -> CallResult {
    Ok(env::var(call.text("key")).map_or_else(|_| call.arg("default").clone(), Value::from))
}

fn has_value(call: &Call<'_>) -> CallResult {
    let Ok(value) = env::var(call.text("key")) else {
        return Ok(false.into());
    };
    let wanted = call.arg("value");
    Ok((wanted.is_nil() || value == python::str(wanted)).into())
}

fn item(call: &Call<'_>) -> CallResult {
    let names = match call.arg("keys") {
        Value::Str(name) => vec![name.clone()],
        list => python::texts(list),
    };
    let found: Map = names
        .into_iter()
        .map(|name| {
            let value = env::var(&name).map_or_else(|_| call.arg("default").clone(), Value::from);
            (name, value)
        })
        .collect();
    Ok(found.into())
}

fn items(_: &Call<'_>) -> CallResult {
    let all: Map = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    Ok(all.into())
}
