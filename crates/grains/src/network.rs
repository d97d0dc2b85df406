//! The machine's names, name servers and gateways.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs};
use std::process::Stdio;

use halite_process::child;
use halite_proto::{Map, Value};

use crate::files::Root;
use crate::interfaces::{Interface, addresses};
use crate::text;

/// `localhost`, `fqdn`, `host` and `domain`.
pub(crate) fn host_names(root: &Root, grains: &mut Map) {
    let name = host_name(root);
    let full = full_name(root, &name);
    let (host, domain) = full.split_once('.').unwrap_or((&full, ""));
    grains.insert("localhost", name);
    grains.insert("fqdn", full.as_str());
    grains.insert("host", host);
    grains.insert("domain", domain);
}

fn host_name(root: &Root) -> String {
    root.value("/proc/sys/kernel/hostname").unwrap_or_default()
}

/// The machine's full name, as `socket.getaddrinfo` finds it: the first name
/// of its line in `/etc/hosts`, else what the name service calls it.
pub fn fqdn() -> String {
    let root = Root::new("/".as_ref());
    full_name(&root, &host_name(&root))
}

fn full_name(root: &Root, host: &str) -> String {
    if host.is_empty() {
        return "localhost.localdomain".to_owned();
    }
    let hosts = Hosts::read(root);
    if let Some(line) = hosts
        .0
        .iter()
        .find(|line| line.names.iter().any(|name| name == host))
    {
        return line.names[0].clone();
    }
    if root.is_real() {
        ask_name_service(host).unwrap_or_else(|| host.to_owned())
    } else {
        host.to_owned()
    }
}

/// `getent ahosts` prints the canonical name behind the first address.
fn ask_name_service(host: &str) -> Option<String> {
    let output = child::command("getent")
        .args(["ahosts", host])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let name = text.lines().next()?.split_whitespace().nth(2)?;
    Some(name.to_owned())
}

/// The lines of `/etc/hosts`.
struct Hosts(Vec<HostLine>);

struct HostLine {
    address: IpAddr,
    names: Vec<String>,
}

impl Hosts {
    fn read(root: &Root) -> Self {
        let file = root.text("/etc/hosts").unwrap_or_default();
        let lines = file.lines().filter_map(|line| {
            let line = line.split('#').next().unwrap_or_default();
            let mut words = line.split_whitespace();
            let address = words.next()?.parse().ok()?;
            let names: Vec<String> = words.map(str::to_owned).collect();
            (!names.is_empty()).then_some(HostLine { address, names })
        });
        Self(lines.collect())
    }

    fn names_of(&self, address: IpAddr) -> impl Iterator<Item = &String> {
        self.0
            .iter()
            .find(|line| line.address == address)
            .into_iter()
            .flat_map(|line| &line.names)
    }
}

/// `fqdns`, as far as `/etc/hosts` tells.
pub(crate) fn fqdns(root: &Root, wanted: bool, interfaces: &[Interface], grains: &mut Map) {
    let mut names = Vec::new();
    if wanted {
        let hosts = Hosts::read(root);
        for address in outside_addresses(interfaces) {
            names.extend(hosts.names_of(address).cloned());
        }
    }
    grains.insert("fqdns", sorted(names));
}

/// The names of all addresses of this machine; asks the name service, which
/// may take seconds for each address.
pub fn resolve_fqdns() -> Vec<Value> {
    let hosts = Hosts::read(&Root::new("/".as_ref()));
    let interfaces = crate::interfaces::read();
    let asked: Vec<_> = outside_addresses(&interfaces)
        .into_iter()
        .map(|address| {
            let known: Vec<String> = hosts.names_of(address).cloned().collect();
            let child = known.is_empty().then(|| {
                child::command("getent")
                    .args(["hosts", &address.to_string()])
                    .stdin(Stdio::null())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::null())
                    .spawn()
                    .ok()
            });
            (known, child.flatten())
        })
        .collect();
    let mut names = Vec::new();
    for (known, child) in asked {
        names.extend(known);
        let output = child.and_then(|child| child.wait_with_output().ok());
        if let Some(output) = output {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            names.extend(text.split_whitespace().skip(1).map(str::to_owned));
        }
    }
    sorted(names)
}

