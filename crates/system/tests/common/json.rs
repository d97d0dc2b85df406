//! Values as the JSON of recordings.

use halite_proto::{Map, Value};
use serde_json::Value as Json;

pub fn from_json(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(bool) => Value::Bool(*bool),
        Json::Number(number) => match number.as_i64() {
            Some(int) => Value::from(int),
            None => Value::Float(number.as_f64().unwrap()),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => items.iter().map(from_json).collect::<Vec<_>>().into(),
        Json::Object(map) => map
            .iter()
            .map(|(key, value)| (key.as_str(), from_json(value)))
            .collect::<Map>()
            .into(),
    }
}

pub fn to_json(value: &Value) -> Json {
    match value {
        Value::Nil => Json::Null,
        Value::Bool(bool) => Json::Bool(*bool),
        Value::Int(int) => Json::from(i64::try_from(*int).unwrap()),
        Value::Float(float) => Json::from(*float),
        Value::Str(text) => Json::from(text.as_str()),
        Value::Bytes(bytes) => Json::from(format!("{bytes:?}")),
        Value::List(items) => items.iter().map(to_json).collect(),
        Value::Map(map) => map
            .iter()
            .map(|(key, value)| (halite_modules::python::str(key), to_json(value)))
            .collect(),
        Value::Ext(..) => panic!("an extension"),
    }
}

pub(super) fn replaced(json: &Json, from: &str, to: &str) -> Json {
    serde_json::from_str(&json.to_string().replace(from, to)).unwrap()
}

/// Keys in order, since neither side promises one.
pub(super) fn sorted(json: &Json) -> Json {
    match json {
        Json::Object(map) => {
            // Process ids are never the same.
            let mut entries: Vec<_> = map.iter().filter(|(key, _)| *key != "pid").collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            entries
                .into_iter()
                .map(|(key, value)| (key.clone(), sorted(value)))
                .collect()
        }
        Json::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

/// Lists in order too, where real Salt makes them of sets.
pub(super) fn listed(json: Json) -> Json {
    match json {
        Json::Object(map) => map
            .into_iter()
            .map(|(key, value)| (key, listed(value)))
            .collect(),
        Json::Array(items) => {
            let mut items: Vec<Json> = items.into_iter().map(listed).collect();
            items.sort_by_key(Json::to_string);
            Json::Array(items)
        }
        other => other,
    }
}
