//! The configurations of beacons about logins, packages, the journal,
//! certificates, directories and settings of interfaces.

use halite_proto::{Map, Value};

use super::refuse;

/// The settings of interfaces that `network_settings` can look at.
const ATTRIBUTES: [&str; 24] = [
    "family",
    "txqlen",
    "ipdb_scope",
    "index",
    "operstate",
    "group",
    "carrier_changes",
    "ipaddr",
    "neighbours",
    "ifname",
    "promiscuity",
    "linkmode",
    "broadcast",
    "address",
    "num_tx_queues",
    "ipdb_priority",
    "kind",
    "qdisc",
    "mtu",
    "num_rx_queues",
    "carrier",
    "flags",
    "ifi_type",
    "ports",
];

pub(super) fn cert_info(merged: &Map) -> Result<(), String> {
    match merged.contains_key("files") {
        true => Ok(()),
        false => refuse("Configuration for cert_info beacon must contain files option."),
    }
}

pub(super) fn journald(merged: &Map) -> Result<(), String> {
    let services = merged.get("services").and_then(Value::as_map);
    if services
        .into_iter()
        .flatten()
        .any(|(_, fields)| fields.as_map().is_none())
    {
        return refuse(
            "Services configuration for journald beacon must be a list of dictionaries.",
        );
    }
    Ok(())
}

/// `btmp` and `wtmp`.
pub(super) fn logins(module: &str, merged: &Map) -> Result<(), String> {
    for (key, what) in [("users", "User"), ("groups", "Group")] {
        match merged.get(key) {
            None => {}
            Some(Value::Map(names)) => {
                for (_, about) in names {
                    time_range(module, about)?;
                }
            }
            Some(_) => {
                return refuse(format!(
                    "{what} configuration for {module} beacon must be a dictionary."
                ));
            }
        }
    }
    match merged.get("defaults") {
        None => Ok(()),
        Some(defaults @ Value::Map(_)) => time_range(module, defaults),
        Some(_) => refuse(format!(
            "Defaults configuration for {module} beacon must be a dictionary."
        )),
    }
}

fn time_range(module: &str, about: &Value) -> Result<(), String> {
    let Some(range) = about.get("time_range").filter(|range| range.is_true()) else {
        return Ok(());
    };
    if range.as_map().is_none() {
        return refuse(format!(
            "The time_range parameter for {module} beacon must be a dictionary."
        ));
    }
    match ["start", "end"].iter().all(|key| range.get(key).is_some()) {
        true => Ok(()),
        false => refuse(format!(
            "The time_range parameter for {module} beacon must contain start & end options."
        )),
    }
}

pub(super) fn network_settings(merged: &Map) -> Result<(), String> {
    let interfaces = match merged.get("interfaces") {
        None => return Ok(()),
        Some(Value::Map(interfaces)) => interfaces,
        Some(_) => {
            return refuse("interfaces section for network_settings beacon must be a dictionary.");
        }
    };
    for (_, attributes) in interfaces {
        let Value::Map(attributes) = attributes else {
            return refuse(
                "Interface attributes for network_settings beacon must be a dictionary.",
            );
        };
        let known = |name: &Value| name.as_str().is_some_and(|name| ATTRIBUTES.contains(&name));
        if !attributes.keys().all(known) {
            return refuse("Invalid attributes in beacon configuration.");
        }
    }
    Ok(())
}

pub(super) fn pkg(merged: &Map) -> Result<(), String> {
    match merged.get("pkgs") {
        Some(Value::List(_)) => Ok(()),
        _ => refuse("Configuration for pkg beacon requires list of pkgs."),
    }
}

