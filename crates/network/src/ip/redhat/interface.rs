//! Interfaces.

use halite_call::{Call, CallError, python};
use halite_proto::{Map, Value};

use super::super::{SWITCHES, is_no, is_yes, options, wrong, wrong_interface};
use super::{bond, lines, script, write};

/// The kinds of interfaces there are, and the type that each is written with.
const KINDS: [(&str, Option<&str>); 13] = [
    ("eth", Some("Ethernet")),
    ("bond", Some("Bond")),
    ("team", None),
    ("alias", None),
    ("clone", None),
    ("ipsec", None),
    ("dialup", None),
    ("bridge", Some("Bridge")),
    ("slave", None),
    ("teamport", None),
    ("vlan", Some("Vlan")),
    ("ipip", Some("IPIP")),
    ("ib", Some("InfiniBand")),
];

/// Kinds that are known and cannot be written.
const UNWRITTEN: [&str; 3] = ["clone", "ipsec", "dialup"];

/// Arguments that are written as they are: the argument, and the key.
const PLAIN: [(&str, &str); 7] = [
    ("nickname", "NAME"),
    ("uuid", "UUID"),
    ("master", "MASTER"),
    ("vlan_id", "VID"),
    ("phys_dev", "PHYSDEV"),
    ("team_master", "TEAM_MASTER"),
    ("srcaddr", "SRCADDR"),
];

/// The arguments of `ethtool`, in order.
const ETHTOOL: [&str; 8] = ["rx", "tx", "sg", "tso", "ufo", "gso", "gro", "lro"];

/// A file on its way.
struct Writing<'a> {
    name: &'a str,
    arguments: &'a Map,
    lines: Vec<String>,
}

