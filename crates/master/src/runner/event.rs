//! `event.send`: an event on the master's bus.

use halite_proto::{Map, Value};

use super::Call;
use super::error::{Ran, RunnerError};
use super::table::Function;

pub(super) const FUNCTIONS: &[Function] = &[Function::new(
    "event.send",
    "(tag, data=None)",
    send,
    "Fires an event on the master's event bus.",
)];

fn send(call: &Call<'_>) -> Ran {
    let Some(tag) = call.text("tag") else {
        return Err(RunnerError::Failed("the tag must be text".to_owned()));
    };
    let data = match call.arg("data") {
        Value::Map(data) => data.clone(),
        other if !other.is_true() => Map::new(),
        other => {
            let shown = halite_proto::python::str(other);
            let text = format!("ValueError: Dict object expected, not '{shown}'.");
            return Err(RunnerError::Failed(text));
        }
    };
    call.runners.bus.fire(tag, data);
    Ok(true.into())
}
