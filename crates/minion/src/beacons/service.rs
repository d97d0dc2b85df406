//! The beacon `service`: whether services run.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use halite_call::{Call, python};
use halite_proto::{Map, Value};

use super::{Beacon, BeaconError};
use crate::core::beacons::Settings;

/// The record of a service.
struct Known {
    running: Value,
    /// When it changed, until that has been reported.
    changed: Option<Instant>,
}

#[derive(Default)]
pub(super) struct Services {
    known: HashMap<String, Known>,
}

impl Beacon for Services {
    fn look(&mut self, settings: &Settings, call: &Call<'_>) -> Result<Vec<Map>, BeaconError> {
        let merged = settings.merged();
        let services = merged.get("services").and_then(Value::as_map);
        let mut seen = Vec::new();
        for (name, about) in services.into_iter().flatten() {
            let running = call.salt("service.status", std::slice::from_ref(name), Map::new())?;
            let mut state = Map::from([("running", running.clone())]);
            let pid_file = about.get("uncleanshutdown").and_then(Value::as_str);
            if let Some(pid_file) = pid_file.filter(|_| !running.is_true()) {
                state.insert("uncleanshutdown", Path::new(pid_file).exists());
            }
            let wanted = about.get("is_running_state").and_then(Value::as_bool);
            if wanted.is_some_and(|wanted| wanted != running.is_true()) {
                continue;
            }
            let name = python::str(name);
            if self.is_news(&name, about, running, Instant::now()) {
                seen.push(Map::from([
                    (name.as_str(), Value::from(state)),
                    ("service_name", name.as_str().into()),
                    ("tag", name.as_str().into()),
                ]));
            }
        }
        Ok(seen)
    }
}

impl Services {
    /// Whether there is anything to tell of a service.
    fn is_news(&mut self, name: &str, about: &Value, running: Value, now: Instant) -> bool {
        let flag = |name: &str| about.get(name).and_then(Value::as_bool);
        if flag("onchangeonly") != Some(true) {
            return true;
        }
        let delay = about.get("delay").and_then(Value::as_f64).unwrap_or(0.0);
        let delay = Duration::try_from_secs_f64(delay).unwrap_or_default();
        let is_new = match self.known.get(name) {
            None => flag("emitatstartup").unwrap_or(true),
            Some(known) => known.running != running,
        };
        let known = self.known.entry(name.to_owned()).or_insert(Known {
            running: running.clone(),
            changed: None,
        });
        if is_new {
            known.running = running;
            known.changed = Some(now);
        }
        match known.changed {
            Some(changed) if delay.is_zero() || now.duration_since(changed) > delay => {
                known.changed = None;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_told_once_and_after_the_delay() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let about = |text: &str| halite_yaml::load(text, "test").unwrap().into_value();
        let mut services = Services::default();
        let mut told = |name: &str, text: &str, running: bool, seconds| {
            services.is_news(name, &about(text), running.into(), at(seconds))
        };
        assert!(told("a", "{}", true, 0) && told("a", "{}", true, 1));
        let change = "{onchangeonly: true}";
        assert!(told("b", change, true, 0) && !told("b", change, true, 1));
        assert!(told("b", change, false, 2) && !told("b", change, false, 3));
        let quiet = "{onchangeonly: true, emitatstartup: false}";
        assert!(!told("c", quiet, true, 0) && told("c", quiet, false, 1));
        let late = "{onchangeonly: true, delay: 5}";
        assert!(!told("d", late, true, 0) && !told("d", late, true, 5));
        assert!(told("d", late, true, 6) && !told("d", late, true, 7));
        // Down and up again within the delay: told as it is then.
        assert!(!told("d", late, false, 8) && !told("d", late, true, 9));
        assert!(told("d", late, true, 15));
    }
}
