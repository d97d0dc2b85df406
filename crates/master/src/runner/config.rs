//! `config.get`: an option of the master. `doc.*`: documentation.

use halite_proto::Value;

use super::Call;
use super::error::Ran;
use super::gather::Command;
use super::python;
use super::table::{Function, docs};
use crate::wheel;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "config.get",
        "(key, default='', delimiter=':')",
        get,
        "An option of the master's configuration.",
    ),
    Function::new(
        "doc.execution",
        "()",
        execution,
        "The documentation of the minions' functions.",
    ),
    Function::new(
        "doc.runner",
        "()",
        runner,
        "The documentation of the runners.",
    ),
    Function::new(
        "doc.wheel",
        "()",
        wheel_docs,
        "The documentation of the wheel functions.",
    ),
];

fn get(call: &Call<'_>) -> Ran {
    let key = halite_proto::python::str(call.arg("key"));
    let delimiter = call.text("delimiter").unwrap_or(":");
    let mut value = Value::Map(call.runners.general.opts.clone());
    for part in key.split(delimiter) {
        let next = match &value {
            Value::Map(map) => map.get(part).cloned(),
            Value::List(items) => match part.parse::<usize>() {
                Ok(at) => items.get(at).cloned(),
                Err(_) => items.iter().find_map(|item| item.get(part).cloned()),
            },
            _ => None,
        };
        match next {
            Some(next) => value = next,
            None => return Ok(call.arg("default").clone()),
        }
    }
    Ok(value)
}

fn runner(call: &Call<'_>) -> Ran {
    let mut all = docs();
    all.extend(python::docs(call.runners));
    Ok(all.into())
}

fn wheel_docs(call: &Call<'_>) -> Ran {
    Ok(wheel::docs(&call.runners.wheel).into())
}

fn execution(call: &Call<'_>) -> Ran {
    let command = Command::new(call, "*".into(), "glob", "sys.doc");
    let mut found: Vec<(Value, Value)> = Vec::new();
    for row in call.command(&command)? {
        if let (Value::Map(docs), false) = (row.ret, row.is_missing) {
            found.extend(docs);
        }
    }
    Ok(Value::Map(found.into_iter().collect()))
}
