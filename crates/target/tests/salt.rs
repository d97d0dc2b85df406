//! Grain, pillar and compound targets compared with what a real minion's
//! matchers (Salt 3008.5) answered.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use halite_proto::{Map, Value};
use halite_target::data::{DataTarget, Pattern};
use halite_target::{Reading, Subject, Target, nodegroup};
use serde_json::Value as Json;

fn read(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(bool) => Value::Bool(*bool),
        Json::Number(number) => match number.as_i64() {
            Some(int) => Value::from(int),
            None => Value::Float(number.as_f64().unwrap()),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::List(items.iter().map(read).collect()),
        Json::Object(object) => Value::Map(
            object["$m"]
                .as_array()
                .unwrap()
                .iter()
                .map(|entry| (read(&entry[0]), read(&entry[1])))
                .collect::<Map>(),
        ),
    }
}

fn map(json: &Json) -> Map {
    match read(json) {
        Value::Map(map) => map,
        _ => Map::new(),
    }
}

struct Minion {
    id: String,
    grains: Map,
    pillar: Map,
}

impl Subject for Minion {
    fn id(&self) -> &str {
        &self.id
    }

    fn grains(&self) -> Option<&Map> {
        Some(&self.grains)
    }

    fn pillar(&self) -> Option<&Map> {
        Some(&self.pillar)
    }
}

fn lines() -> Vec<Json> {
    let lines = include_str!("targets.jsonl").lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn data_matches_as_in_salt() {
    let mut wrong = Vec::new();
    for case in lines().iter().filter(|case| case[0] == "data") {
        let text = case[3].as_str().unwrap();
        let pattern = match case[1].as_str().unwrap() {
            "glob" => Pattern::Glob,
            "pcre" => Pattern::Pcre,
            _ => Pattern::Exact,
        };
        let target = DataTarget::parse(text, case[2].as_str().unwrap(), pattern).unwrap();
        if Some(target.matches(&map(&case[4]))) != case[5].as_bool() {
            wrong.push(case.to_string());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The expression with its groups written out the way Salt does, without
/// parentheses around them: there `not N@any` negates the group's first word
/// only. What is compared is how the rest is read.
fn flat(expression: &str, groups: &Map) -> String {
    let words = expression.split_whitespace().flat_map(|word| {
        let group = word
            .strip_prefix("N@")
            .and_then(|name| nodegroup::expand(name, groups).ok());
        group.unwrap_or_else(|| vec![word.to_owned()])
    });
    words.collect::<Vec<String>>().join(" ")
}

#[test]
fn compound_targets_match_as_in_salt() {
    let lines = lines();
    let groups = map(&lines[0][1]);
    let minions: Vec<Minion> = lines[1][1]
        .as_array()
        .unwrap()
        .iter()
        .map(|subject| Minion {
            id: subject[0].as_str().unwrap().to_owned(),
            grains: map(&subject[1]),
            pillar: map(&subject[2]),
        })
        .collect();
    let reading = Reading {
        nodegroups: Some(&groups),
        ranges: None,
        ..Reading::default()
    };
    let mut wrong = Vec::new();
    for case in lines.iter().filter(|case| case[0] == "compound") {
        let text = Value::from(flat(case[1].as_str().unwrap(), &groups));
        let expected: Vec<bool> = case[2]
            .as_array()
            .unwrap()
            .iter()
            .map(|result| result.as_bool().unwrap_or(false))
            .collect();
        let answer = match Target::parse_with(&text, "compound", &reading) {
            Ok(target) => minions
                .iter()
                .map(|minion| target.matches(minion))
                .collect(),
            // A grain without a pattern matches nobody in Salt, so that
            // `not G@os` is everybody; here it is refused.
            Err(error) if error.message.contains("between a name and a pattern") => continue,
            // What cannot be read means nobody, in Salt too.
            Err(_) => vec![false; expected.len()],
        };
        if answer != expected {
            let error = Target::parse_with(&text, "compound", &reading).err();
            wrong.push(format!("{case}\n  is {answer:?} {error:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}
