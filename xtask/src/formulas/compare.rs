//! Compares two results, without parts that nothing relies on.

use std::collections::BTreeSet;

use serde_json::Value;

/// What a value was on both sides.
type Sides = (String, String);

const FAILED: &str = "One or more requisite failed: ";
const TRACE: &str = "Traceback (most recent call last):";

/// Fields of the results of states that are different each time.
const VOLATILE: [&str; 3] = ["start_time", "duration", "pid"];

/// The paths at which two values differ. Times, process ids, stacks and the
/// order of sets do not count.
pub(super) fn differences(real: &Value, ours: &Value) -> Vec<(String, Sides)> {
    let mut found = Vec::new();
    compare(real, ours, "", &mut found);
    found
}

fn compare(real: &Value, ours: &Value, path: &str, found: &mut Vec<(String, Sides)>) {
    match (real, ours) {
        (Value::Object(real), Value::Object(ours)) => {
            let keys: BTreeSet<&String> = real.keys().chain(ours.keys()).collect();
            for key in keys {
                if VOLATILE.contains(&key.as_str()) {
                    continue;
                }
                let side = |map: &serde_json::Map<String, Value>| map.get(key).cloned();
                match (side(real), side(ours)) {
                    (Some(real), Some(ours)) => {
                        compare(&real, &ours, &format!("{path}/{key}"), found);
                    }
                    (real, ours) => found.push((
                        format!("{path}/{key}"),
                        (shown(real.as_ref()), shown(ours.as_ref())),
                    )),
                }
            }
        }
        (Value::Array(real), Value::Array(ours)) if real.len() == ours.len() => {
            for (index, (real, ours)) in real.iter().zip(ours).enumerate() {
                compare(real, ours, &format!("{path}/{index}"), found);
            }
        }
        (Value::String(real), Value::String(ours)) if plain(real) == plain(ours) => {}
        (Value::Number(real), Value::Number(ours)) if real.as_f64() == ours.as_f64() => {}
        (real, ours) if real == ours => {}
        (real, ours) => found.push((path.to_owned(), (shown(Some(real)), shown(Some(ours))))),
    }
}

fn plain(text: &str) -> String {
    if let Some(list) = text.strip_prefix(FAILED) {
        let sorted: BTreeSet<&str> = list.split(", ").collect();
        return sorted.into_iter().collect::<Vec<_>>().join(", ");
    }
    match text.split_once(TRACE) {
        Some((before, _)) => before.to_owned(),
        None => text.to_owned(),
    }
}

fn shown(value: Option<&Value>) -> String {
    const CHARS_MAX: usize = 300;
    let text = value.map_or_else(|| "nothing".to_owned(), Value::to_string);
    text.chars().take(CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_different_each_time_does_not_count() {
        let real = json!({"a": {"duration": 1, "comment": "x Traceback (most recent call last): 1"},
            "b": "One or more requisite failed: x, y", "n": 1.0});
        let ours = json!({"a": {"duration": 2, "comment": "x Traceback (most recent call last): 2"},
            "b": "One or more requisite failed: y, x", "n": 1});
        assert_eq!(differences(&real, &ours), []);
    }

    #[test]
    fn what_differs_is_told_by_its_path() {
        let found = differences(&json!({"a": [1, 2]}), &json!({"a": [1, 3], "b": null}));
        let paths: Vec<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths, ["/a/1", "/b"]);
        assert_eq!(found[1].1, ("nothing".to_owned(), "null".to_owned()));
    }
}
