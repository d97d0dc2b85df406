//! A program's answer, without the parts that change from run to run.

use std::fmt;

use serde_json::{Map, Value, json};

use super::bare::{bare, without_warnings};
use super::table::Compare;
use crate::output::Output;

/// Keys whose values never are the same twice.
const VOLATILE: [&str; 10] = [
    "__pub_pid",
    "__pub_user",
    "_stamp",
    "duration",
    "pid",
    "start_time",
    "StartTime",
    "mtime",
    "atime",
    "ctime",
];

/// An exit code and what was said.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The exit code.
    pub exit: i32,
    /// Standard output.
    pub said: Said,
    /// Standard error, where it counts.
    pub stderr: Option<String>,
}

/// What was said.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// Data: the documents of all minions in one.
    Data(Value),
    /// Text that is no JSON, or is not to be read as such.
    Text(String),
    /// It does not count.
    Anything,
}

impl Answer {
    /// What counts of an output; `places` are texts that stand for others.
    pub fn of(output: &Output, compare: &Compare, places: &[(String, String)]) -> Self {
        let normal = Normal { compare, places };
        let said = if compare.exit_only {
            Said::Anything
        } else if compare.text {
            Said::Text(normal.lines(&output.stdout))
        } else {
            match merged(output) {
                Some(mut value) => {
                    normal.only(&mut value);
                    normal.value(&mut value);
                    Said::Data(value)
                }
                None => Said::Text(normal.lines(&output.stdout)),
            }
        };
        Self {
            exit: output.code,
            said,
            stderr: compare
                .stderr
                .then(|| normal.lines(&without_warnings(&output.stderr))),
        }
    }

    /// What counts of a text, as of an output.
    pub fn text_of(text: &str, places: &[(String, String)]) -> String {
        let compare = Compare::default();
        let normal = Normal {
            compare: &compare,
            places,
        };
        normal.lines(text)
    }

    /// As it is recorded.
    pub fn to_json(&self) -> Value {
        let mut map = Map::from_iter([("exit".to_owned(), self.exit.into())]);
        match &self.said {
            Said::Data(value) => map.insert("data".to_owned(), value.clone()),
            Said::Text(text) => map.insert("text".to_owned(), json!(lines(text))),
            Said::Anything => None,
        };
        if let Some(text) = &self.stderr {
            map.insert("stderr".to_owned(), json!(lines(text)));
        }
        map.into()
    }

    /// From what was recorded.
    pub fn from_json(value: &Value) -> Option<Self> {
        let text = |value: &Value| {
            let lines: Option<Vec<&str>> = value.as_array()?.iter().map(Value::as_str).collect();
            Some(lines?.join("\n"))
        };
        Some(Self {
            exit: i32::try_from(value.get("exit")?.as_i64()?).ok()?,
            said: match (value.get("data"), value.get("text")) {
                (Some(data), None) => Said::Data(data.clone()),
                (None, Some(lines)) => Said::Text(text(lines)?),
                _ => Said::Anything,
            },
            stderr: match value.get("stderr") {
                Some(lines) => Some(text(lines)?),
                None => None,
            },
        })
    }
}

impl Answer {
    /// Where another answer is different, in a line for each place.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let mut found = Vec::new();
        if self.exit != other.exit {
            found.push(format!("exit: {} != {}", self.exit, other.exit));
        }
        match (&self.said, &other.said) {
            (Said::Data(one), Said::Data(two)) => differences("", one, two, &mut found),
            (Said::Text(one), Said::Text(two)) => text_differences(one, two, &mut found),
            (one, two) if one != two => found.push(format!("{self}\n   != {other}")),
            _ => {}
        }
        if self.stderr != other.stderr {
            found.push(format!("stderr: {:?} != {:?}", self.stderr, other.stderr));
        }
        found
    }
}

fn differences(at: &str, one: &Value, two: &Value, found: &mut Vec<String>) {
    match (one, two) {
        (Value::Object(one), Value::Object(two)) => {
            for (key, value) in one {
                let at = format!("{at}/{key}");
                match two.get(key) {
                    Some(other) => differences(&at, value, other, found),
                    None => found.push(format!("{at}: {value} != nothing")),
                }
            }
            for (key, value) in two.iter().filter(|(key, _)| !one.contains_key(*key)) {
                found.push(format!("{at}/{key}: nothing != {value}"));
            }
        }
        _ if one != two => found.push(format!("{at}: {one} != {two}")),
        _ => {}
    }
}

/// The lines between those that both texts begin and end with.
fn text_differences(one: &str, two: &str, found: &mut Vec<String>) {
    let (mut one, mut two): (Vec<&str>, Vec<&str>) = (one.lines().collect(), two.lines().collect());
    while one.last().is_some_and(|line| two.last() == Some(line)) {
        one.pop();
        two.pop();
    }
    let same = one.iter().zip(&two).take_while(|(one, two)| one == two);
    let same = same.count();
    found.extend(one.iter().skip(same).map(|line| format!("- {line}")));
    found.extend(two.iter().skip(same).map(|line| format!("+ {line}")));
}

