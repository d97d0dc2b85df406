//! Sets or removes a value within the grains.

use halite_proto::{Map, Value};

use super::store::{check_levels, store};
use halite_call::{Call, CallResult, python};

pub(super) fn delkey(call: &Call<'_>) -> CallResult {
    let change = Change {
        key: &call.text("key"),
        value: &Value::Nil,
        delimiter: ":",
        force: call.flag("force"),
        destructive: true,
    };
    change.make(call)
}

pub(super) fn delval(call: &Call<'_>) -> CallResult {
    let change = Change {
        key: &call.text("key"),
        value: &Value::Nil,
        delimiter: ":",
        force: call.flag("force"),
        destructive: call.flag("destructive"),
    };
    change.make(call)
}

pub(super) fn set(call: &Call<'_>) -> CallResult {
    let change = Change {
        key: &call.text("key"),
        value: call.arg("val"),
        delimiter: &call.text("delimiter"),
        force: call.flag("force"),
        destructive: call.flag("destructive"),
    };
    change.make(call)
}

/// A value for a place within the grains.
struct Change<'a> {
    key: &'a str,
    value: &'a Value,
    delimiter: &'a str,
    force: bool,
    destructive: bool,
}

impl Change<'_> {
    fn make(&self, call: &Call<'_>) -> CallResult {
        let answer = |result: bool, comment: String, changes: Map| {
            let result = Value::from(result);
            Ok(Map::from([
                ("comment", comment.into()),
                ("changes", changes.into()),
                ("result", result),
            ])
            .into())
        };
        let key = self.key;
        check_levels(key, self.delimiter)?;
        let grains = call.ctx.grains();
        let existing = python::traverse_map(&grains, key, self.delimiter);
        let is_nested = |value: &Value| matches!(value, Value::Map(_) | Value::List(_));
        if existing == Some(self.value) && !(self.destructive && self.value.is_nil()) {
            return answer(true, "Grain is already set".to_owned(), Map::new());
        }
        if existing.is_some_and(is_nested) && !self.force {
            let comment = format!(
                "The key '{key}' exists but is a dict or a list. Use 'force=True' to overwrite."
            );
            return answer(false, comment, Map::new());
        }
        if existing.is_some() && is_nested(self.value) && !self.force {
            let comment = format!(
                "The key '{key}' exists and the given value is a dict or a list. Use 'force=True' to overwrite."
            );
            return answer(false, comment, Map::new());
        }
        let parts: Vec<&str> = if self.delimiter.is_empty() {
            vec![key]
        } else {
            key.split(self.delimiter).collect()
        };
        let (first, rest) = match parts.split_first() {
            Some((first, rest)) => (*first, rest),
            None => (key, &[][..]),
        };
        let new = match self.whole(&grains, first, rest) {
            Ok(new) => new,
            Err(comment) => return answer(false, comment, Map::new()),
        };
        let changes = Map::from([(first, new)]);
        store(call, changes.clone(), self.destructive, true)?;
        answer(true, String::new(), changes)
    }

    /// The grain `first` with the new value at the place `rest` below it, made
    /// from the innermost level outwards.
    fn whole(&self, grains: &Map, first: &str, rest: &[&str]) -> Result<Value, String> {
        let mut new = self.value.clone();
        for (depth, next) in rest.iter().enumerate().rev() {
            let mut path = first.to_owned();
            for part in &rest[..depth] {
                path.push_str(self.delimiter);
                path.push_str(part);
            }
            let at = python::traverse_map(grains, &path, self.delimiter);
            let is_removed = new.is_nil() && self.destructive && depth + 1 == rest.len();
            new = match at {
                None => into_map(Map::new(), next, new, is_removed),
                Some(Value::Map(map)) => into_map(map.clone(), next, new, is_removed),
                Some(Value::List(items)) => into_list(items.clone(), next, &new),
                Some(other) if self.force || other.as_str() == Some(next) => {
                    into_map(Map::new(), next, new, is_removed)
                }
                Some(other) => {
                    return Err(format!(
                        "The key '{path}' value is '{}', which is different from the provided key '{next}'. Use 'force=True' to overwrite.",
                        python::str(other)
                    ));
                }
            };
        }
        Ok(new)
    }
}