fn sorted(mut names: Vec<String>) -> Vec<Value> {
    names.sort();
    names.dedup();
    names.into_iter().map(Value::from).collect()
}

fn outside_addresses(interfaces: &[Interface]) -> Vec<IpAddr> {
    let mut all = addresses(interfaces, false);
    all.extend(addresses(interfaces, true));
    all.retain(|address| !address.is_loopback());
    all
}

/// `ipv4`, `ipv6`, and the addresses of the machine's own name.
pub(crate) fn own_addresses(root: &Root, interfaces: &[Interface], grains: &mut Map) {
    let list = |addresses: Vec<IpAddr>| -> Vec<Value> {
        addresses
            .iter()
            .map(|address| Value::from(address.to_string()))
            .collect()
    };
    let (v4, v6) = (
        list(addresses(interfaces, false)),
        list(addresses(interfaces, true)),
    );
    let (any4, any6) = (!v4.is_empty(), !v6.is_empty());
    grains.insert("ipv4", v4);
    grains.insert("ipv6", v6);
    let mut named = named_addresses(root, text(grains, "fqdn"));
    named.dedup();
    let of = |v6: bool, wanted: bool| {
        let some = named
            .iter()
            .copied()
            .filter(|address| wanted && address.is_ipv6() == v6);
        list(some.collect())
    };
    grains.insert("fqdn_ip4", of(false, any4));
    grains.insert("fqdn_ip6", of(true, any6));
}

fn named_addresses(root: &Root, name: &str) -> Vec<IpAddr> {
    let hosts = Hosts::read(root);
    let mut found: Vec<IpAddr> = hosts
        .0
        .iter()
        .filter(|line| line.names.iter().any(|known| known == name))
        .map(|line| line.address)
        .collect();
    if found.is_empty() && root.is_real() && !name.is_empty() {
        found = (name, 0)
            .to_socket_addrs()
            .map(|addresses| addresses.map(|address| address.ip()).collect())
            .unwrap_or_default();
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// `dns`: what the resolver is told.
pub(crate) fn dns(root: &Root, grains: &mut Map) {
    let file = root
        .text("/run/systemd/resolve/resolv.conf")
        .or_else(|| root.text("/etc/resolv.conf"));
    if let Some(text) = file {
        grains.insert("dns", resolver(&text));
    }
}

fn resolver(text: &str) -> Map {
    let (mut all, mut v4, mut v6) = (Vec::new(), Vec::new(), Vec::new());
    let (mut search, mut sortlist, mut options) = (Vec::new(), Vec::new(), Vec::new());
    let mut domain = "";
    let add = |list: &mut Vec<Value>, value: Value| {
        if !list.contains(&value) {
            list.push(value);
        }
    };
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let directive = words.next().unwrap_or_default().to_lowercase();
        let args: Vec<&str> = words
            .take_while(|word| !word.starts_with(['#', ';']))
            .collect();
        let Some(first) = args.first() else {
            continue;
        };
        match directive.as_str() {
            "nameserver" => {
                if let Ok(address) = first.parse::<IpAddr>() {
                    let text = Value::from(address.to_string());
                    let list = if address.is_ipv4() { &mut v4 } else { &mut v6 };
                    add(list, text.clone());
                    add(&mut all, text);
                }
            }
            "domain" => domain = first,
            "search" => search = args.iter().map(|name| Value::from(*name)).collect(),
            "sortlist" => {
                for net in args.iter().filter_map(|net| with_netmask(net)) {
                    add(&mut sortlist, net.into());
                }
            }
            "options" => add(&mut options, (*first).into()),
            _ => {}
        }
    }
    Map::from([
        ("nameservers", Value::List(all)),
        ("ip4_nameservers", v4.into()),
        ("ip6_nameservers", v6.into()),
        ("sortlist", sortlist.into()),
        ("domain", domain.into()),
        ("search", search.into()),
        ("options", options.into()),
    ])
}

/// `10.0.0.0/8` as `10.0.0.0/255.0.0.0`; without a mask, that of the class.
fn with_netmask(net: &str) -> Option<String> {
    let (address, mask) = net
        .split_once('/')
        .map_or((net, None), |(address, mask)| (address, Some(mask)));
    let address: Ipv4Addr = address.parse().ok()?;
    let mask = match mask {
        Some(mask) if mask.contains('.') => mask.parse().ok()?,
        Some(bits) => {
            let bits: u32 = bits.parse().ok().filter(|bits| *bits <= 32)?;
            Ipv4Addr::from_bits(u32::MAX.checked_shl(32 - bits).unwrap_or_default())
        }
        None => match address.octets()[0] {
            0..=127 => Ipv4Addr::new(255, 0, 0, 0),
            128..=191 => Ipv4Addr::new(255, 255, 0, 0),
            _ => Ipv4Addr::new(255, 255, 255, 0),
        },
    };
    Some(format!("{}/{mask}", address & mask))
}

/// `ip_gw`, `ip4_gw` and `ip6_gw`.
pub(crate) fn gateways(root: &Root, grains: &mut Map) {
    let v4 = root
        .text("/proc/net/route")
        .and_then(|text| default_v4(&text));
    let v6 = root
        .text("/proc/net/ipv6_route")
        .and_then(|text| default_v6(&text));
    grains.insert("ip_gw", v4.is_some() || v6.is_some());
    grains.insert("ip4_gw", v4.unwrap_or(Value::Bool(false)));
    grains.insert("ip6_gw", v6.unwrap_or(Value::Bool(false)));
}

/// The gateway, or `True` for a default route without one.
fn default_v4(text: &str) -> Option<Value> {
    text.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, "00000000", gateway, _, _, _, _, "00000000", ..] = fields.as_slice() else {
            return None;
        };
        let gateway = u32::from_str_radix(gateway, 16).ok()?;
        // The file shows addresses in the machine's own byte order.
        let address = Ipv4Addr::from(gateway.to_ne_bytes());
        Some(if address.is_unspecified() {
            true.into()
        } else {
            address.to_string().into()
        })
    })
}

