//! States of processes.

use halite_call::{Call, CallResult, Function, Module, StateReturn};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "process",
    functions: &[Function::new(
        "process.absent",
        "(name, user=None, signal=None)",
        absent,
        "No process runs whose command line holds the name.",
    )],
};

fn absent(call: &Call<'_>) -> CallResult {
    let mut state = StateReturn::of(call);
    let args = [call.arg("name").clone()];
    let mut kwargs = Map::from([("user", call.arg("user").clone())]);
    let count = |found: Option<&Value>| match found {
        Some(Value::List(pids)) => pids.len(),
        _ => 0,
    };
    const NONE: &str = "No matching processes running";
    if call.is_test() {
        let found = count(Some(&call.salt("ps.pgrep", &args, kwargs)?));
        // Salt leaves it open also where there is none.
        return Ok(match found {
            0 => state.pending(NONE),
            found => state.pending(format!("{found} processes will be killed")),
        }
        .into());
    }
    kwargs.insert("full", true);
    if call.flag("signal") {
        kwargs.insert("signal", call.arg("signal").clone());
    }
    let done = call.salt("ps.pkill", &args, kwargs)?;
    let found = count(done.get("killed"));
    let Value::Map(changes) = done else {
        return Ok(state.ok(NONE).into());
    };
    state.changes = changes;
    Ok(state.ok(format!("Killed {found} processes")).into())
}
