//! Reads and writes `/etc/network/interfaces`.

use std::fmt::Write;

use halite_call::{Call, CallError, paths, python};
use halite_proto::{Map, Value};

use super::{options, wrong};

pub(super) const FILE: &str = "/etc/network/interfaces";
pub(super) const DIRECTORY: &str = "/etc/network/interfaces.d";

/// Options in the order in which they are written.
const WRITTEN: &str = "\
    autoconf privext dhcp hwaddress hwaddr vlan_raw_device address addresses netmask metric \
    gateway pointopoint scope hostname media leasehours leasetime vendor client bootfile \
    server mode endpoint dstaddr local ttl mtu provider unit options master dns_nameservers \
    wireless_mode wpa_ap_scan wpa_conf wpa_driver wpa_group wpa_key_mgmt wpa_pairwise \
    wpa_proto wpa_psk wpa_roam wpa_ssid accept_ra up_cmds down_cmds pre_up_cmds \
    post_up_cmds pre_down_cmds post_down_cmds";

/// Options whose names in the file are not theirs with hyphens.
const RENAMED: &[(&str, &str)] = &[
    ("addresses", "address"),
    ("hwaddr", "hwaddress"),
    ("up_cmds", "up"),
    ("down_cmds", "down"),
    ("pre_up_cmds", "pre-up"),
    ("post_up_cmds", "post-up"),
    ("pre_down_cmds", "pre-down"),
    ("post_down_cmds", "post-down"),
    ("master", "bond-master"),
    ("accept_ra", "accept_ra"),
];

/// Arguments of `ethtool`, each with its option in the file.
pub(super) const ETHTOOL: &[(&str, &str)] = &[
    ("speed", "link-speed"),
    ("duplex", "link-duplex"),
    ("autoneg", "ethernet-autoneg"),
    ("ethernet-port", "ethernet-port"),
    ("wol", "ethernet-wol"),
    ("driver-message-level", "driver-message-level"),
    ("ethernet-pause-rx", "ethernet-pause-rx"),
    ("ethernet-pause-tx", "ethernet-pause-tx"),
    ("ethernet-pause-autoneg", "ethernet-pause-autoneg"),
    ("rx", "offload-rx"),
    ("tx", "offload-tx"),
    ("sg", "offload-sg"),
    ("tso", "offload-tso"),
    ("ufo", "offload-ufo"),
    ("gso", "offload-gso"),
    ("gro", "offload-gro"),
    ("lro", "offload-lro"),
    (
        "hardware-irq-coalesce-adaptive-rx",
        "hardware-irq-coalesce-adaptive-rx",
    ),
    (
        "hardware-irq-coalesce-adaptive-tx",
        "hardware-irq-coalesce-adaptive-tx",
    ),
    (
        "hardware-irq-coalesce-rx-usecs",
        "hardware-irq-coalesce-rx-usecs",
    ),
    (
        "hardware-irq-coalesce-rx-frames",
        "hardware-irq-coalesce-rx-frames",
    ),
    ("hardware-dma-ring-rx", "hardware-dma-ring-rx"),
    ("hardware-dma-ring-rx-mini", "hardware-dma-ring-rx-mini"),
    ("hardware-dma-ring-rx-jumbo", "hardware-dma-ring-rx-jumbo"),
    ("hardware-dma-ring-tx", "hardware-dma-ring-tx"),
];

/// Commands around the start and the end of an interface.
const COMMANDS: [&str; 6] = ["up", "pre-up", "post-up", "down", "pre-down", "post-down"];

/// What one family of addresses has.
#[derive(Debug, Clone, Default)]
pub(super) struct Family {
    pub(super) addrfam: Option<&'static str>,
    /// `proto` and the others, with underscores.
    pub(super) options: Map,
    pub(super) ethtool: Map,
    pub(super) bonding: Map,
    pub(super) bridging: Map,
}

/// An interface; `source` lines are one too.
#[derive(Debug, Clone, Default)]
pub(super) struct Interface {
    pub(super) enabled: bool,
    pub(super) hotplug: bool,
    /// Whether there was more than `auto`.
    pub(super) has_data: bool,
    pub(super) families: [Option<Family>; 2],
    pub(super) sources: Vec<String>,
}

impl Interface {
    /// As the file has it.
    pub(super) fn written(&self, name: &str) -> String {
        let mut out = String::new();
        if !self.sources.is_empty() {
            for source in &self.sources {
                let _ = write!(out, "\nsource {source}\n");
            }
            return out;
        }
        if self.enabled {
            let _ = writeln!(out, "auto {name}");
        }
        if self.hotplug {
            let _ = writeln!(out, "allow-hotplug {name}");
        }
        for family in self.families.iter().flatten() {
            let proto = family.options.get("proto").map(python::str);
            if let (Some(addrfam), Some(proto)) = (family.addrfam, proto) {
                let _ = writeln!(out, "iface {name} {addrfam} {proto}");
                family.write(&mut out);
            }
        }
        out
    }
}

