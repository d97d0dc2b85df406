//! The options of an interface, and their allowed values.

use std::net::{Ipv4Addr, Ipv6Addr};

use halite_call::python;
use halite_proto::Value;

/// The two families of addresses, as the file names them.
pub(super) const FAMILIES: [&str; 2] = ["inet", "inet6"];

/// What an option accepts as its value.
#[derive(Clone, Copy)]
enum ValueKind {
    Any,
    Int,
    Float,
    V4,
    V6,
    Mac,
    Mask4,
    Mask6,
    Words(&'static [&'static str]),
    Numbers(&'static [i64]),
    List,
}

const MODES: &[&str] = &["gre", "GRE", "ipip", "IPIP", "802.3ad"];

const V4: &[(&str, ValueKind)] = &[
    (
        "proto",
        ValueKind::Words(&["bootp", "dhcp", "static", "manual", "loopback", "ppp"]),
    ),
    ("address", ValueKind::V4),
    ("addresses", ValueKind::Any),
    ("netmask", ValueKind::Mask4),
    ("broadcast", ValueKind::V4),
    ("metric", ValueKind::Int),
    ("gateway", ValueKind::V4),
    ("pointopoint", ValueKind::V4),
    ("hwaddress", ValueKind::Mac),
    ("mtu", ValueKind::Int),
    ("scope", ValueKind::Words(&["global", "link", "host"])),
    ("hostname", ValueKind::Any),
    ("leasehours", ValueKind::Int),
    ("leasetime", ValueKind::Int),
    ("vendor", ValueKind::Any),
    ("client", ValueKind::Any),
    ("bootfile", ValueKind::Any),
    ("server", ValueKind::V4),
    ("hwaddr", ValueKind::Mac),
    ("mode", ValueKind::Words(MODES)),
    ("endpoint", ValueKind::V4),
    ("dstaddr", ValueKind::V4),
    ("local", ValueKind::V4),
    ("ttl", ValueKind::Int),
    ("provider", ValueKind::Any),
    ("unit", ValueKind::Int),
    ("options", ValueKind::Any),
    ("dns-nameservers", ValueKind::List),
    ("dns-search", ValueKind::List),
    ("vlan-raw-device", ValueKind::Any),
    ("network", ValueKind::Any),
];

const V6: &[(&str, ValueKind)] = &[
    (
        "proto",
        ValueKind::Words(&[
            "auto", "loopback", "static", "manual", "dhcp", "v4tunnel", "6to4",
        ]),
    ),
    ("address", ValueKind::V6),
    ("addresses", ValueKind::Any),
    ("netmask", ValueKind::Mask6),
    ("broadcast", ValueKind::V6),
    ("gateway", ValueKind::V6),
    ("hwaddress", ValueKind::Mac),
    ("mtu", ValueKind::Int),
    (
        "scope",
        ValueKind::Words(&["global", "site", "link", "host"]),
    ),
    ("privext", ValueKind::Numbers(&[0, 1, 2])),
    ("dhcp", ValueKind::Numbers(&[0, 1])),
    ("media", ValueKind::Any),
    ("accept_ra", ValueKind::Numbers(&[0, 1, 2])),
    ("autoconf", ValueKind::Numbers(&[0, 1])),
    ("preferred-lifetime", ValueKind::Int),
    ("dad-attempts", ValueKind::Int),
    ("dad-interval", ValueKind::Float),
    ("mode", ValueKind::Words(MODES)),
    ("endpoint", ValueKind::V4),
    ("local", ValueKind::V4),
    ("ttl", ValueKind::Int),
    ("dns-nameservers", ValueKind::List),
    ("dns-search", ValueKind::List),
    ("vlan-raw-device", ValueKind::Any),
];

