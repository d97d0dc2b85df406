//! Everything that real Salt packed is read correctly, and what does not depend on
//! randomness is packed again to the same bytes.

#![allow(
    clippy::unwrap_used,
    reason = "a vector that cannot be read is a failed test"
)]

mod auth;
mod events;
mod msgpack;
mod pillar;
mod publish;
mod requests;

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use halite_proto::msgpack::{pack_wire, unpack_wire};
use halite_proto::{Map, Value, time};
use serde_json::Value as Json;

const RELEASES: [&str; 3] = ["3006", "3007", "3008"];

/// What is in front of the packed data within everything encrypted.
const SEALED_PREFIX: &[u8] = b"pickle::";

fn load(name: &str) -> Json {
    let path = format!(
        "{}/tests/vectors/data/{name}.json.gz",
        env!("CARGO_MANIFEST_DIR")
    );
    let packed = std::fs::read(&path).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed.as_slice())
        .read_to_string(&mut text)
        .unwrap();
    serde_json::from_str(&text).unwrap()
}

fn items(json: &Json) -> &[Json] {
    json.as_array().unwrap()
}

fn entries(json: &Json) -> impl Iterator<Item = (&String, &Json)> {
    json.as_object().unwrap().iter()
}

fn text(json: &Json) -> &str {
    json.as_str().unwrap()
}

fn bytes(json: &Json) -> Vec<u8> {
    STANDARD.decode(text(json)).unwrap()
}

/// A decoded object of a vector.
fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(bool) => Value::Bool(*bool),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(int), _) => Value::Int(int.into()),
            (None, Some(int)) => Value::Int(int.into()),
            (None, None) => Value::Float(number.as_f64().unwrap()),
        },
        Json::String(text) => Value::Str(text.clone()),
        Json::Array(items) => Value::List(items.iter().map(value).collect()),
        Json::Object(map) => special(map).unwrap_or_else(|| {
            let entries = map.iter().map(|(key, json)| (key.as_str(), value(json)));
            Value::Map(entries.collect())
        }),
    }
}

fn map(json: &Json) -> Map {
    match value(json) {
        Value::Map(map) => map,
        other => panic!("not a map: {other:?}"),
    }
}

fn special(map: &serde_json::Map<String, Json>) -> Option<Value> {
    let (key, json) = map.iter().next().filter(|_| map.len() == 1)?;
    Some(match key.as_str() {
        "$b64" => Value::Bytes(bytes(json)),
        "$map" => {
            let entries = items(json).iter().map(|entry| {
                let entry = items(entry);
                (value(&entry[0]), value(&entry[1]))
            });
            Value::Map(entries.collect())
        }
        "$datetime" => datetime(text(json)),
        "$set" => Value::List(items(json).iter().map(value).collect()),
        "$int" => Value::Int(text(json).parse().unwrap()),
        _ => return None,
    })
}

fn datetime(iso: &str) -> Value {
    let iso = match iso.split_once('T') {
        Some(_) => iso.to_owned(),
        None => format!("{iso}T00:00:00"),
    };
    let micros = time::parse_stamp(&iso).unwrap();
    time::datetime(time::Civil::from_micros(micros))
}

/// What a reader of the wire makes of a value: bytes that are text become text.
fn as_read(value: Value) -> Value {
    match value {
        Value::Bytes(bytes) => Value::text_or_bytes(bytes),
        Value::List(items) => Value::List(items.into_iter().map(as_read).collect()),
        Value::Map(map) => {
            let entries = map
                .into_iter()
                .map(|(key, value)| (as_read(key), as_read(value)));
            Value::Map(entries.collect())
        }
        other => other,
    }
}

/// The packed data within something that was encrypted, and the nonce in front
/// of it.
fn opened<'a>(plaintext: &'a [u8], nonce: Option<&str>) -> &'a [u8] {
    let rest = plaintext.strip_prefix(SEALED_PREFIX).unwrap();
    match nonce {
        Some(nonce) => rest.strip_prefix(nonce.as_bytes()).unwrap(),
        None => rest,
    }
}

/// Keys in order, also within: equality of maps does not look at it.
fn assert_same(got: &Value, wanted: &Value, what: &str) {
    assert_eq!(got, wanted, "{what}");
    assert_eq!(
        pack_wire(got).unwrap(),
        pack_wire(wanted).unwrap(),
        "order of {what}"
    );
}

#[test]
fn what_was_sealed_is_read_and_packed_alike() {
    let file = load("crypticle");
    for case in items(&file["cases"]) {
        let name = text(&case["name"]);
        let packed = bytes(&case["msgpack"]);
        let object = value(&case["object"]);
        assert_eq!(pack_wire(&object).unwrap(), packed, "{name}");
        assert_same(&unpack_wire(&packed).unwrap(), &as_read(object), name);
        let plaintext = bytes(&case["plaintext"]);
        assert_eq!(opened(&plaintext, case["nonce"].as_str()), packed, "{name}");
    }
}