impl fmt::Display for Answer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "exit {}", self.exit)?;
        match &self.said {
            Said::Data(value) => write!(out, "\n      {value}")?,
            Said::Text(text) => {
                for line in text.lines() {
                    write!(out, "\n      | {line}")?;
                }
            }
            Said::Anything => {}
        }
        for line in self.stderr.iter().flat_map(|text| text.lines()) {
            write!(out, "\n      2| {line}")?;
        }
        Ok(())
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.split('\n').collect()
}

/// The documents of a stream: maps by minion in one map, a single document as
/// it is.
fn merged(output: &Output) -> Option<Value> {
    let mut documents = output.documents().ok()?;
    if documents.len() == 1 {
        return documents.pop();
    }
    if documents.is_empty() {
        return None;
    }
    let mut all = Map::new();
    for document in documents {
        let Value::Object(map) = document else {
            return None;
        };
        all.extend(map);
    }
    // Who answers first is chance.
    all.sort_keys();
    Some(all.into())
}

struct Normal<'a> {
    compare: &'a Compare,
    places: &'a [(String, String)],
}

impl Normal<'_> {
    fn lines(&self, text: &str) -> String {
        let mut text = self.text(text);
        if let Some(count) = self.compare.lines {
            text = text.lines().take(count).collect::<Vec<_>>().join("\n");
        }
        if !self.compare.any_order {
            return text;
        }
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        lines.join("\n")
    }

    fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (place, name) in self.places {
            text = text.replace(place, name);
        }
        if let Some(last) = &self.compare.up_to
            && let Some(at) = text.find(last.as_str())
        {
            text.truncate(at + last.len());
        }
        bare(&text)
    }

    /// Leaves of each minion's map what counts.
    fn only(&self, minions: &mut Value) {
        let maps = minions
            .as_object_mut()
            .into_iter()
            .flat_map(Map::values_mut);
        for map in maps.filter_map(Value::as_object_mut) {
            map.retain(|key, _| self.compare.only.is_empty() || self.compare.only.contains(key));
        }
    }

    fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => {
                for item in items.iter_mut() {
                    self.value(item);
                }
                if self.compare.any_order {
                    items.sort_by_key(Value::to_string);
                }
            }
            Value::Object(map) => {
                let entries = std::mem::take(map).into_iter();
                *map = entries
                    .filter(|(key, _)| !self.compare.without.contains(key))
                    .map(|(key, mut value)| {
                        if VOLATILE.contains(&key.as_str()) || self.compare.hidden.contains(&key) {
                            value = kind(&value);
                        } else {
                            self.value(&mut value);
                        }
                        (self.text(&key), value)
                    })
                    .collect();
                return;
            }
            _ => {}
        }
        if self.compare.types_only && !value.is_array() {
            *value = kind(value);
        }
    }
}

/// What sort of value it is.
fn kind(value: &Value) -> Value {
    let name = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
    };
    format!("<{name}>").into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn output(stdout: &str) -> Output {
        Output {
            command: "salt".to_owned(),
            code: 1,
            stdout: stdout.to_owned(),
            stderr: "20261120101500123456 at 10:15:00.123456".to_owned(),
        }
    }

    #[test]
    fn documents_of_minions_are_one() {
        let compare = Compare {
            hidden: vec!["b".to_owned()],
            any_order: true,
            ..Compare::default()
        };
        let places = [("/tmp/x".to_owned(), "<fleet>".to_owned())];
        let output =
            output("{\"web1\": [\"b\", \"/tmp/x/a\"]}\n{\"web2\": {\"b\": 1, \"pid\": 7}}");
        let answer = Answer::of(&output, &compare, &places);
        let data =
            json!({"web1": ["<fleet>/a", "b"], "web2": {"b": "<number>", "pid": "<number>"}});
        assert_eq!(answer.said, Said::Data(data));
        assert_eq!(Answer::from_json(&answer.to_json()), Some(answer));
    }

    #[test]
    fn only_what_is_asked_for_counts_of_a_minion() {
        let compare = Compare {
            only: vec!["id".to_owned()],
            ..Compare::default()
        };
        let answer = Answer::of(
            &output("{\"web1\": {\"id\": \"web1\", \"path\": 1}}"),
            &compare,
            &[],
        );
        assert_eq!(answer.said, Said::Data(json!({"web1": {"id": "web1"}})));
    }

    #[test]
    fn what_follows_the_last_text_does_not_count() {
        let compare = Compare {
            up_to: Some("Usage:".to_owned()),
            ..Compare::default()
        };
        let answer = Answer::of(&output("\"no\\n\\nUsage:\\n  docs\""), &compare, &[]);
        assert_eq!(answer.said, Said::Data(json!("no\n\nUsage:")));
        let answer = Answer::of(&output("[\"other\"]"), &compare, &[]);
        assert_eq!(answer.said, Said::Data(json!(["other"])));
    }

    #[test]
    fn what_changes_each_time_is_left_out() {
        let compare = Compare {
            text: true,
            stderr: true,
            ..Compare::default()
        };
        let answer = Answer::of(
            &output("took   1.25 ms, 3 of 4\n  pid:\n    812\n  7"),
            &compare,
            &[],
        );
        assert_eq!(
            answer.said,
            Said::Text("took <duration>, 3 of 4\n  pid:\n    <pid>\n  7".to_owned())
        );
        assert_eq!(answer.stderr.as_deref(), Some("<jid> at <time>\n"));
        assert_eq!(Answer::from_json(&answer.to_json()), Some(answer));
    }
}
