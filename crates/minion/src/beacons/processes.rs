//! The beacon `ps`: whether processes run.

use std::collections::BTreeSet;

use halite_call::{Call, python};
use halite_proto::{Map, Value};

use super::{Beacon, BeaconError};
use crate::core::beacons::Settings;

pub(super) struct Processes;

impl Beacon for Processes {
    fn look(&mut self, settings: &Settings, call: &Call<'_>) -> Result<Vec<Map>, BeaconError> {
        let names = running(call)?;
        let merged = settings.merged();
        let wanted = merged.get("processes").and_then(Value::as_map);
        let seen = wanted.into_iter().flatten().filter_map(|(name, state)| {
            let runs = names.contains(&python::str(name));
            let told: Value = match (state.as_str(), runs) {
                (Some("running"), true) => "Running".into(),
                (Some("stopped"), false) => "Stopped".into(),
                (Some("running" | "stopped"), _) | (_, true) => return None,
                (_, false) => false.into(),
            };
            Some([(name.clone(), told)].into_iter().collect())
        });
        Ok(seen.collect())
    }
}

/// The names of all processes.
fn running(call: &Call<'_>) -> Result<BTreeSet<String>, BeaconError> {
    let pids = call.salt("ps.get_pid_list", &[], Map::new())?;
    let name = Value::from(vec![Value::from("name")]);
    let names = pids.as_list().unwrap_or_default().iter().filter_map(|pid| {
        // One may have ended meanwhile.
        let info = call.salt("ps.proc_info", &[pid.clone(), name.clone()], Map::new());
        Some(info.ok()?.get("name")?.as_str()?.to_owned())
    });
    Ok(names.collect())
}
