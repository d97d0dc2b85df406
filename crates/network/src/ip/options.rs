//! The options of an interface, and which values they take.

use std::net::{Ipv4Addr, Ipv6Addr};

use halite_modules::python;
use halite_proto::Value;

/// The two families of addresses, as the file names them.
pub(super) const FAMILIES: [&str; 2] = ["inet", "inet6"];

/// What a value has to be.
#[derive(Clone, Copy)]
enum Kind {
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

const V4: &[(&str, Kind)] = &[
    (
        "proto",
        Kind::Words(&["bootp", "dhcp", "static", "manual", "loopback", "ppp"]),
    ),
    ("address", Kind::V4),
    ("addresses", Kind::Any),
    ("netmask", Kind::Mask4),
    ("broadcast", Kind::V4),
    ("metric", Kind::Int),
    ("gateway", Kind::V4),
    ("pointopoint", Kind::V4),
    ("hwaddress", Kind::Mac),
    ("mtu", Kind::Int),
    ("scope", Kind::Words(&["global", "link", "host"])),
    ("hostname", Kind::Any),
    ("leasehours", Kind::Int),
    ("leasetime", Kind::Int),
    ("vendor", Kind::Any),
    ("client", Kind::Any),
    ("bootfile", Kind::Any),
    ("server", Kind::V4),
    ("hwaddr", Kind::Mac),
    ("mode", Kind::Words(MODES)),
    ("endpoint", Kind::V4),
    ("dstaddr", Kind::V4),
    ("local", Kind::V4),
    ("ttl", Kind::Int),
    ("provider", Kind::Any),
    ("unit", Kind::Int),
    ("options", Kind::Any),
    ("dns-nameservers", Kind::List),
    ("dns-search", Kind::List),
    ("vlan-raw-device", Kind::Any),
    ("network", Kind::Any),
];

const V6: &[(&str, Kind)] = &[
    (
        "proto",
        Kind::Words(&[
            "auto", "loopback", "static", "manual", "dhcp", "v4tunnel", "6to4",
        ]),
    ),
    ("address", Kind::V6),
    ("addresses", Kind::Any),
    ("netmask", Kind::Mask6),
    ("broadcast", Kind::V6),
    ("gateway", Kind::V6),
    ("hwaddress", Kind::Mac),
    ("mtu", Kind::Int),
    ("scope", Kind::Words(&["global", "site", "link", "host"])),
    ("privext", Kind::Numbers(&[0, 1, 2])),
    ("dhcp", Kind::Numbers(&[0, 1])),
    ("media", Kind::Any),
    ("accept_ra", Kind::Numbers(&[0, 1, 2])),
    ("autoconf", Kind::Numbers(&[0, 1])),
    ("preferred-lifetime", Kind::Int),
    ("dad-attempts", Kind::Int),
    ("dad-interval", Kind::Float),
    ("mode", Kind::Words(MODES)),
    ("endpoint", Kind::V4),
    ("local", Kind::V4),
    ("ttl", Kind::Int),
    ("dns-nameservers", Kind::List),
    ("dns-search", Kind::List),
    ("vlan-raw-device", Kind::Any),
];

const WIRELESS: &[(&str, Kind)] = &[
    ("wireless-essid", Kind::Any),
    ("wireless-mode", Kind::Any),
    ("wpa-ap-scan", Kind::Numbers(&[0, 1, 2])),
    ("wpa-conf", Kind::Any),
    ("wpa-driver", Kind::Any),
    ("wpa-group", Kind::Any),
    ("wpa-key-mgmt", Kind::Any),
    ("wpa-pairwise", Kind::Any),
    ("wpa-psk", Kind::Any),
    ("wpa-proto", Kind::Any),
    ("wpa-roam", Kind::Any),
    ("wpa-ssid", Kind::Any),
];

fn find(family: &str, name: &str) -> Option<Kind> {
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
        Kind::Any => (true, value.clone()),
        Kind::Int => number(&|_| true),
        Kind::Float => match python::float(value) {
            Ok(number) => (true, Value::Float(number)),
            Err(_) => (false, value.clone()),
        },
        Kind::V4 => (
            is_address(value, 32, &|ip| ip.parse::<Ipv4Addr>().is_ok()),
            value.clone(),
        ),
        Kind::V6 => (
            is_address(value, 128, &|ip| ip.parse::<Ipv6Addr>().is_ok()),
            value.clone(),
        ),
        Kind::Mac => (is_mac(&text), value.clone()),
        Kind::Mask4 => match number(&|bits| (0..=32).contains(&bits)) {
            (true, number) => (true, number),
            (false, value) => (is_mask(&text), value),
        },
        Kind::Mask6 => number(&|bits| (0..=128).contains(&bits)),
        Kind::Words(words) => (words.contains(&text.as_str()), text.into()),
        Kind::Numbers(numbers) => number(&|number| numbers.contains(&number)),
        Kind::List => match value {
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
