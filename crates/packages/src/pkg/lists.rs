//! Lists of packages with their versions: Salt's shapes of them.

use halite_modules::{Call, python};
use halite_proto::{Map, Value};

/// Adds a version of a package.
pub(crate) fn add(list: &mut Map, name: &str, version: &str) {
    let versions = list.get_or_insert_with(Value::from(name), || Value::List(Vec::new()));
    if let Value::List(versions) = versions {
        versions.push(version.into());
    }
}

/// Sorts the versions of each package and drops repeated ones.
pub(crate) fn sort(list: &mut Map) {
    for (_, versions) in list.iter_mut() {
        if let Value::List(versions) = versions {
            versions.sort_by_key(python::str);
            versions.dedup();
        }
    }
}

/// The versions of each as one text.
pub(crate) fn joined(list: &Map) -> Map {
    list.iter()
        .map(|(name, versions)| (name.clone(), Value::Str(join(versions))))
        .collect()
}

/// Versions as one text.
pub(crate) fn join(versions: &Value) -> String {
    match versions {
        Value::List(items) => items.iter().map(python::str).collect::<Vec<_>>().join(","),
        other => python::str(other),
    }
}

/// The versions of one package.
pub(crate) fn versions(list: &Map, name: &str) -> Vec<String> {
    match list.get(name) {
        Some(Value::List(items)) => items.iter().map(python::str).collect(),
        _ => Vec::new(),
    }
}

/// What differs, as `{name: {old, new}}`, in the order of the names.
pub(crate) fn differences(old: &Map, new: &Map) -> Map {
    let empty = Value::from("");
    let mut names: Vec<&Value> = old.keys().chain(new.keys()).collect();
    names.sort_by_key(|name| python::str(name));
    names.dedup();
    let mut changes = Map::new();
    for name in names {
        let (before, after) = (old.get_value(name), new.get_value(name));
        if before != after {
            let change = Map::from([
                ("old", before.unwrap_or(&empty).clone()),
                ("new", after.unwrap_or(&empty).clone()),
            ]);
            changes.insert(name.clone(), change);
        }
    }
    changes
}

/// `{name: {old, new}}` of one package.
pub(crate) fn change(old: impl Into<Value>, new: impl Into<Value>) -> Value {
    Map::from([("new", new.into()), ("old", old.into())]).into()
}

/// What a state run keeps under `key`, if its stamp is still `stamp`.
pub(crate) fn remembered(call: &Call<'_>, key: &str, stamp: &Value) -> Option<Value> {
    let state = call.job.state.as_ref()?;
    let memo = state.memo.lock().ok()?;
    let kept = memo.get(key)?;
    (kept.get("stamp") == Some(stamp)).then(|| kept.get("value").cloned())?
}

/// Keeps something for the length of the state run.
pub(crate) fn remember(call: &Call<'_>, key: &str, stamp: Value, value: Value) {
    if let Some(state) = &call.job.state
        && let Ok(mut memo) = state.memo.lock()
    {
        memo.insert(key, Map::from([("stamp", stamp), ("value", value)]));
    }
}
