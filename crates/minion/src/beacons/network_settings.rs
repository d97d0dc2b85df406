//! The beacon `network_settings`: changed settings of interfaces.

use std::collections::BTreeMap;
use std::fs;

use halite_call::host::Program;
use halite_call::{Call, python};
use halite_proto::{Map, Value};
use halite_target::pcre::Pcre;

use super::{Beacon, BeaconError};
use crate::core::beacons::Settings;

#[derive(Default)]
pub(super) struct NetworkSettings {
    last: BTreeMap<String, Map>,
}

impl Beacon for NetworkSettings {
    fn look(&mut self, settings: &Settings, call: &Call<'_>) -> Result<Vec<Map>, BeaconError> {
        if !call.host().has("ip") {
            return Err(BeaconError::NoProgram("ip"));
        }
        let said = Program::new(call, &["ip", "-details", "-json", "address", "show"]).run()?;
        let sys = call.host().path("/sys/class/net");
        let of_kernel = |name: &str, what: &str| {
            let text = fs::read_to_string(sys.join(name).join(what)).ok()?;
            Some(text.trim().to_owned())
        };
        let now = interfaces(&said.stdout, &of_kernel);
        Ok(self.changes(now, &settings.merged()))
    }
}

/// The settings of the interfaces, from what `ip` says and from the kernel's
/// files.
fn interfaces(
    json: &str,
    of_kernel: &dyn Fn(&str, &str) -> Option<String>,
) -> BTreeMap<String, Map> {
    let all = halite_proto::json::read(json).unwrap_or_default();
    let all = all.as_list().unwrap_or_default().iter();
    all.filter_map(|link| {
        let name = link.get("ifname")?.as_str()?;
        let mut settings = Map::from([("family", Value::from(0)), ("ifname", name.into())]);
        for (ours, theirs) in [
            ("txqlen", "txqlen"),
            ("index", "ifindex"),
            ("operstate", "operstate"),
            ("promiscuity", "promiscuity"),
            ("broadcast", "broadcast"),
            ("address", "address"),
            ("num_tx_queues", "num_tx_queues"),
            ("num_rx_queues", "num_rx_queues"),
            ("qdisc", "qdisc"),
            ("mtu", "mtu"),
        ] {
            if let Some(value) = link.get(theirs) {
                settings.insert(ours, value.clone());
            }
        }
        if let Some(kind) = link.get("linkinfo").and_then(|info| info.get("info_kind")) {
            settings.insert("kind", kind.clone());
        }
        for (ours, file) in [
            ("carrier", "carrier"),
            ("carrier_changes", "carrier_changes"),
            ("flags", "flags"),
            ("group", "netdev_group"),
            ("ifi_type", "type"),
            ("linkmode", "link_mode"),
        ] {
            let number = of_kernel(name, file).and_then(|text| match text.strip_prefix("0x") {
                Some(hex) => i64::from_str_radix(hex, 16).ok(),
                None => text.parse().ok(),
            });
            if let Some(number) = number {
                settings.insert(ours, number);
            }
        }
        let addresses = link.get("addr_info").and_then(Value::as_list);
        let addresses = addresses.unwrap_or_default().iter().filter_map(|address| {
            let pair = vec![
                address.get("local")?.clone(),
                address.get("prefixlen")?.clone(),
            ];
            Some(Value::List(pair))
        });
        settings.insert("ipaddr", addresses.collect::<Vec<_>>());
        Some((name.to_owned(), settings))
    })
    .collect()
}

impl NetworkSettings {
    /// The changes to report, given the present settings.
    fn changes(&mut self, now: BTreeMap<String, Map>, merged: &Map) -> Vec<Map> {
        let mut seen = Vec::new();
        let mut together = Map::new();
        let wanted = merged.get("interfaces").and_then(Value::as_map);
        for (name, attributes) in expanded(wanted, &now) {
            let (Some(new), Some(old)) = (now.get(&name), self.last.get(&name)) else {
                continue;
            };
            let mut change = Map::new();
            for (attribute, about) in attributes.as_map().into_iter().flatten() {
                let (Some(value), before) = (new.get_value(attribute), old.get_value(attribute))
                else {
                    continue;
                };
                let only = about.get("onvalue").filter(|only| only.is_true());
                if before != Some(value) && only.is_none_or(|only| only == value) {
                    change.insert(attribute.clone(), value.clone());
                }
            }
            if !change.is_empty() {
                together.insert(name.as_str(), change.clone());
                seen.push(Map::from([
                    ("tag", Value::from(name.as_str())),
                    ("interface", name.into()),
                    ("change", change.into()),
                ]));
            }
        }
        self.last = now;
        let coalesce = merged.get("coalesce").is_some_and(Value::is_true);
        if coalesce && !together.is_empty() {
            let all = Map::from([("tag", Value::from("result")), ("changes", together.into())]);
            return vec![all];
        }
        seen
    }
}

/// The configured interfaces that there are: by name, or by a pattern that is
/// found in their names.
fn expanded(wanted: Option<&Map>, now: &BTreeMap<String, Map>) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (name, attributes) in wanted.into_iter().flatten() {
        let name = python::str(name);
        if now.contains_key(&name) {
            found.push((name, attributes.clone()));
            continue;
        }
        let Ok(pattern) = Pcre::new(&format!("(?s).*(?:{name})")) else {
            continue;
        };
        let fitting = now
            .keys()
            .filter(|key| pattern.matches_start(key) == Ok(true));
        found.extend(fitting.map(|key| (key.clone(), attributes.clone())));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = r#"[{"ifindex":2,"ifname":"eth0","flags":["UP"],"mtu":1500,
        "qdisc":"fq","operstate":"UP","promiscuity":0,"addr_info":[
        {"family":"inet","local":"10.0.0.5","prefixlen":24}]}]"#;

    fn look(beacon: &mut NetworkSettings, json: &str, config: &str) -> String {
        let kernel = |_: &str, what: &str| (what == "flags").then(|| "0x1003".to_owned());
        let config = halite_yaml::load(config, "test").unwrap().into_value();
        let seen = beacon.changes(interfaces(json, &kernel), config.as_map().unwrap());
        let seen: Vec<Value> = seen.into_iter().map(Value::from).collect();
        python::repr(&seen.into())
    }

    #[test]
    fn changes_of_wanted_settings_are_told() {
        let mut beacon = NetworkSettings::default();
        let config = "{interfaces: {'eth.*': {ipaddr: null, promiscuity: {onvalue: 1}}}}";
        assert_eq!(look(&mut beacon, BEFORE, config), "[]");
        assert_eq!(beacon.last["eth0"].get("flags"), Some(&0x1003.into()));
        let other = BEFORE.replace("1500", "9000");
        assert_eq!(look(&mut beacon, &other, config), "[]");
        let moved = other.replace("10.0.0.5", "10.0.0.6");
        assert_eq!(
            look(&mut beacon, &moved, config),
            "[{'tag': 'eth0', 'interface': 'eth0', 'change': {'ipaddr': [['10.0.0.6', 24]]}}]"
        );
        let listening = moved.replace("\"promiscuity\":0", "\"promiscuity\":1");
        let config = format!("{}, coalesce: true}}", config.strip_suffix('}').unwrap());
        assert_eq!(
            look(&mut beacon, &listening, &config),
            "[{'tag': 'result', 'changes': {'eth0': {'promiscuity': 1}}}]"
        );
        assert_eq!(look(&mut beacon, &moved, &config), "[]");
    }
}
