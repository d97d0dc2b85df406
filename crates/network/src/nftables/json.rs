//! What `nft --json` writes.

use halite_proto::{Map, Value};

/// The list `nftables` of what `nft --json` writes; empty if it is something
/// else.
pub(super) fn objects(text: &str) -> Vec<Value> {
    let Ok(serde_json::Value::Object(mut all)) = serde_json::from_str(text) else {
        return Vec::new();
    };
    match all.remove("nftables") {
        Some(serde_json::Value::Array(items)) => items.into_iter().map(value).collect(),
        _ => Vec::new(),
    }
}

fn value(json: serde_json::Value) -> Value {
    use serde_json::Value as Json;
    match json {
        Json::Null => Value::Nil,
        Json::Bool(bool) => bool.into(),
        Json::Number(number) => match number.as_i64() {
            Some(int) => int.into(),
            None => Value::Float(number.as_f64().unwrap_or_default()),
        },
        Json::String(text) => text.into(),
        Json::Array(items) => Value::List(items.into_iter().map(value).collect()),
        Json::Object(map) => map
            .into_iter()
            .map(|(key, json)| (Value::from(key), value(json)))
            .collect::<Map>()
            .into(),
    }
}
