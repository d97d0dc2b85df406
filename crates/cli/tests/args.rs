//! Words as arguments, compared with Salt 3008.5's `salt.utils.args.parse_input`.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use halite_cli::args;
use halite_proto::{Map, Value};
use serde_json::Value as Json;

#[test]
fn words_become_the_values_that_salt_makes_of_them() {
    let cases: Json = serde_json::from_str(include_str!("args.json")).unwrap();
    let mut wrong = Vec::new();
    for case in cases.as_array().unwrap() {
        let words = texts(&case[0]);
        let expect = value(&case[2]);
        let got = Value::List(args::parse(&words, &texts(&case[1])));
        if got != expect {
            wrong.push(format!("{words:?}: {got:?}, Salt has {expect:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn texts(json: &Json) -> Vec<String> {
    let items = json.as_array().unwrap().iter();
    items
        .map(|item| item.as_str().unwrap().to_owned())
        .collect()
}

/// Maps are `{"map": [[key, value], ..]}`, numbers that JSON has no word for
/// `{"int": ".."}` and `{"float": ".."}`.
fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(bool) => (*bool).into(),
        Json::Number(number) => match number.as_i64() {
            Some(int) => int.into(),
            None => number.as_f64().unwrap().into(),
        },
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => Value::List(items.iter().map(value).collect()),
        Json::Object(map) => {
            if let Some(int) = map.get("int") {
                Value::Int(int.as_str().unwrap().parse().unwrap())
            } else if let Some(float) = map.get("float") {
                float.as_str().unwrap().parse::<f64>().unwrap().into()
            } else {
                let entries = map["map"].as_array().unwrap().iter();
                let entries = entries.map(|entry| (value(&entry[0]), value(&entry[1])));
                entries.collect::<Map>().into()
            }
        }
    }
}
