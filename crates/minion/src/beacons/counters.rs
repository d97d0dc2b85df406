//! Beacons that compare a number of the machine with a limit.

use halite_call::{Call, CallError, python};
use halite_proto::{Map, Value};
use halite_target::pcre::Pcre;
use tracing::warn;

use super::{Beacon, BeaconError};
use crate::core::beacons::{Settings, threshold};

/// A number in what a function returned.
fn number(value: &Value, name: &str) -> f64 {
    value.get(name).and_then(Value::as_f64).unwrap_or_default()
}

/// How full file systems are.
pub(super) struct DiskUsage;

impl Beacon for DiskUsage {
    fn look(&mut self, settings: &Settings, call: &Call<'_>) -> Result<Vec<Map>, BeaconError> {
        let all = Map::from([("all", true)]);
        let partitions = call.salt("ps.disk_partitions", &[], all)?;
        let mounts: Vec<&str> = partitions
            .as_list()
            .unwrap_or_default()
            .iter()
            .filter_map(|partition| partition.get("mountpoint")?.as_str())
            .collect();
        let mut seen = Vec::new();
        let entries = settings.items().iter().flat_map(Map::iter);
        for (pattern, bound) in entries {
            let pattern = python::str(pattern);
            let pattern = match pattern.ends_with('$') {
                true => pattern,
                false => format!("{pattern}$"),
            };
            let pattern = Pcre::new(&pattern)
                .map_err(|error| CallError::exception("error", error.to_string()))?;
            let bound = threshold(bound).unwrap_or(f64::INFINITY);
            for mount in &mounts {
                if !pattern.matches_start(mount).unwrap_or(false) {
                    continue;
                }
                let Ok(usage) = call.salt("ps.disk_usage", &[Value::from(*mount)], Map::new())
                else {
                    warn!("{mount} is not a valid mount point.");
                    continue;
                };
                let percent = number(&usage, "percent");
                if percent >= bound {
                    seen.push(Map::from([
                        ("diskusage", Value::from(percent)),
                        ("mount", (*mount).into()),
                    ]));
                }
            }
        }
        Ok(seen)
    }
}

fn above(
    settings: &Settings,
    call: &Call<'_>,
    function: &str,
    name: &str,
) -> Result<Vec<Map>, BeaconError> {
    let bound = settings.merged().get("percent").and_then(threshold);
    let percent = number(&call.salt(function, &[], Map::new())?, "percent");
    let is_above = bound.is_some_and(|bound| percent >= bound);
    Ok(is_above
        .then(|| Map::from([(name, percent)]))
        .into_iter()
        .collect())
}

/// How much memory is in use.
pub(super) struct MemoryUsage;

impl Beacon for MemoryUsage {
    fn look(&mut self, settings: &Settings, call: &Call<'_>) -> Result<Vec<Map>, BeaconError> {
        above(settings, call, "ps.virtual_memory", "memusage")
    }
}

/// How much swap space is in use.
pub(super) struct SwapUsage;

impl Beacon for SwapUsage {
    fn look(&mut self, settings: &Settings, call: &Call<'_>) -> Result<Vec<Map>, BeaconError> {
        above(settings, call, "ps.swap_memory", "swapusage")
    }
}

const AVERAGES: [(&str, &str); 3] = [("1m", "1-min"), ("5m", "5-min"), ("15m", "15-min")];

/// The load of the machine.
#[derive(Default)]
pub(super) struct Load {
    last: Option<[f64; 3]>,
}

impl Load {
    /// Whether the averages call for an event.
    fn is_news(&mut self, settings: &Map, now: [f64; 3]) -> bool {
        let flag = |name: &str| settings.get(name).and_then(Value::as_bool);
        let on_change = flag("onchangeonly").unwrap_or(false);
        let last = self.last.replace(now);
        if on_change && last.is_none() && !flag("emitatstartup").unwrap_or(true) {
            return false;
        }
        let last = last.unwrap_or(now);
        AVERAGES
            .iter()
            .zip(now)
            .zip(last)
            .any(|(((name, _), now), last)| {
                let bounds = settings.get("averages").and_then(|all| all.get(name));
                let Some([low, high]) = bounds.and_then(Value::as_list) else {
                    return false;
                };
                let (Some(low), Some(high)) = (threshold(low), threshold(high)) else {
                    return false;
                };
                match on_change {
                    true => now > high && last < high || now < low && last > low,
                    false => now < low || now > high,
                }
            })
    }
}

impl Beacon for Load {
    fn look(&mut self, settings: &Settings, call: &Call<'_>) -> Result<Vec<Map>, BeaconError> {
        let load = call.salt("status.loadavg", &[], Map::new())?;
        let now = AVERAGES.map(|(_, name)| number(&load, name));
        if !self.is_news(&settings.merged(), now) {
            return Ok(Vec::new());
        }
        let named = AVERAGES.iter().zip(now);
        Ok(vec![named.map(|((name, _), now)| (*name, now)).collect()])
    }
}

const COUNTERS: [&str; 8] = [
    "bytes_sent",
    "bytes_recv",
    "packets_sent",
    "packets_recv",
    "errin",
    "errout",
    "dropin",
    "dropout",
];

/// What interfaces have sent and received.
pub(super) struct NetworkInfo;

impl Beacon for NetworkInfo {
    fn look(&mut self, settings: &Settings, call: &Call<'_>) -> Result<Vec<Map>, BeaconError> {
        let merged = settings.merged();
        let interfaces = merged.get("interfaces").and_then(Value::as_map);
        let mut seen = Vec::new();
        for (name, about) in interfaces.into_iter().flatten() {
            let stats = call.salt(
                "ps.network_io_counters",
                std::slice::from_ref(name),
                Map::new(),
            )?;
            let Value::Map(stats) = stats else {
                // There is no such interface.
                continue;
            };
            let is_greater = about.get("type").and_then(Value::as_str) == Some("greater");
            let mut is_news = false;
            for counter in COUNTERS {
                let Some(bound) = about.get(counter) else {
                    continue;
                };
                let bound = python::int(bound)?;
                let now = stats
                    .get(counter)
                    .and_then(Value::as_i64)
                    .unwrap_or_default();
                is_news |= match is_greater {
                    true => now > bound,
                    false => now == bound,
                };
            }
            if is_news {
                seen.push(Map::from([
                    ("interface", name.clone()),
                    ("network_info", stats.into()),
                ]));
            }
        }
        Ok(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Map {
        let value = halite_yaml::load(text, "test").unwrap().into_value();
        Settings::of(&value).merged()
    }

    #[test]
    fn the_load_is_told_out_of_bounds() {
        let always = settings("[{averages: {1m: [0.1, 2.0], 15m: [0.1, 1.0]}}]");
        let mut load = Load::default();
        assert!(load.is_news(&always, [2.1, 0.5, 0.5]));
        assert!(load.is_news(&always, [2.1, 0.5, 0.5]));
        assert!(!load.is_news(&always, [1.0, 9.0, 0.5]), "5m has no bounds");
        assert!(load.is_news(&always, [0.0, 0.5, 0.5]));
        let change = settings("[{averages: {1m: [0.1, 2.0]}}, {onchangeonly: true}]");
        let mut load = Load::default();
        for (now, is_news) in [
            (3.0, false),
            (1.0, false),
            (2.5, true),
            (2.6, false),
            (0.0, true),
        ] {
            assert_eq!(load.is_news(&change, [now, 0.0, 0.0]), is_news, "{now}");
        }
    }
}
