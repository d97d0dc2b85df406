//! The settings of a beacon, and those that the engine uses.

use std::time::Duration;

use halite_proto::{Map, Value};

/// Keys that are for the engine, not for the beacon.
const OF_THE_ENGINE: [&str; 5] = [
    "beacon_module",
    "disable_during_state_run",
    "enabled",
    "interval",
    "run_once",
];

/// Those of them that a beacon in Python does not get either.
const OF_THE_ENGINE_ALONE: [&str; 3] = ["disable_during_state_run", "enabled", "interval"];

/// The settings of a beacon: a list of maps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    items: Vec<Map>,
    config: Value,
}

impl Settings {
    /// The settings in a configuration.
    pub fn of(config: &Value) -> Self {
        let items: Vec<Map> = maps(config).cloned().collect();
        let kept = items.into_iter().filter_map(|mut item| {
            let was_empty = item.is_empty();
            item.retain(|key, _| {
                key.as_str()
                    .is_none_or(|key| !OF_THE_ENGINE.contains(&key) && !key.starts_with('_'))
            });
            (was_empty || !item.is_empty()).then_some(item)
        });
        Self {
            items: kept.collect(),
            config: config.clone(),
        }
    }

    /// The configuration as a beacon in Python is given it, with its name.
    pub fn for_python(&self, name: &str) -> Value {
        let Value::List(list) = &self.config else {
            return self.config.clone();
        };
        let mut list = list.clone();
        list.retain_mut(|item| {
            let Value::Map(item) = item else {
                return true;
            };
            let before = item.len();
            item.retain(|key, _| {
                key.as_str()
                    .is_none_or(|key| !OF_THE_ENGINE_ALONE.contains(&key))
            });
            before == item.len() || !item.is_empty()
        });
        list.push(Map::from([("_beacon_name", name)]).into());
        list.into()
    }

    /// The maps of the list.
    pub fn items(&self) -> &[Map] {
        &self.items
    }

    /// All of them as one.
    pub fn merged(&self) -> Map {
        let mut merged = Map::new();
        for item in &self.items {
            merged.extend(item.clone());
        }
        merged
    }
}

/// The maps of a configuration, which may be one map instead of a list.
fn maps(config: &Value) -> impl DoubleEndedIterator<Item = &Map> {
    let list = match config {
        Value::List(items) => items.as_slice(),
        other => std::slice::from_ref(other),
    };
    list.iter().filter_map(Value::as_map)
}

/// The value of `key` in a configuration; the last one counts.
fn get<'a>(config: &'a Value, key: &str) -> Option<&'a Value> {
    maps(config).filter_map(|item| item.get(key)).next_back()
}

/// A flag of the engine.
pub(super) fn flag(config: &Value, key: &str) -> Option<bool> {
    get(config, key).map(Value::is_true)
}

/// The kind of beacon.
pub fn module(name: &str, config: &Value) -> String {
    let named = get(config, "beacon_module").and_then(Value::as_str);
    named
        .filter(|named| !named.is_empty())
        .unwrap_or(name)
        .to_owned()
}

/// How often it is looked at; each time if that is not said.
pub(super) fn interval(config: &Value) -> Option<Duration> {
    let seconds = match get(config, "interval")? {
        Value::Str(text) => text.trim().parse().ok()?,
        number => number.as_f64()?,
    };
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|interval| !interval.is_zero())
}

/// Turns a beacon on or off.
pub(super) fn set_enabled(config: &mut Value, on: bool) {
    match config {
        Value::Map(map) => {
            map.insert("enabled", on);
        }
        Value::List(items) => {
            let mut maps = items.iter_mut().filter_map(Value::as_map_mut);
            match maps.find(|item| item.contains_key("enabled")) {
                Some(item) => {
                    item.insert("enabled", on);
                }
                None => items.push(Map::from([("enabled", on)]).into()),
            }
        }
        _ => {}
    }
}
