//! The stored result of a state: the checks that every result passes, and results
//! that no function gave.
//!
//! Invariant: a record has `name`, `result` (true, false or null), `changes` (a
//! map) and `comment` (text), whatever a function returned.

use halite_proto::python;
use halite_proto::{Map, Value};

use super::effect::Moment;
use crate::chunk::Chunk;

/// What hides the texts of a state with `no_log`.
const MASK: &str = "**********";

/// The result of a function, checked: comments become text, results truth.
pub(super) fn checked(ret: Value) -> Map {
    match content(ret) {
        Ok(map) => map,
        Err(why) => Map::from([
            ("result", Value::Bool(false)),
            ("name", "later".into()),
            ("changes", Map::new().into()),
            (
                "comment",
                format!("An exception occurred in this state: {why}").into(),
            ),
        ]),
    }
}

fn content(ret: Value) -> Result<Map, String> {
    let Value::Map(mut map) = ret else {
        return Err("Malformed state return. Data must be a dictionary type.".to_owned());
    };
    if map.get("changes").and_then(Value::as_map).is_none() {
        return Err("'Changes' should be a dictionary.".to_owned());
    }
    let missing: Vec<&str> = ["name", "result", "changes", "comment"]
        .into_iter()
        .filter(|key| !map.contains_key(key))
        .collect();
    if !missing.is_empty() {
        return Err(format!(
            "The following keys were not present in the state return: {}.",
            missing.join(", ")
        ));
    }
    join_comment(&mut map);
    if let Some(result) = map.get("result")
        && !result.is_nil()
        && result.as_bool().is_none()
    {
        let truth = result.is_true();
        map.insert("result", truth);
    }
    Ok(map)
}

/// Makes text of a comment that is a list.
pub(super) fn join_comment(record: &mut Map) {
    if let Some(Value::List(lines)) = record.get("comment") {
        let lines: Vec<String> = lines.iter().map(python::str).collect();
        record.insert("comment", lines.join("\n"));
    }
}

/// The result of a function that failed instead of returning one.
pub(super) fn exception(name: Value, trace: &str) -> Map {
    Map::from([
        ("result", Value::Bool(false)),
        ("name", name),
        ("changes", Map::new().into()),
        (
            "comment",
            format!("An exception occurred in this state: {trace}").into(),
        ),
    ])
}

/// The result of a chunk that cannot be called.
pub(super) fn refused(chunk: &Chunk, errors: &[String], number: u64) -> Map {
    let comment: String = errors.iter().map(|error| format!("{error}\n")).collect();
    Map::from([
        ("result", Value::Bool(false)),
        ("name", chunk.name().clone()),
        ("changes", Map::new().into()),
        ("comment", comment.into()),
        ("__run_num__", count(number)),
    ])
}

/// The result of a chunk whose turn came and whose requisites spoke against it.
pub(super) fn not_run(chunk: &Chunk, result: bool, comment: &str, number: u64, now: Moment) -> Map {
    let mut record = Map::from([
        ("changes", Value::Map(Map::new())),
        ("result", result.into()),
        ("duration", 0.0.into()),
        ("start_time", now.time_of_day().into()),
        ("comment", comment.into()),
        ("__state_ran__", false.into()),
        ("__run_num__", count(number)),
    ]);
    identify(&mut record, chunk);
    record
}

/// Says which chunk a record belongs to.
pub(super) fn identify(record: &mut Map, chunk: &Chunk) {
    for key in ["__sls__", "__id__", "name"] {
        record.insert(key, chunk.get(key).cloned().unwrap_or_default());
    }
}

/// The record with room for what it has, and for what the run adds to it: there
/// are as many of them as states, to the end of the run.
pub(super) fn fitted(record: Map) -> Map {
    const ADDED: usize = 5;
    let mut fitted = Map::with_capacity(record.len() + ADDED);
    fitted.extend(record);
    fitted
}

/// Microseconds as results show them.
pub fn milliseconds(micros: u64) -> Value {
    #[allow(clippy::cast_precision_loss)]
    let exact = micros as f64;
    (exact / 1000.0).into()
}

/// A run number.
pub(super) fn count(number: u64) -> Value {
    i64::try_from(number).unwrap_or(i64::MAX).into()
}

/// Hides what a state with `no_log` says.
pub(super) fn mask(record: &mut Map) {
    for key in ["name", "comment", "changes"] {
        if let Some(value) = record.get_mut(key) {
            hide(value);
        }
    }
}

fn hide(value: &mut Value) {
    match value {
        Value::Map(map) => map.iter_mut().for_each(|(_, value)| hide(value)),
        Value::List(items) => items.iter_mut().for_each(hide),
        value if value.is_true() => *value = MASK.into(),
        _ => {}
    }
}

/// Whether the record says that something was changed.
pub(super) fn changed(record: &Map) -> bool {
    record.get("changes").is_some_and(Value::is_true)
}

/// Whether the record says that its state failed.
pub(super) fn failed(record: &Map) -> bool {
    record.get("result") == Some(&Value::Bool(false))
}

/// Whether the record says yes to `key`.
pub(super) fn says(record: &Map, key: &str) -> bool {
    record.get(key).is_some_and(Value::is_true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_function_returns_is_checked() {
        let good = Map::from([
            ("name", Value::from("x")),
            ("result", 1.into()),
            ("changes", Map::new().into()),
            ("comment", Value::List(vec!["a".into(), "b".into()])),
        ]);
        let record = checked(good.into());
        assert_eq!(record.get("comment"), Some(&"a\nb".into()));
        assert_eq!(record.get("result"), Some(&true.into()));
        for (bad, word) in [
            (Value::Nil, "Malformed"),
            (Map::from([("changes", 1)]).into(), "dictionary"),
            (
                Map::from([("changes", Map::new())]).into(),
                "name, result, comment",
            ),
        ] {
            let record = checked(bad);
            assert!(failed(&record));
            let comment = record.get("comment").and_then(Value::as_str).unwrap();
            assert!(comment.contains(word), "{comment}");
        }
    }

    #[test]
    fn secrets_are_hidden_at_any_depth() {
        let mut record = Map::from([
            ("name", Value::from("x")),
            ("comment", "".into()),
            (
                "changes",
                Map::from([("a", Map::from([("b", "c")]))]).into(),
            ),
        ]);
        mask(&mut record);
        let hidden = Map::from([("a", Map::from([("b", MASK)]))]);
        assert_eq!(record.get("changes"), Some(&hidden.into()));
        assert_eq!(record.get("comment"), Some(&"".into()));
    }
}
