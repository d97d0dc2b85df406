//! Documents compared with Salt's loader and dumper (PyYAML 6.0.3 with libyaml).

#![allow(clippy::unwrap_used, clippy::expect_used)]

use halite_proto::{Map, Value};
use halite_yaml::{DumpOptions, ScalarQuotes, dump, load, load_data};
use serde_json::Value as Json;

fn show(value: &Value) -> String {
    let quoted = |text: &str| {
        let mut out = String::from("\"");
        for c in text.chars() {
            match c {
                '"' | '\\' => out.extend(['\\', c]),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                ' '..='~' => out.push(c),
                c => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        out.push_str(&format!("\\u{unit:04x}"));
                    }
                }
            }
        }
        out + "\""
    };
    match value {
        Value::Nil => "null".to_owned(),
        Value::Bool(bool) => bool.to_string(),
        Value::Int(int) => int.to_string(),
        Value::Float(float) => format!("f{}", halite_proto::python::float_repr(*float)),
        Value::Str(text) => quoted(text),
        Value::Bytes(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("b{hex}")
        }
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(show).collect();
            format!("[{}]", items.join(","))
        }
        Value::Map(map) => {
            let entries: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{}:{}", show(key), show(value)))
                .collect();
            format!("{{{}}}", entries.join(","))
        }
        Value::Ext(code, _) => format!("ext{code}"),
    }
}

fn read(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(bool) => Value::Bool(*bool),
        Json::Number(number) => Value::Int(number.as_i64().unwrap().into()),
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::List(items.iter().map(read).collect()),
        Json::Object(object) => {
            let (kind, content) = object.iter().next().unwrap();
            match kind.as_str() {
                "$f" => Value::Float(content.as_str().unwrap().parse().unwrap()),
                "$b" => {
                    let hex = content.as_str().unwrap();
                    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
                    Value::Bytes((0..hex.len()).step_by(2).map(byte).collect())
                }
                _ => Value::Map(
                    content
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|entry| (read(&entry[0]), read(&entry[1])))
                        .collect::<Map>(),
                ),
            }
        }
    }
}

/// Lines of `[text, value]` or `[text, null, kind of error, its text]`.
#[test]
fn documents_load_as_in_salt() {
    let mut wrong = Vec::new();
    for line in include_str!("load.jsonl").lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        let text = case[0].as_str().unwrap();
        let expected = match (&case[1], &case[2], &case[3]) {
            (Json::String(value), ..) => value.clone(),
            (_, Json::String(kind), Json::String(message)) => format!("{kind}: {message}"),
            (_, kind, _) => kind.as_str().unwrap().to_owned(),
        };
        let answer = match load(text, "f") {
            Ok(node) => show(&node.to_value()),
            Err(error) if case[3].is_null() => format!("{:?}", error.kind),
            Err(error) => format!("{:?}: {}", error.kind, error.python_text()),
        };
        let without_places = load_data(text, "f").map(|data| show(&data.value));
        let with_places = load(text, "f").map(|node| show(&node.to_value()));
        assert_eq!(without_places, with_places, "{text:?}");
        if answer != expected {
            wrong.push(format!("{text:?}\n  is   {answer}\n  want {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Lines of `[options, value, text]`.
#[test]
fn values_dump_as_in_salt() {
    let mut wrong = Vec::new();
    for line in include_str!("dump.jsonl").lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        let options = match case[0].as_str().unwrap() {
            "B" => DumpOptions::block(),
            "Bu" => DumpOptions::block().unsorted(),
            "B4" => DumpOptions {
                indent: 4,
                ..DumpOptions::block()
            },
            "F" => DumpOptions::flow(),
            "Aq" => DumpOptions {
                quotes: ScalarQuotes::Double,
                width: i32::MAX,
                ..DumpOptions::default()
            },
            _ => DumpOptions::default(),
        };
        let value = read(&case[1]);
        let text = dump(&value, options);
        if text != case[2].as_str().unwrap() {
            wrong.push(format!("{value:?}\n  is   {text:?}\n  want {}", case[2]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
