//! The beacon `status`: what functions of the module `status` return.

use halite_call::{Call, CallError, python};
use halite_proto::{Map, Value};
use tracing::debug;

use super::{Beacon, BeaconError};
use crate::core::beacons::Settings;

/// The functions that are reported by default.
const DEFAULT: [&str; 5] = ["loadavg", "cpustats", "meminfo", "vmstats", "time"];

pub(super) struct Status;

impl Beacon for Status {
    fn look(&mut self, settings: &Settings, call: &Call<'_>) -> Result<Vec<Map>, BeaconError> {
        let mut told = Map::new();
        if settings.items().iter().all(Map::is_empty) {
            for function in DEFAULT {
                told.insert(function, one(call, function, &Value::from("all"))?);
            }
        }
        for (function, items) in settings.items().iter().flat_map(Map::iter) {
            let name = python::str(function);
            told.insert(name.as_str(), one(call, &name, items)?);
        }
        let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
        let now = now.strftime("%Y-%m-%dT%H:%M:%S%.6f").to_string();
        let event = [("tag", Value::from(now)), ("data", told.into())];
        Ok(vec![Map::from(event)])
    }
}

/// The parts of a function's return that are wanted.
fn one(call: &Call<'_>, function: &str, items: &Value) -> Result<Value, BeaconError> {
    let data = match call.salt(&format!("status.{function}"), &[], Map::new()) {
        Ok(data) => data,
        Err(CallError::Command(error)) => {
            debug!(function, error, "could not read a part of the status");
            return Ok(Map::new().into());
        }
        Err(error) => return Err(error.into()),
    };
    let items = match items {
        Value::List(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut chosen = Map::new();
    for item in items {
        if item.as_str() == Some("all") {
            return Ok(data);
        }
        let part = match &data {
            Value::Map(map) => map.get_value(item).cloned(),
            Value::List(list) => python::int(item)
                .ok()
                .and_then(|at| list.get(usize::try_from(at).ok()?).cloned()),
            single => (python::int(item) == Ok(0)).then(|| single.clone()),
        };
        let Some(part) = part else {
            let text = format!(
                "Status beacon is incorrectly configured: {}",
                python::repr(item)
            );
            return Ok(text.into());
        };
        chosen.insert(item.clone(), part);
    }
    Ok(chosen.into())
}