impl Family {
    fn write(&self, out: &mut String) {
        for name in WRITTEN.split_whitespace() {
            let Some(value) = self.options.get(name).filter(|value| value.is_true()) else {
                continue;
            };
            let renamed = RENAMED.iter().find(|(known, _)| *known == name);
            let key = renamed.map_or_else(|| name.replace('_', "-"), |(_, key)| (*key).to_owned());
            match value {
                Value::List(items) if name == "dns_nameservers" => {
                    let items: Vec<String> = items.iter().map(python::str).collect();
                    let _ = writeln!(out, "    {key} {}", items.join(" "));
                }
                Value::List(items) => {
                    for item in items {
                        let _ = writeln!(out, "    {key} {}", python::str(item));
                    }
                }
                value => {
                    let _ = writeln!(out, "    {key} {}", python::str(value));
                }
            }
        }
        for (prefix, options) in [
            ("", &self.ethtool),
            ("bond-", &self.bonding),
            ("bridge_", &self.bridging),
        ] {
            let mut names: Vec<String> =
                options.iter().map(|(name, _)| python::str(name)).collect();
            names.sort();
            for name in names {
                let text = match options.get(&name) {
                    Some(Value::Str(text)) => text.clone(),
                    Some(Value::List(items)) => {
                        let items: Vec<String> = items.iter().map(python::str).collect();
                        items.join(" ")
                    }
                    _ => continue,
                };
                let _ = writeln!(out, "    {prefix}{name} {text}");
            }
        }
    }
}

/// All interfaces with their names, in order.
pub(super) type Interfaces = Vec<(String, Interface)>;

fn entry<'i>(all: &'i mut Interfaces, name: &str) -> &'i mut Interface {
    let at = all.iter().position(|(known, _)| known == name);
    let at = at.unwrap_or_else(|| {
        all.push((name.to_owned(), Interface::default()));
        all.len() - 1
    });
    &mut all[at].1
}

/// The interfaces of the file and of its directory.
pub(super) fn read(call: &Call<'_>) -> Result<Interfaces, CallError> {
    let host = call.host();
    let mut texts = vec![host.read(FILE)];
    let mut more: Vec<_> = std::fs::read_dir(host.path(DIRECTORY))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect();
    more.sort();
    for path in more {
        texts.push(paths::read_to_string(&path).unwrap_or_default());
    }
    let mut all = Interfaces::new();
    for text in texts {
        parse(&text, &mut all)?;
    }
    all.retain(|(_, interface)| interface.has_data || !interface.sources.is_empty());
    Ok(all)
}

fn parse(text: &str, all: &mut Interfaces) -> Result<(), CallError> {
    // The interface and the family that options belong to.
    let mut current: Option<(String, usize)> = None;
    for line in text.lines() {
        let begin = line.trim_start();
        if begin.is_empty() || begin.starts_with('#') {
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if line.starts_with("iface") {
            let &[_, name, family, proto] = words.as_slice() else {
                let words = words.iter().map(|word| Value::from(*word)).collect();
                return Err(wrong(format!(
                    "Interface file malformed: {}.",
                    python::repr(&Value::List(words))
                )));
            };
            let Some(at) = options::FAMILIES.iter().position(|known| *known == family) else {
                current = None;
                continue;
            };
            let interface = entry(all, name);
            interface.has_data = true;
            let data = interface.families[at].get_or_insert_default();
            data.addrfam = Some(options::FAMILIES[at]);
            data.options.insert("proto", proto);
            current = Some((name.to_owned(), at));
        } else if begin.len() < line.len() {
            if let (Some((name, at)), Some((key, value))) =
                (&current, begin.split_once(char::is_whitespace))
                && let Some(family) = entry(all, name).families[*at].as_mut()
            {
                family.add(options::FAMILIES[*at], key, value.trim());
            }
        } else if line.starts_with("auto") {
            for word in words.iter().skip(1) {
                entry(all, word).enabled = true;
            }
        } else if line.starts_with("allow-hotplug") {
            for word in words.iter().skip(1) {
                entry(all, word).hotplug = true;
            }
        } else if line.starts_with("source") {
            let source = words.get(1).copied().unwrap_or_default().to_owned();
            entry(all, "source").sources.push(source);
        }
    }
    Ok(())
}

impl Family {
    /// A line of the file.
    fn add(&mut self, family: &str, key: &str, value: &str) {
        let after = |prefix: &str| {
            let rest = key.strip_prefix(prefix)?;
            Some(rest.trim_start_matches(['_', '-']).to_owned())
        };
        if options::is_known(key) {
            let (_, value) = options::check(family, key, &value.into());
            let name = key.replace('-', "_");
            if name == "address" && self.options.contains_key("address") {
                match self.options.get_mut("addresses") {
                    Some(Value::List(more)) => more.push(value),
                    _ => {
                        self.options.insert("addresses", vec![value]);
                    }
                }
            } else {
                self.options.insert(name, value);
            }
        } else if ETHTOOL.iter().any(|(_, option)| *option == key) {
            self.ethtool.insert(key, value);
        } else if let Some(option) = after("bond") {
            self.bonding.insert(option, value);
        } else if let Some(option) = after("bridge") {
            self.bridging.insert(option, value);
        } else if COMMANDS.contains(&key) {
            let name = format!("{}_cmds", key.replace('-', "_"));
            match self.options.get_mut(&name) {
                Some(Value::List(commands)) => commands.push(value.into()),
                _ => {
                    self.options.insert(name, vec![Value::from(value)]);
                }
            }
        }
    }
}

/// As functions return a text: its lines, and one more where it ends with one.
pub(super) fn lines(text: &str) -> Value {
    Value::List(
        text.split('\n')
            .map(|line| Value::from(format!("{line}\n")))
            .collect(),
    )
}
