//! The parameters of states as a JSON schema.

use halite_proto::{Map, Value};

use super::catalog::Entry;

/// The kinds of values that an argument may be.
const KINDS: [&str; 4] = ["boolean", "integer", "number", "string"];

/// The schema of one state function.
pub(super) fn of_function(entry: &Entry) -> Value {
    let signature = entry.signature();
    let properties: Map = signature
        .params
        .iter()
        .map(|param| {
            let kinds = KINDS.map(|kind| {
                let mut about = Map::from([
                    ("type", kind),
                    ("title", param.name.as_str()),
                    ("description", param.name.as_str()),
                ]);
                if let Some(default) = param.default.clone().filter(|value| !value.is_nil()) {
                    about.insert("default", default);
                }
                Value::from(about)
            });
            (param.name.clone(), Map::from([("oneOf", kinds.to_vec())]))
        })
        .collect();
    let order: Vec<Value> = properties.keys().cloned().collect();
    Map::from([
        (
            "$schema",
            Value::from("http://json-schema.org/draft-04/schema#"),
        ),
        ("title", entry.name.as_str().into()),
        ("description", entry.name.as_str().into()),
        ("type", "object".into()),
        ("properties", properties.into()),
        ("x-ordering", order.into()),
        ("additionalProperties", false.into()),
    ])
    .into()
}
