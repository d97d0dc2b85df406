//! Static grains: those of the configuration and of the file `grains`.

use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

use crate::GrainsOptions;

/// The grains of the static file; one that cannot be read counts as empty, so
/// that a slip in it does not keep the minion from starting.
pub(crate) fn file(options: &GrainsOptions) -> Map {
    let Some(path) = &options.file else {
        return Map::new();
    };
    let Ok(bytes) = std::fs::read(path) else {
        return Map::new();
    };
    match halite_yaml::load_bytes(&bytes, &path.to_string_lossy()) {
        Ok(node) => match node.into_value() {
            Value::Map(map) => map,
            _ => Map::new(),
        },
        Err(error) => {
            tracing::warn!("the grains file is not used:\n{}", error.render());
            Map::new()
        }
    }
}

/// The grains under what the configuration sets.
pub(crate) fn with(config: &Map, grains: &Map) -> Map {
    let mut all = grains.clone();
    all.extend(config.clone());
    all
}

/// Lays `over` over the grains; deep, maps are merged and not replaced.
pub(crate) fn merge(over: &Map, deep: bool, grains: &mut Map) {
    for (key, value) in over {
        if deep
            && let Value::Map(new) = value
            && let Some(Value::Map(old)) = key.as_str().and_then(|key| grains.get_mut(key))
        {
            merge(new, true, old);
        } else {
            grains.insert(key.clone(), value.clone());
        }
    }
}

/// Leaves out the grains whose names match one of the patterns.
pub(crate) fn block(patterns: &[String], grains: &mut Map) {
    if patterns.is_empty() {
        return;
    }
    grains.retain(|key, _| {
        let name = key.as_str().unwrap_or_default();
        !patterns.iter().any(|pattern| fnmatch(pattern, name))
    });
}