fn default_v6(text: &str) -> Option<Value> {
    const REJECT: u32 = 0x0200;
    text.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [net, "00", _, _, gateway, _, _, _, flags, device] = fields.as_slice() else {
            return None;
        };
        let flags = u32::from_str_radix(flags, 16).ok()?;
        if u128::from_str_radix(net, 16).ok()? != 0 || flags & REJECT != 0 || *device == "lo" {
            return None;
        }
        let address = Ipv6Addr::from_bits(u128::from_str_radix(gateway, 16).ok()?);
        Some(if address.is_unspecified() {
            true.into()
        } else {
            address.to_string().into()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resolver_file_is_read_as_salt_reads_it() {
        let dns = resolver(
            "# c\nnameserver 10.0.0.1 # x\nnameserver fd00::1\nnameserver bad\nsearch a.b c.d\n\
             sortlist 10.0.0.0 130.155.160.0/255.255.240.0\noptions ndots:2 rotate\noptions ndots:2\n",
        );
        let text =
            |key: &str| halite_yaml::dump(dns.get(key).unwrap(), halite_yaml::DumpOptions::flow());
        assert_eq!(text("nameservers").trim(), "[10.0.0.1, 'fd00::1']");
        assert_eq!(
            text("sortlist").trim(),
            "[10.0.0.0/255.0.0.0, 130.155.160.0/255.255.240.0]"
        );
        assert_eq!(text("search").trim(), "[a.b, c.d]");
        assert_eq!(text("options").trim(), "['ndots:2']");
    }

    #[test]
    fn the_default_route_is_found() {
        let v4 = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\n\
                  eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n\
                  eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n";
        if cfg!(target_endian = "little") {
            assert_eq!(default_v4(v4), Some("192.0.2.1".into()));
        }
        let zero = "0".repeat(32);
        let v6 = format!(
            "{zero} 00 {zero} 00 {zero} ffffffff 00000001 00000000 00200200       lo\n\
             {zero} 00 {zero} 00 fd000000000000000000000000000001 00000400 1 0 00000003     eth0\n"
        );
        assert_eq!(default_v6(&v6), Some("fd00::1".into()));
    }
}
