//! The beacon `salt_monitor`: what functions return.

use halite_call::{Call, python};
use halite_proto::{Map, Value};

use super::{Beacon, BeaconError};
use crate::core::beacons::Settings;

pub(super) struct Monitor;

impl Beacon for Monitor {
    fn look(&mut self, settings: &Settings, call: &Call<'_>) -> Result<Vec<Map>, BeaconError> {
        let merged = settings.merged();
        let mut seen = Vec::new();
        let functions = match merged.get("salt_fun") {
            Some(Value::List(functions)) => functions.as_slice(),
            Some(one @ Value::Str(_)) => {
                let ret = call.salt(&python::str(one), &[], Map::new())?;
                return Ok(vec![Map::from([("salt_fun", one.clone()), ("ret", ret)])]);
            }
            _ => &[],
        };
        for entry in functions {
            let (fun, args, kwargs) = match entry {
                Value::Map(entry) => {
                    let Some((fun, about)) = entry.iter().next() else {
                        continue;
                    };
                    let args = about.get("args").and_then(Value::as_list);
                    let mut kwargs = Map::new();
                    for more in about.get("kwargs").and_then(Value::as_list).unwrap_or(&[]) {
                        kwargs.extend(more.as_map().cloned().unwrap_or_default());
                    }
                    (python::str(fun), args.unwrap_or_default().to_vec(), kwargs)
                }
                other => (python::str(other), Vec::new(), Map::new()),
            };
            let ret = call.salt(&fun, &args, kwargs.clone())?;
            if !ret.is_true() {
                continue;
            }
            let mut event = Map::from([("salt_fun", Value::from(fun)), ("ret", ret)]);
            if !args.is_empty() {
                event.insert("args", args);
            }
            if !kwargs.is_empty() {
                event.insert("kwargs", kwargs);
            }
            seen.push(event);
        }
        Ok(seen)
    }
}
