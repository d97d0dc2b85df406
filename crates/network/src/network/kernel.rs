//! Routes, neighbours and connections, from the kernel's tables.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use halite_proto::{Map, Value};

use halite_call::{Call, CallError, CallResult};

const UP: u32 = 0x1;
const GATEWAY: u32 = 0x2;
const HOST: u32 = 0x4;
const REJECT: u32 = 0x200;
const NO_NEXT_HOP: u32 = 0x20_0000;

fn flag_letters(flags: u32, v6: bool) -> String {
    let mut letters = String::new();
    for (flag, letter) in [(REJECT, '!'), (UP, 'U'), (GATEWAY, 'G')] {
        if flags & flag != 0 {
            letters.push(letter);
        }
    }
    // IPv6 shows host routes by their prefix.
    if flags & HOST != 0 && !v6 {
        letters.push('H');
    }
    if flags & NO_NEXT_HOP != 0 && v6 {
        letters.push('n');
    }
    letters
}

fn route(family: &str, fields: [String; 3], flags: String, interface: &str) -> Map {
    let [destination, gateway, netmask] = fields;
    Map::from([
        ("addr_family", family.to_owned()),
        ("destination", destination),
        ("gateway", gateway),
        ("netmask", netmask),
        ("flags", flags),
        ("interface", interface.to_owned()),
    ])
}

fn parse_v4(text: &str) -> Vec<Map> {
    let address = |hex: &str| {
        let bits = u32::from_str_radix(hex, 16).ok()?;
        // The file shows addresses in the machine's own byte order.
        Some(Ipv4Addr::from(bits.to_ne_bytes()).to_string())
    };
    text.lines()
        .skip(1)
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [interface, destination, gateway, flags, _, _, _, mask, ..] = fields.as_slice()
            else {
                return None;
            };
            let flags = u32::from_str_radix(flags, 16).ok()?;
            let addresses = [address(destination)?, address(gateway)?, address(mask)?];
            Some(route(
                "inet",
                addresses,
                flag_letters(flags, false),
                interface,
            ))
        })
        .collect()
}

fn parse_v6(text: &str) -> Vec<Map> {
    let address = |hex: &str| {
        let bits = u128::from_str_radix(hex, 16).ok()?;
        Some(Ipv6Addr::from_bits(bits).to_string())
    };
    text.lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [net, prefix, _, _, gateway, _, _, _, flags, interface] = fields.as_slice() else {
                return None;
            };
            let prefix = u32::from_str_radix(prefix, 16).ok()?;
            let flags = u32::from_str_radix(flags, 16).ok()?;
            let destination = format!("{}/{prefix}", address(net)?);
            let fields = [destination, address(gateway)?, String::new()];
            Some(route("inet6", fields, flag_letters(flags, true), interface))
        })
        .collect()
}

fn all_routes(call: &Call<'_>) -> Result<Vec<Map>, CallError> {
    let family = call.text_opt("family");
    if let Some(family) = family
        .as_deref()
        .filter(|family| !matches!(*family, "inet" | "inet6"))
    {
        return Err(CallError::command(format!(
            "Invalid address family {family}"
        )));
    }
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let mut routes = Vec::new();
    if family.as_deref() != Some("inet6") {
        routes.extend(parse_v4(&read("/proc/net/route")));
    }
    if family.as_deref() != Some("inet") {
        routes.extend(parse_v6(&read("/proc/net/ipv6_route")));
    }
    Ok(routes)
}

fn values(maps: impl IntoIterator<Item = Map>) -> Value {
    maps.into_iter().map(Value::from).collect::<Vec<_>>().into()
}

pub(super) fn routes(call: &Call<'_>) -> CallResult {
    Ok(values(all_routes(call)?))
}

pub(super) fn default_route(call: &Call<'_>) -> CallResult {
    let is_default = |route: &Map| {
        let destination = route.get("destination").and_then(Value::as_str);
        let mask = route.get("netmask").and_then(Value::as_str);
        destination == Some("::/0") || (destination == Some("0.0.0.0") && mask == Some("0.0.0.0"))
    };
    Ok(values(all_routes(call)?.into_iter().filter(is_default)))
}

pub(super) fn arp(_: &Call<'_>) -> CallResult {
    let text = fs::read_to_string("/proc/net/arp").unwrap_or_default();
    let neighbours = text.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [address, _, _, hwaddr, ..] = fields.as_slice() else {
            return None;
        };
        (*hwaddr != "00:00:00:00:00:00").then_some((*hwaddr, *address))
    });
    Ok(neighbours.collect::<Map>().into())
}

pub(super) fn active_tcp(_: &Call<'_>) -> CallResult {
    let mut connections = Map::new();
    for path in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = fs::read_to_string(path).unwrap_or_default();
        for (local, remote) in text.lines().skip(1).filter_map(established) {
            let entry = Map::from([
                ("local_addr", Value::from(local.0.to_string())),
                ("local_port", local.1.into()),
                ("remote_addr", remote.0.to_string().into()),
                ("remote_port", remote.1.into()),
            ]);
            connections.insert(connections.len().to_string(), entry);
        }
    }
    Ok(connections.into())
}

type End = (IpAddr, u16);

/// The two ends of a line's connection, if it is established.
fn established(line: &str) -> Option<(End, End)> {
    const ESTABLISHED: &str = "01";
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [_, local, remote, state, ..] = fields.as_slice() else {
        return None;
    };
    (*state == ESTABLISHED).then_some((end(local)?, end(remote)?))
}

/// `0100007F:1F90`: words in the machine's byte order, and a port.
fn end(text: &str) -> Option<End> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| u32::from_str_radix(address.get(at..at + 8)?, 16).ok();
    let address = if address.len() == 8 {
        Ipv4Addr::from(word(0)?.to_ne_bytes()).into()
    } else {
        let mut bytes = Vec::with_capacity(16);
        for at in [0, 8, 16, 24] {
            bytes.extend(word(at)?.to_ne_bytes());
        }
        let v6 = Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?);
        v6.to_ipv4_mapped().map_or(IpAddr::V6(v6), IpAddr::V4)
    };
    Some((address, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_look_as_netstat_shows_them() {
        let zero = "0".repeat(32);
        let text = format!(
            "fd000000000000000000000000000000 40 {zero} 00 {zero} 00000100 1 0 00000001     eth0\n\
             {zero} 00 {zero} 00 fd000000000000000000000000000001 00000400 1 0 00000003     eth0\n\
             {zero} 00 {zero} 00 {zero} ffffffff 1 0 00200200       lo\n"
        );
        let shown: Vec<String> = parse_v6(&text)
            .iter()
            .map(|route| {
                let get = |key: &str| route.get(key).and_then(Value::as_str).unwrap().to_owned();
                format!(
                    "{} {} {} {}",
                    get("destination"),
                    get("gateway"),
                    get("flags"),
                    get("interface")
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                "fd00::/64 :: U eth0",
                "::/0 fd00::1 UG eth0",
                "::/0 :: !n lo"
            ]
        );
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn ends_of_connections_are_read() {
        assert_eq!(end("0100007F:1F90"), Some(([127, 0, 0, 1].into(), 8080)));
        assert_eq!(
            end("0000000000000000FFFF00000100007F:0016"),
            Some(([127, 0, 0, 1].into(), 22))
        );
        assert_eq!(end("01:0"), None);
    }
}
