//! Network interfaces and their addresses, as the kernel has them.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use halite_proto::{Map, Value};
use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;

/// An interface.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// The interface it stands on, if any.
    pub parent: Option<String>,
    /// Whether it is up.
    pub up: bool,
    /// Its hardware address.
    pub hwaddr: Option<String>,
    /// Its IPv4 addresses, the first of each net.
    pub inet: Vec<Inet>,
    /// Its IPv6 addresses.
    pub inet6: Vec<Inet6>,
    /// Further IPv4 addresses in nets that it has an address in.
    pub secondary: Vec<Inet>,
}

/// An IPv4 address of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inet {
    /// The address.
    pub address: Ipv4Addr,
    /// Bits of the net.
    pub prefix: u32,
    /// The broadcast address, if one is set.
    pub broadcast: Option<Ipv4Addr>,
    /// The name the address goes by (`eth0:1`).
    pub label: String,
}

/// An IPv6 address of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inet6 {
    /// The address.
    pub address: Ipv6Addr,
    /// Bits of the net.
    pub prefix: u32,
}

impl Inet {
    /// The mask of the net.
    pub fn netmask(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(u32::MAX.checked_shl(32 - self.prefix).unwrap_or_default())
    }

    /// The first address of the net.
    pub fn network(&self) -> Ipv4Addr {
        self.address & self.netmask()
    }
}

impl Inet6 {
    /// How far the address is known.
    pub fn scope(&self) -> &'static str {
        let first = self.address.segments()[0];
        if self.address.is_loopback() {
            "host"
        } else if first & 0xffc0 == 0xfe80 {
            "link"
        } else if first & 0xffc0 == 0xfec0 {
            "site"
        } else {
            "global"
        }
    }

    /// The first address of the net.
    pub fn network(&self) -> Ipv6Addr {
        let mask = u128::MAX.checked_shl(128 - self.prefix).unwrap_or_default();
        Ipv6Addr::from_bits(self.address.to_bits() & mask)
    }
}

impl Interface {
    /// All IPv4 addresses.
    pub fn all_inet(&self) -> impl Iterator<Item = &Inet> {
        self.inet.iter().chain(&self.secondary)
    }

    /// The interface as `network.interfaces` shows it.
    pub fn to_value(&self) -> Map {
        let mut map = Map::new();
        map.insert("up", self.up);
        if let Some(parent) = &self.parent {
            map.insert("parent", parent.as_str());
        }
        if let Some(hwaddr) = &self.hwaddr {
            map.insert("hwaddr", hwaddr.as_str());
        }
        if !self.inet.is_empty() {
            let inet: Vec<Value> = self
                .inet
                .iter()
                .map(|inet| inet_value(inet).into())
                .collect();
            map.insert("inet", inet);
        }
        if !self.inet6.is_empty() {
            let inet6 = self.inet6.iter().map(|inet| {
                Map::from([
                    ("address", Value::from(inet.address.to_string())),
                    ("prefixlen", inet.prefix.to_string().into()),
                    ("scope", inet.scope().into()),
                ])
                .into()
            });
            map.insert("inet6", inet6.collect::<Vec<Value>>());
        }
        if !self.secondary.is_empty() {
            let secondary = self.secondary.iter().map(|inet| {
                let mut map = Map::from([("type", Value::from("inet"))]);
                map.extend(inet_value(inet));
                map.into()
            });
            map.insert("secondary", secondary.collect::<Vec<Value>>());
        }
        map
    }
}

fn inet_value(inet: &Inet) -> Map {
    Map::from([
        ("address", Value::from(inet.address.to_string())),
        ("netmask", inet.netmask().to_string().into()),
        (
            "broadcast",
            inet.broadcast.map(|address| address.to_string()).into(),
        ),
        ("label", inet.label.as_str().into()),
    ])
}

/// All interfaces, in the order of their numbers.
pub fn read() -> Vec<Interface> {
    let mut found: Vec<(u32, Interface)> = Vec::new();
    let Ok(entries) = getifaddrs() else {
        return Vec::new();
    };
    for entry in entries {
        let label = entry.interface_name.clone();
        let name = label.split(':').next().unwrap_or_default().to_owned();
        let at = match found.iter().position(|(_, known)| known.name == name) {
            Some(at) => at,
            None => {
                found.push(from_sys(&name));
                found.len() - 1
            }
        };
        let interface = &mut found[at].1;
        interface.up |= entry.flags.contains(InterfaceFlags::IFF_UP);
        let Some(address) = entry.address else {
            continue;
        };
        let mask = entry.netmask;
        if let Some(address) = address.as_sockaddr_in() {
            let prefix = mask
                .and_then(|mask| {
                    mask.as_sockaddr_in()
                        .map(|mask| mask.ip().to_bits().count_ones())
                })
                .unwrap_or(32);
            let broadcast = entry
                .broadcast
                .and_then(|broadcast| broadcast.as_sockaddr_in().map(|broadcast| broadcast.ip()));
            add_inet(
                interface,
                Inet {
                    address: address.ip(),
                    prefix,
                    broadcast,
                    label,
                },
            );
        } else if let Some(address) = address.as_sockaddr_in6() {
            let prefix = mask
                .and_then(|mask| {
                    mask.as_sockaddr_in6()
                        .map(|mask| mask.ip().to_bits().count_ones())
                })
                .unwrap_or(128);
            interface.inet6.push(Inet6 {
                address: address.ip(),
                prefix,
            });
        }
    }
    found.sort_by_key(|(index, _)| *index);
    found.into_iter().map(|(_, interface)| interface).collect()
}

