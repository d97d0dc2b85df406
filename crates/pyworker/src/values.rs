//! Values as JSON and back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use halite_proto::{Map, Value};
use serde_json::{Value as Json, json};

use crate::error::PyError;
use crate::limits::DEPTH_MAX;

/// The kind of values of msgpack that dates are, in Salt's messages.
const DATETIME: i8 = 78;

/// The kind that stands for what is undefined in a template. It is no value, and
/// has none in Python.
const UNDEFINED: i8 = 85;

/// The JSON of a value.
pub(crate) fn encode(value: &Value) -> Result<Json, PyError> {
    encode_at(value, 0)
}

fn encode_at(value: &Value, depth: u32) -> Result<Json, PyError> {
    if depth > DEPTH_MAX {
        return Err(PyError::TooDeep);
    }
    Ok(match value {
        Value::Nil => Json::Null,
        Value::Bool(bool) => (*bool).into(),
        Value::Int(int) => match i64::try_from(*int) {
            Ok(int) => int.into(),
            Err(_) => json!({ "__i": int.to_string() }),
        },
        Value::Float(float) if float.is_finite() => (*float).into(),
        Value::Float(float) => json!({ "__f": float.to_string() }),
        Value::Str(text) => text.as_str().into(),
        Value::Ext(DATETIME, text) => {
            json!({ "__d": String::from_utf8_lossy(text) })
        }
        Value::Ext(UNDEFINED, message) => {
            let message = String::from_utf8_lossy(message).into_owned();
            return Err(PyError::Undefined(message));
        }
        Value::Bytes(bytes) | Value::Ext(_, bytes) => json!({ "__b": STANDARD.encode(bytes) }),
        Value::List(items) => {
            let items: Result<Vec<Json>, _> = items
                .iter()
                .map(|item| encode_at(item, depth + 1))
                .collect();
            items?.into()
        }
        Value::Map(map) => encode_map(map, depth)?,
    })
}

/// The JSON of a map.
pub(crate) fn encode_map(map: &Map, depth: u32) -> Result<Json, PyError> {
    let is_plain = |key: &Value| key.as_str().is_some_and(|key| !key.starts_with("__"));
    if map.keys().all(is_plain) {
        let mut out = serde_json::Map::new();
        for (key, value) in map {
            let key = key.as_str().unwrap_or_default().to_owned();
            out.insert(key, encode_at(value, depth + 1)?);
        }
        return Ok(out.into());
    }
    let mut pairs = Vec::new();
    for (key, value) in map {
        pairs.push(json!([
            encode_at(key, depth + 1)?,
            encode_at(value, depth + 1)?
        ]));
    }
    Ok(json!({ "__m": pairs }))
}

/// The value of JSON.
pub(crate) fn decode(json: Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(bool) => bool.into(),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(int), _) => int.into(),
            (_, Some(float)) => Value::Float(float),
            _ => Value::Nil,
        },
        Json::String(text) => text.into(),
        Json::Array(items) => items.into_iter().map(decode).collect::<Vec<_>>().into(),
        Json::Object(map) => decode_map(map),
    }
}

fn decode_map(map: serde_json::Map<String, Json>) -> Value {
    if map.len() == 1 {
        let tagged = map.iter().next().map(|(tag, inner)| (tag.as_str(), inner));
        match tagged {
            Some(("__b", Json::String(text))) => {
                return Value::Bytes(STANDARD.decode(text).unwrap_or_default());
            }
            Some(("__i", Json::String(text))) => {
                return text
                    .parse()
                    .map_or_else(|_| text.as_str().into(), Value::Int);
            }
            Some(("__d", Json::String(text))) => {
                return Value::Ext(DATETIME, text.as_bytes().to_vec());
            }
            Some(("__f", Json::String(text))) => {
                return Value::Float(text.parse().unwrap_or(f64::NAN));
            }
            Some(("__m", Json::Array(pairs))) => {
                let pair = |pair: &Json| match pair {
                    Json::Array(pair) => match pair.as_slice() {
                        [key, value] => Some((decode(key.clone()), decode(value.clone()))),
                        _ => None,
                    },
                    _ => None,
                };
                return pairs.iter().filter_map(pair).collect::<Map>().into();
            }
            _ => {}
        }
    }
    let entries = map.into_iter().map(|(key, value)| (key, decode(value)));
    entries.collect::<Map>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_as_they_were() {
        let odd: Map = [
            (Value::Int(1), Value::from("x")),
            ("__k".into(), Value::Nil),
        ]
        .into_iter()
        .collect();
        for value in [
            Value::Nil,
            true.into(),
            Value::Int(1 << 70),
            Value::Int(-5),
            Value::Float(1.5),
            Value::Float(f64::INFINITY),
            "tëxt".into(),
            Value::Bytes(vec![0, 255]),
            Value::Ext(DATETIME, b"20260102T03:04:05.000006".to_vec()),
            Value::List(vec![1.into(), Map::new().into()]),
            Map::from([("a", odd)]).into(),
        ] {
            assert_eq!(decode(encode(&value).unwrap()), value);
        }
    }

    #[test]
    fn what_is_undefined_is_no_bytes() {
        let within = Value::List(vec![Value::Ext(UNDEFINED, b"'x' is undefined".to_vec())]);
        let error = encode(&within).unwrap_err();
        assert!(error.to_string().contains("'x' is undefined"), "{error}");
    }

    #[test]
    fn what_is_too_deep_is_refused() {
        let deep = (0..200).fold(Value::Nil, |inner, _| Value::List(vec![inner]));
        assert!(matches!(encode(&deep), Err(PyError::TooDeep)));
    }
}
