//! The upstreams of the federation.
//!
//! `rabbitmqctl` takes the definition of an upstream only as an argument, with any
//! password in its address.

use halite_call::{Call, CallError, CallResult};
use halite_proto::{Map, Value, json};

use super::control::{CONTROL, good, run};

const COMPONENT: &str = "federation-upstream";

/// What a definition may say, as arguments are named; the broker has `-` for `_`.
pub(crate) const PARTS: &[&str] = &[
    "uri",
    "prefetch_count",
    "reconnect_delay",
    "ack_mode",
    "trust_user_id",
    "exchange",
    "max_hops",
    "expires",
    "message_ttl",
    "ha_policy",
    "queue",
];

/// The definition that the arguments of a call make; what is not given is not in it.
pub(crate) fn definition(call: &Call<'_>) -> Map {
    let given = PARTS
        .iter()
        .map(|part| (part.replace('_', "-"), call.arg(part).clone()))
        .filter(|(_, value)| *value != Value::Nil);
    given.collect()
}

/// The upstreams by name, each with its definition as JSON.
pub(super) fn all(call: &Call<'_>) -> Result<Map, CallError> {
    let said = good(run(call, CONTROL, &["list_parameters", "-q"], None)?)?.stdout;
    let rows = said.lines().filter_map(|line| {
        let mut fields = line.splitn(3, '\t');
        let component = fields.next()?;
        let (name, definition) = (fields.next()?, fields.next()?);
        (component == COMPONENT).then_some((name, definition))
    });
    Ok(rows.collect())
}

pub(super) fn set(call: &Call<'_>) -> CallResult {
    let definition = json::write(&definition(call).into(), json::Style::default())
        .map_err(|error| CallError::wrong_type(error.to_string()))?;
    let name = call.text("name");
    let words = ["set_parameter", COMPONENT, &name, &definition];
    good(run(call, CONTROL, &words, None)?)?;
    Ok(true.into())
}

pub(super) fn delete(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let words = ["clear_parameter", COMPONENT, &name];
    good(run(call, CONTROL, &words, None)?)?;
    Ok(true.into())
}
