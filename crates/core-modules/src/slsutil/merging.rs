//! Merging by strategy (`salt/utils/dictupdate.py`, 3008).

use halite_proto::{Map, Value};

use halite_call::{Call, CallError, CallResult, dicts};

pub(super) fn update(call: &Call<'_>) -> CallResult {
    let (Value::Map(dest), Value::Map(over)) = (call.arg("dest"), call.arg("upd")) else {
        return Err(no_maps());
    };
    let mut dest = dest.clone();
    if call.flag("recursive_update") {
        dicts::update(&mut dest, over, call.flag("merge_lists"));
    } else {
        dest.extend(over.clone());
    }
    Ok(dest.into())
}

pub(super) fn merge(call: &Call<'_>) -> CallResult {
    merge_two(call, call.arg("obj_a").clone(), call.arg("obj_b"))
}

pub(super) fn merge_all(call: &Call<'_>) -> CallResult {
    let mut merged = Map::new().into();
    let list = call.arg("lst").as_list().ok_or_else(|| {
        let kind = call.arg("lst").type_name();
        CallError::wrong_type(format!("'{kind}' object is not iterable"))
    })?;
    for value in list {
        merged = merge_two(call, merged, value)?;
    }
    Ok(merged)
}

fn merge_two(call: &Call<'_>, first: Value, second: &Value) -> CallResult {
    let renderer = call.text("renderer");
    let strategy = match call.text("strategy").as_str() {
        "smart" if renderer.ends_with("yamlex") || renderer.starts_with("yamlex_") => "aggregate",
        "list" => "list",
        "aggregate" => "aggregate",
        "overwrite" => "overwrite",
        "smart" | "recurse" | "none" => "recurse",
        other => {
            tracing::warn!("Unknown merging strategy '{other}', fallback to recurse");
            "recurse"
        }
    };
    match (strategy, first, second) {
        ("list", Value::Map(first), Value::Map(second)) => {
            let pair = |(key, value): (Value, Value)| match second.get_value(&key) {
                Some(other) => (key, vec![value, other.clone()].into()),
                None => (key, value),
            };
            Ok(first.into_iter().map(pair).collect::<Map>().into())
        }
        // Only the tops of the two are merged.
        ("aggregate", Value::Map(mut first), Value::Map(second)) => {
            first.extend(second.clone());
            Ok(first.into())
        }
        ("aggregate", Value::List(mut first), Value::List(second)) => {
            let more: Vec<Value> = second
                .iter()
                .filter(|item| !first.contains(item))
                .cloned()
                .collect();
            first.extend(more);
            Ok(first.into())
        }
        ("aggregate", _, second) => Ok(second.clone()),
        ("overwrite", Value::Map(mut first), Value::Map(second)) => {
            first.extend(second.clone());
            Ok(first.into())
        }
        (_, Value::Map(mut first), Value::Map(second)) => {
            dicts::update(&mut first, second, call.flag("merge_lists"));
            Ok(first.into())
        }
        _ => Err(no_maps()),
    }
}

fn no_maps() -> CallError {
    CallError::wrong_type("Cannot update using non-dict types in dictupdate.update()")
}
