//! `exclude`: drops declarations, by SLS or by id.

use std::collections::HashSet;

use halite_proto::{Map, Value};
use halite_target::glob::Glob;

use super::{first, is_private};

/// Drops what `__exclude__` names, and `__exclude__` itself.
pub fn apply_exclude(high: &mut Map) {
    let Some(exclude) = high.remove("__exclude__") else {
        return;
    };
    let mut sls = Vec::new();
    let mut ids = HashSet::new();
    for entry in exclude.as_list().into_iter().flatten() {
        match entry {
            Value::Str(pattern) => sls.push(Glob::new(pattern)),
            Value::Map(map) if map.len() == 1 => match first(map) {
                Some((Value::Str(kind), Value::Str(pattern))) if kind == "sls" => {
                    sls.push(Glob::new(pattern));
                }
                Some((Value::Str(kind), id)) if kind == "id" => {
                    ids.insert(id.clone());
                }
                _ => {}
            },
            _ => {}
        }
    }
    high.retain(|id, body| {
        let from = body.get("__sls__").and_then(Value::as_str);
        let of_sls = from
            .filter(|from| !from.is_empty() && !is_private(id))
            .is_some_and(|from| sls.iter().any(|pattern| pattern.matches(from)));
        !of_sls && !ids.contains(id)
    });
}
