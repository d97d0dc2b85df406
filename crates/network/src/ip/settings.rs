//! An interface from the arguments of a function or a state.

use halite_call::{CallError, python};
use halite_proto::{Map, Value};

use super::interfaces::{ETHTOOL, Family, Interface};
use super::{SWITCHES, bond, is_no, is_yes, options, wrong, wrong_interface};

/// What arguments may call an option.
const NAMES: &[(&str, &str)] = &[
    ("dns", "dns-nameservers"),
    ("search", "dns-search"),
    ("hwaddr", "hwaddress"),
    ("ipaddr", "address"),
    ("ipaddrs", "addresses"),
    ("addr", "address"),
    ("addrs", "addresses"),
];

/// Options that apply to IPv4 unless they name IPv6.
const OF_V4: [&str; 6] = [
    "ipaddr",
    "address",
    "ipaddresses",
    "addresses",
    "gateway",
    "proto",
];

const COMMANDS: [&str; 6] = [
    "up_cmds",
    "pre_up_cmds",
    "post_up_cmds",
    "down_cmds",
    "pre_down_cmds",
    "post_down_cmds",
];

fn family(interface: &mut Interface, at: usize) -> &mut Family {
    interface.families[at].get_or_insert_default()
}

/// An interface of the kind `kind`, one that has been checked.
pub(super) fn interface(
    name: &str,
    kind: &str,
    enabled: bool,
    arguments: &Map,
) -> Result<Interface, CallError> {
    let mut interface = Interface {
        enabled,
        hotplug: arguments.get("hotplug").is_some_and(Value::is_true),
        has_data: true,
        ..Interface::default()
    };
    for (at, addrfam) in options::FAMILIES.into_iter().enumerate() {
        let own = family(&mut interface, at);
        match kind {
            "bridge" => {
                own.bridging = bridging(name, arguments)?;
                own.addrfam = Some(addrfam);
            }
            "bond" => {
                let options = bond::options(name, arguments)?;
                own.bonding = options.into_iter().collect();
                own.bonding.insert("slaves", bond::slaves(arguments));
                own.addrfam = Some(addrfam);
            }
            "vlan" => {
                let device = without_number(name);
                own.options.insert("vlan_raw_device", device);
                own.addrfam = Some(addrfam);
            }
            "slave" => {
                let master = arguments.get("master").cloned();
                own.options.insert("master", master.unwrap_or_default());
                own.addrfam = Some(addrfam);
            }
            _ => {}
        }
        if kind != "bridge" {
            own.ethtool = ethtool(name, arguments)?;
        }
    }
    let mut arguments = arguments.clone();
    if kind == "slave" {
        arguments.insert("proto", "manual");
    }
    for (key, value) in &arguments {
        let key = python::str(key);
        if key != "mode" {
            set(&mut interface, &key, value);
        }
    }
    for name in COMMANDS {
        if let Some(value) = arguments.get(name) {
            for at in 0..options::FAMILIES.len() {
                family(&mut interface, at)
                    .options
                    .insert(name, value.clone());
            }
        }
    }
    for (at, switch) in ["enable_ipv4", "enable_ipv6"].into_iter().enumerate() {
        let off = arguments.get(switch) == Some(&Value::Bool(false));
        if off || family(&mut interface, at).addrfam.is_none() {
            interface.families[at] = None;
        }
    }
    Ok(interface)
}

/// Without `.10` of `eth0.10`.
fn without_number(name: &str) -> String {
    let mut out = String::new();
    let mut chars = name.chars().peekable();
    while let Some(char) = chars.next() {
        if char == '.' {
            while chars.next_if(char::is_ascii_digit).is_some() {}
        } else {
            out.push(char);
        }
    }
    out
}

/// Sets an option in its place; invalid values are left out.
fn set(interface: &mut Interface, key: &str, value: &Value) {
    let (key, only) = if let Some(rest) = key.strip_prefix("ipv4") {
        (rest, Some(0))
    } else if let Some(rest) = key.strip_prefix("ipv6") {
        (rest, Some(1))
    } else if OF_V4.contains(&key) {
        (key, Some(0))
    } else {
        (key, None)
    };
    if let Some(at) = only {
        family(interface, at).addrfam = Some(options::FAMILIES[at]);
    }
    let known = NAMES.iter().find(|(name, _)| *name == key);
    let option = known.map_or(key, |(_, option)| *option);
    let kept = option.replace('-', "_");
    for (at, addrfam) in options::FAMILIES.into_iter().enumerate() {
        let (good, value) = options::check(addrfam, option, value);
        let own = family(interface, at);
        let wanted = match only {
            Some(only) => only == at,
            None => !own.options.contains_key(&kept),
        };
        if good && wanted {
            own.options.insert(kept.as_str(), value);
        }
    }
}

