//! Entries of grains that are lists.

use halite_proto::{Map, Value};

use super::store::{check_levels, store};
use halite_call::{Call, CallResult, python};

pub(super) fn append(call: &Call<'_>) -> CallResult {
    let (key, delimiter) = (call.text("key"), call.text("delimiter"));
    let val = call.arg("val");
    let grains = call.ctx.grains();
    let found = python::traverse_map(&grains, &key, &delimiter);
    let mut list = match found {
        None | Some(Value::Nil) => Vec::new(),
        Some(Value::List(list)) => list.clone(),
        Some(other) if call.flag("convert") => vec![other.clone()],
        Some(_) => return Ok(format!("The key {key} is not a valid list").into()),
    };
    if list.contains(val) {
        return Ok(format!("The val {} was already in the list {key}", python::str(val)).into());
    }
    match val {
        Value::List(items) => list.extend(items.iter().cloned()),
        one => list.push(one.clone()),
    }
    replace_list(call, &key, &delimiter, list)
}

pub(super) fn remove(call: &Call<'_>) -> CallResult {
    let (key, delimiter) = (call.text("key"), call.text("delimiter"));
    let val = call.arg("val");
    let grains = call.ctx.grains();
    let mut list = match python::traverse_map(&grains, &key, &delimiter) {
        None => Vec::new(),
        Some(Value::List(list)) => list.clone(),
        Some(_) => return Ok(format!("The key {key} is not a valid list").into()),
    };
    let Some(at) = list.iter().position(|item| python::equal(item, val)) else {
        return Ok(format!("The val {} was not in the list {key}", python::str(val)).into());
    };
    list.remove(at);
    replace_list(call, &key, &delimiter, list)
}

fn replace_list(call: &Call<'_>, key: &str, delimiter: &str, list: Vec<Value>) -> CallResult {
    check_levels(key, delimiter)?;
    let new = placed(&call.ctx.grains(), key, delimiter, list.into());
    store(call, new, false, true)
}

/// The top-level grain that holds `value` at the place `key`, with everything
/// that lies beside it on the way.
fn placed(grains: &Map, key: &str, delimiter: &str, value: Value) -> Map {
    let Some((first, rest)) = key.split_once(delimiter).filter(|_| !delimiter.is_empty()) else {
        return Map::from([(key, value)]);
    };
    let mut grain = grains.get(first).cloned().unwrap_or_default();
    place(&mut grain, rest, delimiter, value);
    Map::from([(first, grain)])
}

/// Puts a value at a place within another. In a list that is the entry of that
/// number, or the first map that has the name; where there is none, and within
/// a text or a number, everything stays as it is.
fn place(within: &mut Value, key: &str, delimiter: &str, value: Value) {
    let (first, rest) = match key.split_once(delimiter) {
        Some((first, rest)) => (first, Some(rest)),
        None => (key, None),
    };
    let held = match within {
        Value::Nil => {
            *within = Map::new().into();
            return place(within, key, delimiter, value);
        }
        Value::Map(map) => {
            if !map.contains_key(first) {
                map.insert(first, Value::Nil);
            }
            map.get_mut(first)
        }
        Value::List(items) => match first.parse::<usize>() {
            Ok(at) => items.get_mut(at),
            Err(_) => items.iter_mut().find_map(|item| match item {
                Value::Map(map) => map.get_mut(first),
                _ => None,
            }),
        },
        _ => None,
    };
    match (held, rest) {
        (Some(held), Some(rest)) => place(held, rest, delimiter, value),
        (Some(held), None) => *held = value,
        (None, _) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What real Salt 3008.5 has of a grain after a value was put into it.
    #[test]
    fn what_lies_beside_a_place_stays() {
        let inner = Map::from([("c", Value::from("d"))]);
        let map = Map::from([("a", Value::from(1)), ("b", inner.into())]);
        let grains = Map::from([
            ("list", Value::List(vec![map.into(), "y".into()])),
            ("text", "t".into()),
        ]);
        for (key, after) in [
            ("list:b:c", "{'list': [{'a': 1, 'b': {'c': 'new'}}, 'y']}"),
            ("list:0:a", "{'list': [{'a': 'new', 'b': {'c': 'd'}}, 'y']}"),
            ("list:q:c", "{'list': [{'a': 1, 'b': {'c': 'd'}}, 'y']}"),
            ("text:a", "{'text': 't'}"),
            ("more:n:m", "{'more': {'n': {'m': 'new'}}}"),
        ] {
            let new = placed(&grains, key, ":", "new".into());
            assert_eq!(python::repr(&new.into()), after, "{key}");
        }
    }
}
