//! Merges data over the data of a file, and lists the changes.

use halite_proto::{Map, Value};

/// Lays `over` over `under`: maps are merged, the rest is replaced.
pub(super) fn merge(under: &mut Map, over: &Value) {
    let Value::Map(over) = over else { return };
    for (key, value) in over {
        match (under.get_or_insert_with(key.clone(), || Value::Nil), value) {
            (Value::Map(old), new @ Value::Map(_)) => merge(old, new),
            (old, new) => *old = new.clone(),
        }
    }
}

/// What is different between two maps, as Salt's dictionary differences say
/// it.
pub(super) fn differences(old: &Map, new: &Map) -> Map {
    let mut all = Map::new();
    for (key, value) in new {
        let was = old.get_value(key);
        if was == Some(value) {
            continue;
        }
        let change = match (was, value) {
            (Some(Value::Map(was)), Value::Map(now)) => differences(was, now),
            (was, now) => Map::from([
                ("new", now.clone()),
                ("old", was.cloned().unwrap_or_else(|| "<_null_>".into())),
            ]),
        };
        all.insert(key.clone(), change);
    }
    all
}