fn switch(name: &str, option: &str, value: &Value) -> Result<&'static str, CallError> {
    if is_yes(value) {
        Ok("on")
    } else if is_no(value) {
        Ok("off")
    } else {
        Err(wrong_interface(name, option, SWITCHES))
    }
}

fn ethtool(name: &str, arguments: &Map) -> Result<Map, CallError> {
    let mut found = Map::new();
    let mut add = |option: &str, value: Value| {
        if let Some((_, written)) = ETHTOOL.iter().find(|(known, _)| *known == option) {
            found.insert(*written, value);
        }
    };
    if let Some(value) = arguments.get("autoneg") {
        add("autoneg", switch(name, "autoneg", value)?.into());
    }
    if let Some(value) = arguments.get("duplex") {
        if !["full", "half"].contains(&python::str(value).as_str()) {
            return Err(wrong_interface(name, "duplex", "full|half"));
        }
        add("duplex", value.clone());
    }
    if let Some(value) = arguments.get("speed") {
        let text = python::str(value);
        if !["10", "100", "1000", "10000"].contains(&text.as_str()) {
            return Err(wrong_interface(name, &text, "10|100|1000|10000"));
        }
        add("speed", value.clone());
    }
    for option in ["rx", "tx", "sg", "tso", "ufo", "gso", "gro", "lro"] {
        if let Some(value) = arguments.get(option) {
            add(option, switch(name, option, value)?.into());
        }
    }
    Ok(found)
}

fn bridging(name: &str, arguments: &Map) -> Result<Map, CallError> {
    let mut found = Map::new();
    match arguments.get("ports") {
        Some(Value::List(ports)) => {
            let ports: Vec<String> = ports.iter().map(python::str).collect();
            found.insert("ports", ports.join(" "));
        }
        Some(ports) => {
            found.insert("ports", ports.clone());
        }
        None => {}
    }
    for option in ["ageing", "fd", "gcint", "hello", "maxage"] {
        if let Some(value) = arguments.get(option) {
            python::float(value).map_err(|_| wrong_interface(name, option, "float"))?;
            found.insert(option, value.clone());
        }
    }
    for option in ["bridgeprio", "maxwait"] {
        match arguments.get(option) {
            None => {}
            Some(value @ Value::Int(_)) => {
                found.insert(option, value.clone());
            }
            Some(_) => return Err(wrong_interface(name, option, "integer")),
        }
    }
    for option in ["pathcost", "portprio"] {
        if let Some(value) = arguments.get(option) {
            let text = python::str(value);
            let words: Vec<&str> = text.split_whitespace().collect();
            match words.as_slice() {
                [port, number] if number.parse::<i64>().is_ok() => {
                    found.insert(option, format!("{port} {number}"));
                }
                _ => return Err(wrong_interface(name, option, "interface integer")),
            }
        }
    }
    if let Some(value) = arguments.get("hw") {
        let (good, value) = options::check("inet", "hwaddress", value);
        if !good {
            return Err(wrong_interface(name, "hw", "valid MAC address"));
        }
        found.insert("hw", value);
    }
    if let Some(value) = arguments.get("stp") {
        found.insert("stp", switch(name, "stp", value)?);
    }
    match arguments.get("waitport") {
        None => {}
        Some(value @ Value::Int(_)) => {
            found.insert("waitport", value.clone());
        }
        Some(value) => {
            let text = python::str(value);
            let mut words = text.split_whitespace();
            let time = words.next().unwrap_or_default();
            let ports: Vec<&str> = words.collect();
            if ports.is_empty() || !time.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(wrong_interface(name, "waitport", "integer [interfaces]"));
            }
            found.insert("waitport", format!("{time} {}", ports.join(" ")));
        }
    }
    Ok(found)
}

/// The kinds of interfaces there are, and whether they can be made here.
pub(super) fn check_kind(name: &str, kind: &str, arguments: &Map) -> Result<(), CallError> {
    const KINDS: [&str; 11] = [
        "eth", "bond", "alias", "clone", "ipsec", "dialup", "bridge", "slave", "vlan", "pppoe",
        "source",
    ];
    if !KINDS.contains(&kind) {
        return Err(wrong_interface(name, kind, &KINDS.join("|")));
    }
    let needs = |option: &str, message: &str| match arguments.contains_key(option) {
        true => Ok(()),
        false => Err(wrong(message)),
    };
    match kind {
        "slave" => needs(
            "master",
            "master is a required setting for slave interfaces",
        ),
        "bridge" => needs(
            "ports",
            "ports is a required setting for bridge interfaces on Debian or Ubuntu based systems",
        ),
        "bond" => needs("slaves", "slaves is a required setting for bond interfaces"),
        "source" => needs("source", "source is a required setting"),
        "eth" | "vlan" => Ok(()),
        other => Err(wrong(format!(
            "interfaces of the kind {other} are not supported here"
        ))),
    }
}