fn into_map(mut map: Map, key: &str, new: Value, is_removed: bool) -> Value {
    if is_removed {
        map.remove(key);
    } else {
        map.insert(key, new);
    }
    map.into()
}

/// A list is a set of places: each text that is `key` and each map that has it
/// takes the value; if there is none, a map with it is added.
fn into_list(mut items: Vec<Value>, key: &str, new: &Value) -> Value {
    let mut is_found = false;
    for item in &mut items {
        match item {
            Value::Str(text) if text == key => {
                *item = Map::from([(key, new.clone())]).into();
                is_found = true;
            }
            Value::Map(map) if map.get(key).is_some() => {
                map.insert(key, new.clone());
                is_found = true;
            }
            _ => {}
        }
    }
    if !is_found {
        items.push(Map::from([(key, new.clone())]).into());
    }
    Value::List(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `grains.set` of real Salt 3008.5 makes of a grain, or refuses.
    #[test]
    fn set_reaches_into_lists_and_names() {
        let refused = "The key 'g:k' value is '2', which is different from the provided key \
                       'm'. Use 'force=True' to overwrite.";
        for (at, rest, force, destructive, after) in [
            ("[1, 2]", "k", false, false, "[1, 2, {'k': 'new'}]"),
            ("[1, 2]", "k", true, false, "[1, 2, {'k': 'new'}]"),
            ("[1, 2]", "0", false, false, "[1, 2, {'0': 'new'}]"),
            (
                "[1]",
                "k m n",
                false,
                false,
                "[1, {'k': {'m': {'n': 'new'}}}]",
            ),
            ("[k, z]", "k m", false, false, "[{'k': {'m': 'new'}}, 'z']"),
            (
                "[k, {k: 1}]",
                "k",
                false,
                false,
                "[{'k': 'new'}, {'k': 'new'}]",
            ),
            (
                "[{k: 1, x: 2}]",
                "k",
                false,
                false,
                "[{'k': 'new', 'x': 2}]",
            ),
            (
                "[[k, 1], {k: 2}]",
                "k",
                false,
                false,
                "[['k', 1], {'k': 'new'}]",
            ),
            ("[[k, 1], {k: 2}]", "k m", false, false, refused),
            ("[{a: 1, k: 2}, {k: 3}]", "k m", false, false, refused),
            (
                "[{a: 1, k: 2}, {k: 3}]",
                "k m",
                true,
                false,
                "[{'a': 1, 'k': {'m': 'new'}}, {'k': {'m': 'new'}}]",
            ),
            ("{k: [1]}", "k m", true, false, "{'k': [1, {'m': 'new'}]}"),
            (
                "[{k: [1, {m: 2}]}]",
                "k m",
                false,
                false,
                "[{'k': [1, {'m': 'new'}]}]",
            ),
            ("k", "k m", false, false, "{'k': {'m': 'new'}}"),
            (
                "{k: m}",
                "k m n",
                false,
                false,
                "{'k': {'m': {'n': 'new'}}}",
            ),
            ("{k: 2}", "k m", false, false, refused),
            ("5", "k", true, false, "{'k': 'new'}"),
            ("[{k: 1, x: 2}]", "k", false, true, "[{'k': None, 'x': 2}]"),
            ("[{k: {m: 1}}, 3]", "k m", false, true, "[{'k': {}}, 3]"),
        ] {
            let grains = Map::from([("g", halite_yaml::load(at, "test").unwrap().into_value())]);
            let rest: Vec<&str> = rest.split(' ').collect();
            let value = if destructive {
                Value::Nil
            } else {
                "new".into()
            };
            let change = Change {
                key: "",
                value: &value,
                delimiter: ":",
                force,
                destructive,
            };
            let whole = change.whole(&grains, "g", &rest);
            let whole = whole.map_or_else(|refused| refused, |new| python::repr(&new));
            assert_eq!(whole, after, "{at} {rest:?} {force}");
        }
    }
}
