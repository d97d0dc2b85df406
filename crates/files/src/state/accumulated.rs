//! `file.accumulated`: texts that other states of the run put into a file.

use halite_call::{Call, CallError, CallResult, StateReturn, python};
use halite_proto::{Map, Value};

use super::common;

/// Where the run keeps the texts: file, accumulator, texts.
const TEXTS: &str = "file.accumulators";
/// Where the run keeps who is to have them: file, accumulator, state ids.
const DEPENDENTS: &str = "file.accumulators.deps";

pub(super) fn accumulated(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let filename = call.text("filename");
    let ret = StateReturn::new(name.as_str());
    if name.is_empty() {
        return common::failed(ret, "Must provide name to file.accumulated");
    }
    let text = call.arg("text");
    if text.is_nil() {
        return common::failed(ret, "No text supplied for accumulator");
    }
    let mut targets = Vec::new();
    for key in ["require_in", "watch_in"] {
        let value = match common::low(call, key) {
            Value::Nil => call.kwargs().get(key).cloned().unwrap_or_default(),
            value => value,
        };
        for target in common::list(&value) {
            targets.extend(target.get("file").cloned());
        }
    }
    if targets.is_empty() {
        let comment = format!(
            "Orphaned accumulator {name} in {}:{}",
            python::str(&common::low(call, "__sls__")),
            python::str(&common::low(call, "__id__"))
        );
        return common::failed(ret, comment);
    }
    let texts = match text {
        Value::Str(_) | Value::Map(_) => vec![text.clone()],
        Value::List(texts) => texts.clone(),
        other => {
            return Err(CallError::wrong_type(format!(
                "'{}' object is not iterable",
                other.type_name()
            )));
        }
    };
    common::memo(call, |memo| {
        add(memo, TEXTS, &filename, &name, texts);
        add(memo, DEPENDENTS, &filename, &name, targets);
    });
    Ok(ret
        .ok(format!(
            "Accumulator {name} for file {filename} was charged by text"
        ))
        .into())
}

fn add(memo: &mut Map, kind: &str, filename: &str, name: &str, more: Vec<Value>) {
    let files = memo.get_or_insert_with(kind, || Map::new().into());
    let Value::Map(files) = files else { return };
    let names = files.get_or_insert_with(filename, || Map::new().into());
    let Value::Map(names) = names else { return };
    let items = names.get_or_insert_with(name, || Vec::new().into());
    let Value::List(items) = items else { return };
    for item in more {
        if !items.contains(&item) {
            items.push(item);
        }
    }
}

fn of_file(call: &Call<'_>, kind: &str, filename: &str) -> Option<Map> {
    common::memo(call, |memo| {
        memo.get(kind)?.get(filename)?.as_map().cloned()
    })
}

/// Gives a template's context what was put aside for the file.
pub(super) fn add_to(call: &Call<'_>, filename: &str, context: &mut Value) {
    let Some(texts) = of_file(call, TEXTS, filename) else {
        return;
    };
    if !matches!(context, Value::Map(_)) {
        *context = Map::new().into();
    }
    if let Value::Map(context) = context {
        context.insert("accumulator", texts);
    }
}

/// The texts put aside for a file and this state, one after the other.
pub(super) fn lines(call: &Call<'_>, filename: &str) -> Vec<String> {
    let Some(texts) = of_file(call, TEXTS, filename) else {
        return Vec::new();
    };
    let dependents = of_file(call, DEPENDENTS, filename).unwrap_or_default();
    let id = common::low(call, "__id__");
    let mine = |name: &Value| {
        let ids = dependents.get_value(name).and_then(Value::as_list);
        ids.is_some_and(|ids| ids.contains(&id))
    };
    let any_mine = texts.keys().any(mine);
    texts
        .iter()
        .filter(|(name, _)| !any_mine || mine(name))
        .flat_map(|(_, texts)| common::list(texts))
        .map(|text| python::str(&text))
        .collect()
}
