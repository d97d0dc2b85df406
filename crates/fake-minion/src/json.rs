//! Values as the JSON of recordings.

use halite_proto::{Map, Value};
use serde_json::Value as Json;

/// The value that a JSON text stands for.
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

/// The value as JSON; bytes are the text of their list.
pub fn to_json(value: &Value) -> Json {
    to_json_with(value, |bytes| Json::from(format!("{bytes:?}")))
}

/// The value as JSON, its bytes as `bytes` writes them.
pub fn to_json_with(value: &Value, bytes: fn(&[u8]) -> Json) -> Json {
    match value {
        Value::Nil => Json::Null,
        Value::Bool(bool) => Json::Bool(*bool),
        Value::Int(int) => Json::from(i64::try_from(*int).unwrap()),
        Value::Float(float) => Json::from(*float),
        Value::Str(text) => Json::from(text.as_str()),
        Value::Bytes(data) => bytes(data),
        Value::List(items) => items.iter().map(|item| to_json_with(item, bytes)).collect(),
        Value::Map(map) => map
            .iter()
            .map(|(key, value)| {
                let key = halite_call::python::str(key);
                (key, to_json_with(value, bytes))
            })
            .collect(),
        Value::Ext(..) => panic!("an extension has no JSON"),
    }
}