/// The kernel calls every further address of a net secondary.
fn add_inet(interface: &mut Interface, inet: Inet) {
    let net = |inet: &Inet| (inet.network(), inet.prefix);
    if interface.inet.iter().any(|known| net(known) == net(&inet)) {
        interface.secondary.push(inet);
    } else {
        interface.inet.push(inet);
    }
}

fn from_sys(name: &str) -> (u32, Interface) {
    let read = |name: &str, file: &str| {
        let text = fs::read_to_string(format!("/sys/class/net/{name}/{file}")).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let number = |name: &str, file: &str| read(name, file)?.parse::<u32>().ok();
    let index = number(name, "ifindex").unwrap_or(u32::MAX);
    let parent = number(name, "iflink")
        .filter(|link| *link != index && *link != 0)
        .map(|link| {
            fs::read_dir("/sys/class/net")
                .into_iter()
                .flatten()
                .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
                .find(|other| number(other, "ifindex") == Some(link))
                .unwrap_or_else(|| format!("if{link}"))
        });
    let interface = Interface {
        name: name.to_owned(),
        parent,
        hwaddr: read(name, "address"),
        ..Interface::default()
    };
    (index, interface)
}

/// Every address of one kind, in numeric order, each once.
pub fn addresses(interfaces: &[Interface], v6: bool) -> Vec<IpAddr> {
    let mut all: Vec<IpAddr> = if v6 {
        interfaces
            .iter()
            .flat_map(|interface| &interface.inet6)
            .map(|inet| inet.address.into())
            .collect()
    } else {
        interfaces
            .iter()
            .flat_map(Interface::all_inet)
            .map(|inet| inet.address.into())
            .collect()
    };
    all.sort_unstable();
    all.dedup();
    all
}

pub(crate) fn hwaddr_grain(interfaces: &[Interface], grains: &mut Map) {
    let addresses: Map = interfaces
        .iter()
        .filter_map(|interface| Some((interface.name.as_str(), interface.hwaddr.as_deref()?)))
        .collect();
    grains.insert("hwaddr_interfaces", addresses);
}

fn texts<T: ToString>(addresses: impl Iterator<Item = T>) -> Value {
    addresses
        .map(|address| Value::from(address.to_string()))
        .collect::<Vec<_>>()
        .into()
}

/// `ip4_interfaces` and `ip6_interfaces`.
pub(crate) fn address_grains(interfaces: &[Interface], grains: &mut Map) {
    let v4: Map = interfaces
        .iter()
        .map(|interface| {
            let addresses = interface.all_inet().map(|inet| inet.address);
            (interface.name.as_str(), texts(addresses))
        })
        .collect();
    let v6: Map = interfaces
        .iter()
        .map(|interface| {
            let addresses = interface.inet6.iter().map(|inet| inet.address);
            (interface.name.as_str(), texts(addresses))
        })
        .collect();
    grains.insert("ip4_interfaces", v4);
    grains.insert("ip6_interfaces", v6);
}

/// `ip_interfaces`.
pub(crate) fn all_addresses_grain(interfaces: &[Interface], grains: &mut Map) {
    let all: Map = interfaces
        .iter()
        .map(|interface| {
            let inet = interface.inet.iter().map(|inet| IpAddr::from(inet.address));
            let inet6 = interface
                .inet6
                .iter()
                .map(|inet| IpAddr::from(inet.address));
            let more = interface
                .secondary
                .iter()
                .map(|inet| IpAddr::from(inet.address));
            (
                interface.name.as_str(),
                texts(inet.chain(inet6).chain(more)),
            )
        })
        .collect();
    grains.insert("ip_interfaces", all);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_address_of_a_net_is_secondary() {
        let inet = |address: [u8; 4], prefix| Inet {
            address: address.into(),
            prefix,
            broadcast: None,
            label: "e".to_owned(),
        };
        let mut interface = Interface::default();
        add_inet(&mut interface, inet([10, 0, 0, 1], 24));
        add_inet(&mut interface, inet([10, 0, 0, 2], 24));
        add_inet(&mut interface, inet([10, 0, 1, 2], 24));
        assert_eq!(interface.inet.len(), 2);
        assert_eq!(interface.secondary[0].address, Ipv4Addr::new(10, 0, 0, 2));
        assert_eq!(inet([10, 1, 2, 3], 0).netmask(), Ipv4Addr::UNSPECIFIED);
        assert_eq!(
            inet([10, 1, 2, 3], 32).network(),
            Ipv4Addr::new(10, 1, 2, 3)
        );
    }

    #[test]
    fn this_machine_has_a_loopback() {
        let all = read();
        let lo = all.iter().find(|interface| interface.name == "lo").unwrap();
        assert!(
            lo.inet
                .iter()
                .any(|inet| inet.address.is_loopback() && inet.prefix == 8)
        );
    }
}
