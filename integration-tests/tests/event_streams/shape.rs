//! An event without the parts that change from run to run.

use serde_json::{Map, Value, json};

/// Keys whose values are of one run; their types are what counts.
const OF_A_RUN: [&str; 16] = [
    "_stamp",
    "time",
    "pool_index",
    "present",
    "stats",
    "ts",
    "pid",
    "key",
    "__pub_pid",
    "__pub_user",
    "pub",
    "start_time",
    "duration",
    "created",
    "last_progress",
    "uptime",
];

/// What 3008 says of its resources, which do not exist here.
const OF_RESOURCES: [&str; 4] = [
    "resource_targets",
    "__pub_resource_targets",
    "__pub_pure_resource_target",
    "__pub_minion_is_target",
];

/// Lists whose order is not fixed.
const WITHOUT_ORDER: [&str; 8] = [
    "minions",
    "missing",
    "new",
    "all_minions",
    "pending",
    "added",
    "changed",
    "removed",
];

/// An event as it is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) tag: String,
    pub(crate) data: Value,
    /// What it is about: events about one thing keep their order.
    pub(crate) about: String,
}

impl Shape {
    /// Of an event; `places` are texts that stand for others, `user` is who
    /// does all this.
    pub(crate) fn of(tag: &str, data: &Value, places: &[(String, String)], user: &str) -> Self {
        let jid = data.get("jid").and_then(Value::as_str);
        let jid = jid.or_else(|| tag.split('/').find(|part| is_jid(part)));
        let minion = data.get("id").and_then(Value::as_str);
        let space: Vec<&str> = tag.split('/').take(2).collect();
        Self {
            tag: plain(tag, places),
            data: masked(data, places, user),
            about: format!(
                "{} {} {}",
                space.join("/"),
                jid.unwrap_or(tag),
                minion.unwrap_or_default()
            ),
        }
    }

    /// For a file.
    pub(crate) fn to_json(&self) -> Value {
        json!({ "tag": self.tag, "data": self.data })
    }

    /// From a file; what is in one group there is about one thing.
    pub(crate) fn from_json(value: &Value, group: usize) -> Option<Self> {
        Some(Self {
            tag: value.get("tag")?.as_str()?.to_owned(),
            data: value.get("data")?.clone(),
            about: group.to_string(),
        })
    }

    /// As part of another group.
    pub(crate) fn about(mut self, about: &str) -> Self {
        self.about = about.to_owned();
        self
    }

    /// Without a key of its data.
    pub(crate) fn forget(&mut self, key: &str) -> bool {
        let data = self.data.as_object_mut();
        data.is_some_and(|data| data.remove(key).is_some())
    }
}

fn is_jid(text: &str) -> bool {
    text.len() == 20 && text.starts_with("20") && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn masked(value: &Value, places: &[(String, String)], user: &str) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> = map
                .iter()
                .filter(|(key, _)| !OF_RESOURCES.contains(&key.as_str()))
                .map(|(key, value)| {
                    let masked = match key.as_str() {
                        "user" if value.as_str() == Some(user) => Value::from("<user>"),
                        key if OF_A_RUN.contains(&key) => kind(key, value),
                        _ => masked(value, places, user),
                    };
                    (plain(key, places), in_order(key, masked))
                })
                .collect();
            entries.sort_by(|(one, _), (other, _)| one.cmp(other));
            Value::Object(entries.into_iter().collect::<Map<_, _>>())
        }
        Value::Array(items) => items
            .iter()
            .map(|item| without_stamp(masked(item, places, user)))
            .collect(),
        Value::String(text) => Value::from(plain(text, places)),
        Value::Number(number) if number.is_f64() => Value::from("<float>"),
        other => other.clone(),
    }
}

/// Salt stamps the data that it is given to fire, which is an argument
/// elsewhere.
fn without_stamp(mut value: Value) -> Value {
    if let Value::Object(map) = &mut value {
        map.shift_remove("_stamp");
    }
    value
}

/// The value of a key, sorted if it is a list whose order is not fixed.
pub(crate) fn in_order(key: &str, value: Value) -> Value {
    match value {
        Value::Array(mut items) if WITHOUT_ORDER.contains(&key) => {
            items.sort_by_key(Value::to_string);
            Value::Array(items)
        }
        other => other,
    }
}

/// The type of a value, and the form of a stamp.
fn kind(key: &str, value: &Value) -> Value {
    Value::from(match value {
        Value::Null => "<nothing>".to_owned(),
        Value::Bool(_) => "<bool>".to_owned(),
        Value::Number(_) => "<number>".to_owned(),
        Value::String(text) if key == "_stamp" => text
            .chars()
            .map(|char| if char.is_ascii_digit() { '0' } else { char })
            .collect(),
        Value::String(_) => "<text>".to_owned(),
        Value::Array(_) => "<list>".to_owned(),
        Value::Object(_) => "<map>".to_owned(),
    })
}

/// A text without job ids, other ids, times and places.
fn plain(text: &str, places: &[(String, String)]) -> String {
    let mut text = text.to_owned();
    for (place, name) in places {
        text = text.replace(place, name);
    }
    let mut out = String::new();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (run, after) = rest.split_at(digits);
        if digits == 20 {
            out.push_str("<jid>");
        } else {
            out.push_str(run);
        }
        let others = after
            .bytes()
            .take_while(|byte| !byte.is_ascii_digit())
            .count();
        let (between, after) = after.split_at(others);
        out.push_str(between);
        rest = after;
    }
    // Salt has several workers.
    for worker in 0..10 {
        out = out.replace(&format!("MWorker-default-{worker}"), "<worker>");
    }
    // `Minion web1 started at Fri Nov 20 14:18:41 2026`
    if let Some((before, _)) = out.split_once(" started at ") {
        return format!("{before} started at <time>");
    }
    if let Some((before, _)) = out.split_once(" at pid ") {
        return format!("{before} at pid <pid>");
    }
    // What a program of Salt's says of itself.
    if let Some((before, _)) = out.split_once("Traceback (most recent call last)") {
        return format!("{before}<traceback>");
    }
    out
}
