//! Where the federation has its messages from.

use halite_call::{Call, CallError, StateReturn, python};
use halite_proto::{Map, Value, json};

use super::ask;
use crate::rabbitmq::{PARTS, definition};

/// The definition of an upstream that is there.
fn current(call: &Call<'_>, name: &str) -> Result<Option<Map>, CallError> {
    let all = ask(call, "list_upstreams", &[])?;
    let Some(text) = all.get(name).map(python::str) else {
        return Ok(None);
    };
    Ok(Some(match json::read(&text) {
        Ok(Value::Map(definition)) => definition,
        _ => Map::new(),
    }))
}

/// What of one map is not in the other.
fn without(map: &Map, other: &Map) -> Map {
    let mut map = map.clone();
    map.retain(|key, value| other.get_value(key) != Some(&*value));
    map
}

pub(super) fn present(call: &Call<'_>) -> Result<StateReturn, CallError> {
    let name = call.text("name");
    let mut state = StateReturn::of(call);
    let wanted = definition(call);
    let current = current(call, &name)?;
    if current.as_ref() == Some(&wanted) {
        let comment = format!("Upstream \"{name}\" already present as specified.");
        return Ok(state.ok(comment));
    }
    let (create, created) = match current {
        None => ("create", "created"),
        Some(_) => ("update", "updated"),
    };
    if call.is_test() {
        let comment = format!("Upstream \"{name}\" would have been {created}.");
        return Ok(state.pending(comment));
    }
    let mut kwargs: Map = PARTS
        .iter()
        .map(|part| (*part, call.arg(part).clone()))
        .collect();
    kwargs.insert("runas", call.arg("runas").clone());
    if let Err(error) = call.salt("rabbitmq.set_upstream", &[call.arg("name").clone()], kwargs) {
        let CallError::Command(why) = error else {
            return Err(error);
        };
        return Ok(state.failed(format!("Error trying to {create} upstream: {why}")));
    }
    state.changes = match &current {
        None => Map::from([("old", Value::Nil), ("new", wanted.into())]),
        Some(current) => {
            let both = [
                ("old", without(current, &wanted)),
                ("new", without(&wanted, current)),
            ];
            let both = both.into_iter().filter(|(_, part)| !part.is_empty());
            both.collect()
        }
    };
    Ok(state.ok(format!("Upstream \"{name}\" {created}.")))
}

pub(super) fn absent(call: &Call<'_>) -> Result<StateReturn, CallError> {
    let name = call.text("name");
    let state = StateReturn::of(call);
    if current(call, &name)?.is_none() {
        return Ok(state.ok(format!("The upstream \"{name}\" is already absent.")));
    }
    if call.is_test() {
        return Ok(state.pending(format!("Upstream \"{name}\" would have been deleted.")));
    }
    ask(call, "delete_upstream", &[name.as_str().into()])?;
    let state = state.ok(format!("Upstream \"{name}\" has been deleted."));
    Ok(state.change("old", name).change("new", Value::Nil))
}