const WIRELESS: &[(&str, ValueKind)] = &[
    ("wireless-essid", ValueKind::Any),
    ("wireless-mode", ValueKind::Any),
    ("wpa-ap-scan", ValueKind::Numbers(&[0, 1, 2])),
    ("wpa-conf", ValueKind::Any),
    ("wpa-driver", ValueKind::Any),
    ("wpa-group", ValueKind::Any),
    ("wpa-key-mgmt", ValueKind::Any),
    ("wpa-pairwise", ValueKind::Any),
    ("wpa-psk", ValueKind::Any),
    ("wpa-proto", ValueKind::Any),
    ("wpa-roam", ValueKind::Any),
    ("wpa-ssid", ValueKind::Any),
];

fn find(family: &str, name: &str) -> Option<ValueKind> {
    let own = if family == "inet" { V4 } else { V6 };
    let mut all = own.iter().chain(WIRELESS);
    all.find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}

/// Whether any family has the option.
pub(super) fn is_known(name: &str) -> bool {
    FAMILIES.iter().any(|family| find(family, name).is_some())
}

/// The value as it is kept, and whether it is a good one.
pub(super) fn check(family: &str, name: &str, value: &Value) -> (bool, Value) {
    let Some(kind) = find(family, name) else {
        return (false, value.clone());
    };
    let int = || python::int(value).ok();
    let text = python::str(value);
    let number = |good: &dyn Fn(i64) -> bool| match int() {
        Some(number) => (good(number), Value::from(number)),
        None => (false, value.clone()),
    };
    match kind {
        ValueKind::Any => (true, value.clone()),
        ValueKind::Int => number(&|_| true),
        ValueKind::Float => match python::float(value) {
            Ok(number) => (true, Value::Float(number)),
            Err(_) => (false, value.clone()),
        },
        ValueKind::V4 => (
            is_address(value, 32, &|ip| ip.parse::<Ipv4Addr>().is_ok()),
            value.clone(),
        ),
        ValueKind::V6 => (
            is_address(value, 128, &|ip| ip.parse::<Ipv6Addr>().is_ok()),
            value.clone(),
        ),
        ValueKind::Mac => (is_mac(&text), value.clone()),
        ValueKind::Mask4 => match number(&|bits| (0..=32).contains(&bits)) {
            (true, number) => (true, number),
            (false, value) => (is_mask(&text), value),
        },
        ValueKind::Mask6 => number(&|bits| (0..=128).contains(&bits)),
        ValueKind::Words(words) => (words.contains(&text.as_str()), text.into()),
        ValueKind::Numbers(numbers) => number(&|number| numbers.contains(&number)),
        ValueKind::List => match value {
            Value::Str(text) => {
                let words: Vec<Value> = text.split_whitespace().map(Value::from).collect();
                (!words.is_empty(), Value::List(words))
            }
            Value::List(items) => (!items.is_empty(), value.clone()),
            _ => (false, value.clone()),
        },
    }
}

fn is_address(value: &Value, bits: u32, is_ip: &dyn Fn(&str) -> bool) -> bool {
    let Value::Str(text) = value else {
        return false;
    };
    let (ip, prefix) = match text.rsplit_once('/') {
        Some((ip, prefix)) => (ip, prefix.parse().ok()),
        None => (text.as_str(), Some(bits)),
    };
    is_ip(ip) && prefix.is_some_and(|prefix: u32| (1..=bits).contains(&prefix))
}

fn is_mac(text: &str) -> bool {
    ['-', ':', '.'].into_iter().any(|separator| {
        let parts: Vec<&str> = text.split(separator).collect();
        let is_byte = |part: &&str| {
            (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        parts.len() == 6 && parts.iter().all(is_byte)
    })
}

/// A mask, or one with its bits turned round.
fn is_mask(text: &str) -> bool {
    let Ok(mask) = text.parse::<Ipv4Addr>() else {
        return false;
    };
    let bits = u32::from(mask);
    bits.leading_ones() + bits.trailing_zeros() >= 32
        || bits.leading_zeros() + bits.trailing_ones() >= 32
}
