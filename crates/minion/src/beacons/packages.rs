//! The beacon `pkg`: packages that can be upgraded, are installed or removed.

use std::collections::HashMap;

use halite_call::{Call, python};
use halite_proto::{Map, Value};

use super::{Beacon, BeaconError};
use crate::core::beacons::Settings;

/// What each package was at the last look.
#[derive(Default)]
pub(super) struct Packages {
    known: HashMap<String, &'static str>,
}

impl Beacon for Packages {
    fn look(&mut self, settings: &Settings, call: &Call<'_>) -> Result<Vec<Map>, BeaconError> {
        let merged = settings.merged();
        let refresh = merged.get("refresh").is_some_and(Value::is_true);
        let mut seen = Vec::new();
        let lists = settings.items().iter().filter_map(|item| item.get("pkgs"));
        for (at, name) in lists.flat_map(python::texts).enumerate() {
            let args = [Value::from(name.as_str())];
            let installed = call.salt("pkg.version", &args, Map::from([("use_context", false)]))?;
            let (status, version) = match installed.is_true() {
                false => ("not-installed", Value::Nil),
                true => {
                    // The lists of the repositories are read again once.
                    let kwargs = Map::from([("refresh", refresh && at == 0)]);
                    match call.salt("pkg.latest_version", &args, kwargs)? {
                        latest if latest.is_true() => ("upgrade", latest),
                        _ => ("installed", installed),
                    }
                }
            };
            let before = self.known.insert(name.clone(), status);
            if before.is_some_and(|before| before != status) {
                seen.push(Map::from([
                    ("pkg", Value::from(name)),
                    ("version", version),
                    ("status", status.into()),
                ]));
            }
        }
        Ok(seen)
    }
}
