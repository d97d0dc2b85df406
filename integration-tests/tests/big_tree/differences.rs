//! Compares two sides, without the parts that differ each time, and without the
//! explained differences.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::explained;
use crate::layer::Layer;

/// Fields of results that are different each time.
const VOLATILE: [&str; 3] = ["start_time", "duration", "pid"];

/// Before the stack of a Python exception.
const TRACE: &str = "Traceback (most recent call last):";

/// How much of a value is shown.
const CHARS_SHOWN: usize = 600;

/// What differs between the results of a run.
pub(crate) fn of_runs(
    run: &str,
    theirs: &Map<String, Value>,
    ours: &Map<String, Value>,
) -> Vec<String> {
    let mut found = Vec::new();
    let tags: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
    for tag in tags {
        let side = |results: &Map<String, Value>| results.get(tag).cloned().unwrap_or_default();
        let mut paths = Vec::new();
        compare(&side(theirs), &side(ours), "", &mut paths);
        for (path, theirs, ours) in paths {
            if explained::why_result(run, tag, &path).is_none() {
                found.push(format!(
                    "{run}: {tag} {path}\n    theirs {theirs}\n    ours   {ours}"
                ));
            }
        }
    }
    found
}

fn compare(theirs: &Value, ours: &Value, path: &str, found: &mut Vec<(String, String, String)>) {
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => {
            let keys: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
            for key in keys
                .into_iter()
                .filter(|key| !VOLATILE.contains(&key.as_str()))
            {
                let path = format!("{path}/{key}");
                match (theirs.get(key), ours.get(key)) {
                    (Some(theirs), Some(ours)) => compare(theirs, ours, &path, found),
                    (theirs, ours) => found.push((path, shown(theirs), shown(ours))),
                }
            }
        }
        (Value::String(one), Value::String(other)) if lines(one) == lines(other) => {}
        (Value::String(one), Value::String(other)) if explained::is_same_failure(one, other) => {}
        // Files are listed as directories or sets hold them.
        (Value::Array(one), Value::Array(other)) if sorted(one) == sorted(other) => {}
        (one, other) if one == other => {}
        (one, other) => found.push((path.to_owned(), shown(Some(one)), shown(Some(other)))),
    }
}

fn sorted(items: &[Value]) -> Vec<String> {
    let mut texts: Vec<String> = items.iter().map(Value::to_string).collect();
    texts.sort();
    texts
}

/// What a text says, in no order: its lines and the members of its lists. Of an
/// exception the last line counts.
fn lines(text: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = match text.split_once(TRACE) {
        Some((before, stack)) => {
            let end = match stack.split_once("RenderError: ") {
                Some((_, message)) => message,
                None => stack.trim_end().lines().next_back().unwrap_or_default(),
            };
            std::iter::once(before).chain(end.lines()).collect()
        }
        None => text
            .lines()
            .flat_map(|line| {
                line.strip_prefix("One or more requisite failed: ")
                    .unwrap_or(line)
                    .split(", ")
            })
            .collect(),
    };
    parts.sort_unstable();
    parts
}

fn shown(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "nothing".to_owned(), Value::to_string);
    text.chars().take(CHARS_SHOWN).collect()
}

/// What differs between two layers.
pub(crate) fn of_layers(theirs: &Layer, ours: &Layer) -> Vec<String> {
    let mut found = Vec::new();
    let paths: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
    for path in paths {
        let (Some(one), Some(other)) = (theirs.get(path), ours.get(path)) else {
            if explained::why_file(path, "there").is_none() {
                let side = if theirs.contains_key(path) {
                    "theirs"
                } else {
                    "ours"
                };
                found.push(format!("{path} is only in {side}"));
            }
            continue;
        };
        let mut differ = |what: &str, theirs: String, ours: String| {
            if theirs != ours && explained::why_file(path, what).is_none() {
                found.push(format!(
                    "{path}: {what}\n    theirs {theirs}\n    ours   {ours}"
                ));
            }
        };
        differ("kind", one.kind.to_owned(), other.kind.to_owned());
        differ(
            "mode",
            format!("{:o}", one.mode),
            format!("{:o}", other.mode),
        );
        differ(
            "owner",
            format!("{:?}", one.owner),
            format!("{:?}", other.owner),
        );
        differ("target", one.target.clone(), other.target.clone());
        differ(
            "names",
            format!("{:?}", one.same_as),
            format!("{:?}", other.same_as),
        );
        differ(
            "time",
            format!("{:?}", one.changed),
            format!("{:?}", other.changed),
        );
        differ(
            "attributes",
            format!("{:?}", one.attributes),
            format!("{:?}", other.attributes),
        );
        if explained::settled(path, &one.content) != explained::settled(path, &other.content) {
            let [theirs, ours] = [&one.content, &other.content].map(|content| {
                let text: String = String::from_utf8_lossy(content).into_owned();
                text.chars().take(CHARS_SHOWN).collect()
            });
            differ("content", theirs, ours);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{compare, lines};

    #[test]
    fn orders_of_sets_and_stacks_do_not_count() {
        assert_eq!(lines("a\nb"), lines("b\na"));
        assert_eq!(
            lines("One or more requisite failed: x, y"),
            lines("One or more requisite failed: y, x")
        );
        assert_eq!(
            lines("E: Traceback (most recent call last):\n  File 1\nKeyError: 'x'"),
            lines("E: Traceback (most recent call last):\n  File 2\nKeyError: 'x'\n")
        );
        assert_ne!(lines("a\na"), lines("a"));
    }

    #[test]
    fn what_differs_is_told_by_its_path() {
        let mut found = Vec::new();
        let theirs = json!({"changes": {"a": [1, 2]}, "duration": 1, "result": true});
        let ours = json!({"changes": {"a": [2, 1], "b": 1}, "duration": 2, "result": null});
        compare(&theirs, &ours, "", &mut found);
        let paths: Vec<&str> = found.iter().map(|(path, ..)| path.as_str()).collect();
        assert_eq!(paths, ["/changes/b", "/result"]);
    }
}