impl Writing<'_> {
    fn get(&self, argument: &str) -> Option<&Value> {
        self.arguments.get(argument).filter(|value| !value.is_nil())
    }

    fn text(&self, argument: &str) -> Option<String> {
        self.get(argument).map(python::str)
    }

    /// How the interface belongs to others: bonds, VLANs and teams.
    fn relations(&mut self, kind: &str) -> Result<(), CallError> {
        self.plain("master");
        match kind {
            "slave" => self.line("SLAVE", "yes"),
            _ => self.switches(&["slave"])?,
        }
        if kind == "vlan" {
            self.line("VLAN", "yes");
            self.plain("vlan_id");
            self.plain("phys_dev");
        } else {
            self.switches(&["vlan"])?;
        }
        match kind {
            "team" => self.line("DEVICETYPE", "Team"),
            "teamport" => {
                self.line("DEVICETYPE", "TeamPort");
                self.plain("team_master");
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether a VLAN says its number or its device, and not by its name alone.
    fn has_vlan_id(&self) -> bool {
        self.get("vlan_id").is_some() || self.get("phys_dev").is_some()
    }

    fn wrong(&self, option: &str, expected: &str) -> CallError {
        wrong_interface(self.name, option, expected)
    }

    fn line(&mut self, key: &str, value: impl std::fmt::Display) {
        self.lines.push(format!("{key}=\"{value}\""));
    }

    /// An argument as it is, if it was given.
    fn plain(&mut self, argument: &str) {
        let known = PLAIN.iter().find(|(known, _)| *known == argument);
        let key = known.map_or_else(|| argument.to_uppercase(), |(_, key)| (*key).to_owned());
        if let Some(value) = self.text(argument) {
            self.line(&key, value);
        }
    }

    fn truth(&self, argument: &str) -> Result<Option<&'static str>, CallError> {
        match self.get(argument) {
            None => Ok(None),
            Some(value) if is_yes(value) => Ok(Some("yes")),
            Some(value) if is_no(value) => Ok(Some("no")),
            Some(value) => Err(self.wrong(&python::str(value), SWITCHES)),
        }
    }

    /// Arguments that are yes or no.
    fn switches(&mut self, arguments: &[&str]) -> Result<(), CallError> {
        for argument in arguments {
            if let Some(value) = self.truth(argument)? {
                self.line(&argument.to_uppercase(), value);
            }
        }
        Ok(())
    }

    fn hardware(&mut self) -> Result<(), CallError> {
        for (argument, key) in [("hwaddr", "HWADDR"), ("macaddr", "MACADDR")] {
            let Some(value) = self.text(argument) else {
                continue;
            };
            let is_mac = options::check("inet", "hwaddress", &value.as_str().into()).0;
            if !is_mac && !["auto", "none"].contains(&value.as_str()) {
                return Err(self.wrong(&value, "AA:BB:CC:DD:EE:FF|auto|none"));
            }
            self.line(key, value);
        }
        Ok(())
    }

    fn protocol(&mut self, kind: &str) -> Result<(), CallError> {
        let proto = match kind {
            "slave" => Some("none".to_owned()),
            _ => self.text("proto"),
        };
        let Some(proto) = proto else {
            return Ok(());
        };
        if !["none", "bootp", "dhcp"].contains(&proto.as_str()) {
            return Err(self.wrong(&proto, "none|bootp|dhcp"));
        }
        self.line("BOOTPROTO", proto);
        Ok(())
    }

    fn addresses(&mut self) -> Result<(), CallError> {
        if self.get("prefix").is_some() && self.get("netmask").is_some() {
            return Err(wrong("Cannot use prefix and netmask together"));
        }
        for (argument, key) in [
            ("ipaddr", "IPADDR"),
            ("netmask", "NETMASK"),
            ("prefix", "PREFIX"),
        ] {
            if let Some(value) = self.text(argument) {
                self.line(key, value);
            }
        }
        let more = self.get("ipaddrs").map(python::texts).unwrap_or_default();
        for (number, address) in more.iter().enumerate() {
            let Some((address, prefix)) = address.split_once('/') else {
                return Err(self.wrong("ipaddrs", "address/prefix"));
            };
            self.line(&format!("IPADDR{}", number + 1), address);
            self.line(&format!("PREFIX{}", number + 1), prefix);
        }
        self.plain("gateway");
        Ok(())
    }

    fn version_six(&mut self) -> Result<(), CallError> {
        if !self.get("enable_ipv6").is_some_and(is_yes) {
            return Ok(());
        }
        self.line("IPV6INIT", "yes");
        self.switches(&["ipv6_autoconf"])?;
        let address = self.text("ipv6addr").or_else(|| {
            let address = self.text("ipv6ipaddr")?;
            let mask = self.text("ipv6netmask");
            Some(mask.map_or_else(|| address.clone(), |mask| format!("{address}/{mask}")))
        });
        if let Some(address) = address {
            self.line("IPV6ADDR", address);
        }
        if let Some(gateway) = self.text("ipv6gateway") {
            self.line("IPV6_DEFAULTGW", gateway);
        }
        let more = self.get("ipv6addrs").or_else(|| self.get("ipv6ipaddrs"));
        if let Some(more) = more.map(python::texts) {
            self.line("IPV6ADDR_SECONDARIES", more.join(" "));
        }
        self.switches(&["ipv6_peerdns", "ipv6_defroute", "ipv6_peerroutes"])
    }

    fn ethtool(&mut self) -> Result<(), CallError> {
        let mut words = Vec::new();
        let switch = |writing: &Self, option: &str| -> Result<Option<String>, CallError> {
            match writing.get(option) {
                None => Ok(None),
                Some(value) if is_yes(value) => Ok(Some(format!("{option} on"))),
                Some(value) if is_no(value) => Ok(Some(format!("{option} off"))),
                Some(_) => Err(writing.wrong(option, SWITCHES)),
            }
        };
        words.extend(switch(self, "autoneg")?);
        if let Some(duplex) = self.text("duplex") {
            if !["full", "half"].contains(&duplex.as_str()) {
                return Err(self.wrong("duplex", "full|half"));
            }
            words.push(format!("duplex {duplex}"));
        }
        if let Some(speed) = self.text("speed") {
            if !["10", "100", "1000", "10000"].contains(&speed.as_str()) {
                return Err(self.wrong(&speed, "10|100|1000|10000"));
            }
            words.push(format!("speed {speed}"));
        }
        for option in ETHTOOL {
            words.extend(switch(self, option)?);
        }
        if !words.is_empty() {
            self.line("ETHTOOL_OPTS", words.join(" "));
        }
        Ok(())
    }

    /// The end of the file: the network as it is seen from the interface.
    fn rest(&mut self, kind: &str) -> Result<(), CallError> {
        self.ethtool()?;
        let servers = self.get("dns").map(python::texts).unwrap_or_default();
        if !servers.is_empty() && self.get("peerdns").is_none() {
            self.line("PEERDNS", "yes");
        }
        self.switches(&["peerdns", "defroute"])?;
        if kind != "bridge" {
            self.plain("bridge");
        }
        self.switches(&["stp"])?;
        self.plain("delay");
        if kind == "bond" {
            let options = bond::options(self.name, self.arguments)?;
            self.line("BONDING_OPTS", options);
        }
        if let Some(mtu) = self.get("mtu") {
            let mtu = python::int(mtu).map_err(|_| self.wrong("mtu", "integer"))?;
            self.line("MTU", mtu);
        }
        self.plain("zone");
        if let Some(domain) = self.get("domain") {
            let domain = match domain {
                Value::List(words) => words.iter().map(python::str).collect::<Vec<_>>().join(" "),
                one => python::str(one),
            };
            self.line("DOMAIN", domain);
        }
        let controlled = self.truth("nm_controlled")?.unwrap_or("no");
        self.line("NM_CONTROLLED", controlled);
        for (number, server) in servers.iter().enumerate() {
            self.line(&format!("DNS{}", number + 1), server);
        }
        Ok(())
    }
}

fn written(
    name: &str,
    kind: &str,
    enabled: bool,
    arguments: &Map,
) -> Result<Vec<String>, CallError> {
    let Some((_, shown)) = KINDS.into_iter().find(|(known, _)| *known == kind) else {
        let all: Vec<&str> = KINDS.iter().map(|(known, _)| *known).collect();
        return Err(wrong_interface(name, kind, &all.join("|")));
    };
    if UNWRITTEN.contains(&kind) {
        return Err(wrong(format!(
            "interfaces of the kind {kind} are not supported here"
        )));
    }
    let mut file = Writing {
        name,
        arguments,
        lines: Vec::new(),
    };
    if kind == "slave" && file.get("master").is_none() {
        return Err(wrong("master is a required setting for slave interfaces"));
    }
    file.line("DEVICE", name);
    file.plain("nickname");
    file.hardware()?;
    file.plain("uuid");
    let by_user = file.truth("userctl")?.unwrap_or("no");
    file.line("USERCTL", by_user);
    file.relations(kind)?;
    let is_named_vlan = kind == "vlan" && !file.has_vlan_id();
    if let Some(shown) = shown.filter(|_| !is_named_vlan) {
        file.line("TYPE", shown);
    }
    file.protocol(kind)?;
    file.line("ONBOOT", if enabled { "yes" } else { "no" });
    if let Some(on) = file.truth("onparent")? {
        file.lines.push(format!("ONPARENT={on}"));
    }
    file.switches(&["ipv4_failure_fatal"])?;
    file.addresses()?;
    if kind == "ipip" {
        for key in ["my_inner_ipaddr", "my_outer_ipaddr"] {
            if let Some(value) = file.text(key) {
                file.lines.push(format!("{}={value}", key.to_uppercase()));
            }
        }
    }
    file.switches(&["arpcheck"])?;
    file.version_six()?;
    file.plain("srcaddr");
    file.rest(kind)?;
    Ok(file.lines)
}

pub(in super::super) fn build(
    call: &Call<'_>,
    name: &str,
    kind: &str,
    arguments: &Map,
) -> Result<Value, CallError> {
    let arguments: Map = arguments
        .iter()
        .map(|(key, value)| (python::str(key).to_lowercase(), value.clone()))
        .collect();
    let file = script("ifcfg", name)?;
    let text = written(name, &kind.to_lowercase(), call.flag("enabled"), &arguments)?;
    if text.iter().any(|line| line.contains('\n')) {
        return Err(wrong("a value of an interface has one line"));
    }
    if !arguments.get("test").is_some_and(Value::is_true) {
        write(call, &file, &text)?;
    }
    Ok(text.into_iter().map(Value::from).collect::<Vec<_>>().into())
}

pub(in super::super) fn get(call: &Call<'_>, name: &str) -> Result<Value, CallError> {
    Ok(lines(&call.host().read(script("ifcfg", name)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_was_asked_for() {
        let arguments = Map::from([("proto", "dhcp"), ("domain", "a.org")]);
        let lines = written("eth0", "eth", true, &arguments).unwrap();
        assert!(lines.contains(&"DOMAIN=\"a.org\"".to_owned()));
        assert_eq!(lines.first().unwrap(), "DEVICE=\"eth0\"");
        assert!(written("eth0", "dialup", true, &arguments).is_err());
    }
}