pub(super) fn salt_monitor(merged: &Map) -> Result<(), String> {
    let functions = match merged.get("salt_fun") {
        Some(Value::Str(_)) => return Ok(()),
        Some(Value::List(functions)) => functions,
        _ => return refuse("Configuration for salt_monitor beacon requires salt_fun."),
    };
    for entry in functions {
        let Value::Map(entry) = entry else {
            continue;
        };
        let Some((fun, about)) = entry.iter().next() else {
            return refuse("Configuration for salt_monitor beacon: a function without a name.");
        };
        let fun = fun.as_str().unwrap_or_default();
        for (key, values) in about.as_map().into_iter().flatten() {
            let values = values.as_list();
            match (key.as_str().unwrap_or_default(), values) {
                ("args", Some(_)) => {}
                ("args", None) => return refuse(format!("args key for fun {fun} must be list")),
                ("kwargs", None) => {
                    return refuse(format!(
                        "kwargs key for fun {fun} must be list of key value pairs"
                    ));
                }
                ("kwargs", Some(pairs)) => {
                    if let Some(pair) = pairs.iter().find(|pair| pair.as_map().is_none()) {
                        let pair = halite_proto::python::str(pair);
                        return refuse(format!("{pair} is not a key / value pair"));
                    }
                }
                (key, _) => return refuse(format!("key {key} not allowed under fun {fun}")),
            }
        }
    }
    Ok(())
}

pub(super) fn watchdog(merged: &Map) -> Result<(), String> {
    let directories = match merged.get("directories") {
        None => return refuse("Configuration for watchdog beacon must include directories."),
        Some(Value::Map(directories)) => directories,
        Some(_) => {
            return refuse("Configuration for watchdog beacon directories must be a dictionary.");
        }
    };
    for (_, about) in directories {
        let Value::Map(about) = about else {
            return refuse(
                "Configuration for watchdog beacon directory path must be a dictionary.",
            );
        };
        let known =
            |mask: &Value| matches!(mask.as_str(), Some("create" | "delete" | "modify" | "move"));
        match about.get("mask") {
            None => {}
            Some(Value::List(masks)) if masks.iter().all(known) => {}
            Some(Value::List(_)) => {
                return refuse("Configuration for watchdog beacon contains invalid mask");
            }
            Some(_) => return refuse("Configuration for watchdog beacon mask must be list."),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::validate;

    #[test]
    fn what_makes_no_sense_is_said() {
        let check = |module: &str, text: &str| {
            validate(
                module,
                &halite_yaml::load(text, "test").unwrap().into_value(),
            )
        };
        for (module, text, expected) in [
            (
                "cert_info",
                "[]",
                "Configuration for cert_info beacon must contain files option.",
            ),
            (
                "pkg",
                "[{pkgs: zsh}]",
                "Configuration for pkg beacon requires list of pkgs.",
            ),
            (
                "wtmp",
                "[{users: {ann: {time_range: {start: 8am}}}}]",
                "The time_range parameter for wtmp beacon must contain start & end options.",
            ),
            (
                "btmp",
                "[{groups: []}]",
                "Group configuration for btmp beacon must be a dictionary.",
            ),
            (
                "network_settings",
                "[{interfaces: {eth0: {speed: }}}]",
                "Invalid attributes in beacon configuration.",
            ),
            (
                "watchdog",
                "[{directories: {/a: {mask: [open]}}}]",
                "Configuration for watchdog beacon contains invalid mask",
            ),
            (
                "salt_monitor",
                "[{salt_fun: [{test.ping: {arg: []}}]}]",
                "key arg not allowed under fun test.ping",
            ),
            (
                "journald",
                "[{services: {sshd: 1}}]",
                "Services configuration for journald beacon must be a list of dictionaries.",
            ),
        ] {
            assert_eq!(check(module, text).unwrap_err(), expected);
        }
        for (module, text) in [
            ("sh", "[]"),
            ("pkg", "[{pkgs: [zsh]}, {refresh: true}]"),
            ("wtmp", "[]"),
            ("salt_monitor", "[{salt_fun: test.ping}]"),
            ("watchdog", "[{directories: {/a: {}}}]"),
            ("network_settings", "[{interfaces: {eth0: {ipaddr: }}}]"),
        ] {
            assert!(check(module, text).is_ok(), "{module}");
        }
    }
}
