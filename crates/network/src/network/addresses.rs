//! Addresses and nets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use halite_grains::interfaces::{self, Interface};
use halite_proto::{Map, Value};

use halite_call::{Call, CallError, CallResult, python};

/// A net of either family; bits behind the prefix are cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Net {
    address: IpAddr,
    prefix: u32,
}

impl Net {
    fn new(address: IpAddr, prefix: u32) -> Self {
        let address = match address {
            IpAddr::V4(v4) => Ipv4Addr::from_bits(v4.to_bits() & mask4(prefix)).into(),
            IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & mask6(prefix)).into(),
        };
        Self { address, prefix }
    }

    /// Reads `address/prefix`, `address/mask` or a bare address.
    fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => most,
            Some(prefix) => match prefix.parse::<u32>() {
                Ok(prefix) => prefix,
                Err(_) => from_mask(prefix.parse().ok()?)?,
            },
        };
        (prefix <= most).then(|| Self::new(address, prefix))
    }

    fn contains(&self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4() && Self::new(address, self.prefix) == *self
    }

    fn netmask(&self) -> IpAddr {
        match self.address {
            IpAddr::V4(_) => Ipv4Addr::from_bits(mask4(self.prefix)).into(),
            IpAddr::V6(_) => Ipv6Addr::from_bits(mask6(self.prefix)).into(),
        }
    }

    fn last(&self) -> IpAddr {
        match self.address {
            IpAddr::V4(v4) => Ipv4Addr::from_bits(v4.to_bits() | !mask4(self.prefix)).into(),
            IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() | !mask6(self.prefix)).into(),
        }
    }

    fn size(&self) -> Value {
        let bits = if self.address.is_ipv4() { 32 } else { 128 } - self.prefix;
        match 1_i128.checked_shl(bits).filter(|size| *size > 0) {
            Some(size) => Value::Int(size),
            // What a number cannot hold travels as text.
            None => "340282366920938463463374607431768211456".into(),
        }
    }
}

impl std::fmt::Display for Net {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

fn mask4(prefix: u32) -> u32 {
    u32::MAX.checked_shl(32 - prefix).unwrap_or_default()
}

fn mask6(prefix: u32) -> u128 {
    u128::MAX.checked_shl(128 - prefix).unwrap_or_default()
}

fn from_mask(mask: Ipv4Addr) -> Option<u32> {
    let prefix = mask.to_bits().leading_ones();
    (mask4(prefix) == mask.to_bits()).then_some(prefix)
}

fn bad(text: &str, what: &str) -> CallError {
    CallError::exception(
        "ValueError",
        format!(
            "{} does not appear to be an IPv4 or IPv6 {what}",
            python::repr(&text.into())
        ),
    )
}

fn address(call: &Call<'_>, name: &str) -> Result<IpAddr, CallError> {
    let text = call.text(name);
    text.parse().map_err(|_| bad(&text, "address"))
}

fn texts<T: ToString>(items: impl IntoIterator<Item = T>) -> Value {
    items
        .into_iter()
        .map(|item| Value::from(item.to_string()))
        .collect::<Vec<_>>()
        .into()
}

/// The interfaces that a parameter names, or all.
fn chosen(call: &Call<'_>, name: &str) -> Vec<Interface> {
    let wanted = call.texts(name);
    let mut all = interfaces::read();
    all.retain(|interface| wanted.is_empty() || wanted.contains(&interface.name));
    all
}

fn own(call: &Call<'_>, v6: bool) -> CallResult {
    let mut found = interfaces::addresses(&chosen(call, "interface"), v6);
    if !call.flag("include_loopback") {
        found.retain(|address| !address.is_loopback());
    }
    if let Some(cidr) = call.text_opt("cidr") {
        let net = Net::parse(&cidr);
        found.retain(|address| net.as_ref().is_some_and(|net| net.contains(*address)));
    }
    match call.get("type").and_then(Value::as_str) {
        Some("public") => found.retain(|address| !private(*address)),
        Some("private") => found.retain(|address| private(*address)),
        _ => {}
    }
    Ok(texts(found))
}

pub(super) fn ip_addrs(call: &Call<'_>) -> CallResult {
    own(call, false)
}

pub(super) fn ip_addrs6(call: &Call<'_>) -> CallResult {
    own(call, true)
}

fn nets(interfaces: &[Interface], v6: bool, loopback: bool) -> Vec<Net> {
    let mut nets: Vec<Net> = interfaces
        .iter()
        .flat_map(|interface| -> Vec<(IpAddr, u32)> {
            if v6 {
                let all = interface.inet6.iter();
                all.map(|inet| (inet.address.into(), inet.prefix)).collect()
            } else {
                let all = interface.all_inet();
                all.map(|inet| (inet.address.into(), inet.prefix)).collect()
            }
        })
        .filter(|(address, _)| loopback || !address.is_loopback())
        .map(|(address, prefix)| Net::new(address, prefix))
        .collect();
    nets.sort_unstable();
    nets.dedup();
    nets
}

pub(super) fn subnets(call: &Call<'_>) -> CallResult {
    Ok(texts(nets(&chosen(call, "interfaces"), false, false)))
}

pub(super) fn subnets6(_: &Call<'_>) -> CallResult {
    Ok(texts(nets(&interfaces::read(), true, false)))
}

fn networks(call: &Call<'_>, v6: bool) -> CallResult {
    let nets = nets(
        &chosen(call, "interface"),
        v6,
        call.flag("include_loopback"),
    );
    if !call.flag("verbose") {
        return Ok(texts(nets));
    }
    let described: Map = nets
        .iter()
        .map(|net| {
            let entry = Map::from([
                ("address", Value::from(net.address.to_string())),
                ("netmask", net.netmask().to_string().into()),
                ("num_addresses", net.size()),
                ("prefixlen", net.prefix.into()),
            ]);
            (net.to_string(), entry)
        })
        .collect();
    Ok(described.into())
}

pub(super) fn ip_networks(call: &Call<'_>) -> CallResult {
    networks(call, false)
}

pub(super) fn ip_networks6(call: &Call<'_>) -> CallResult {
    networks(call, true)
}

pub(super) fn in_subnet(call: &Call<'_>) -> CallResult {
    let Some(net) = Net::parse(&call.text("cidr")) else {
        tracing::error!("Invalid CIDR '{}'", call.text("cidr"));
        return Ok(false.into());
    };
    let own = interfaces::read();
    let found = interfaces::addresses(&own, net.address.is_ipv6());
    Ok(found
        .into_iter()
        .any(|address| !address.is_loopback() && net.contains(address))
        .into())
}

pub(super) fn ip_in_subnet(call: &Call<'_>) -> CallResult {
    let address = address(call, "ip_addr")?;
    let net = Net::parse(&call.text("cidr"));
    Ok(net.is_some_and(|net| net.contains(address)).into())
}

pub(super) fn calc_net(call: &Call<'_>) -> CallResult {
    let mut text = call.text("ip_addr");
    if let Some(mask) = call.text_opt("netmask") {
        text = format!("{text}/{mask}");
    }
    let net = Net::parse(&text).ok_or_else(|| bad(&text, "network"))?;
    Ok(net.to_string().into())
}

pub(super) fn convert_cidr(call: &Call<'_>) -> CallResult {
    let text = call.text("cidr");
    let net = Net::parse(&text).ok_or_else(|| bad(&text, "network"))?;
    Ok(Map::from([
        ("network", net.address.to_string()),
        ("netmask", net.netmask().to_string()),
        ("broadcast", net.last().to_string()),
    ])
    .into())
}

pub(super) fn is_loopback(call: &Call<'_>) -> CallResult {
    Ok(address(call, "ip_addr")?.is_loopback().into())
}

pub(super) fn is_private(call: &Call<'_>) -> CallResult {
    Ok(private(address(call, "ip_addr")?).into())
}

/// What Python's `is_private` counts: everything that is not routed publicly.
fn private(address: IpAddr) -> bool {
    const NETS: &[&str] = &[
        "0.0.0.0/8",
        "10.0.0.0/8",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/29",
        "192.0.0.170/31",
        "192.0.2.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "240.0.0.0/4",
        "255.255.255.255/32",
        "::1/128",
        "::/128",
        "::ffff:0:0/96",
        "100::/64",
        "2001::/23",
        "2001:2::/48",
        "2001:db8::/32",
        "2001:10::/28",
        "fc00::/7",
        "fe80::/10",
    ];
    NETS.iter()
        .filter_map(|net| Net::parse(net))
        .any(|net| net.contains(address))
}

pub(super) fn reverse_ip(call: &Call<'_>) -> CallResult {
    Ok(match address(call, "ip_addr")? {
        IpAddr::V4(v4) => {
            let [a, b, c, d] = v4.octets();
            format!("{d}.{c}.{b}.{a}.in-addr.arpa")
        }
        IpAddr::V6(v6) => {
            let mut name = String::new();
            for byte in v6.octets().iter().rev() {
                name.push_str(&format!("{:x}.{:x}.", byte & 0xf, byte >> 4));
            }
            name + "ip6.arpa"
        }
    }
    .into())
}

pub(super) fn iphexval(call: &Call<'_>) -> CallResult {
    let text = call.text("ip");
    let address: Ipv4Addr = text.parse().map_err(|_| bad(&text, "address"))?;
    Ok(format!("{:08X}", address.to_bits()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nets_are_read_in_every_notation() {
        let text = |text| Net::parse(text).map(|net| net.to_string());
        assert_eq!(
            text("192.168.12.13/255.255.0.0").as_deref(),
            Some("192.168.0.0/16")
        );
        assert_eq!(text("10.1.2.3").as_deref(), Some("10.1.2.3/32"));
        assert_eq!(text("fd00::5/64").as_deref(), Some("fd00::/64"));
        assert_eq!(text("0.0.0.0/0").as_deref(), Some("0.0.0.0/0"));
        for wrong in [
            "",
            "x",
            "10.0.0.0/33",
            "10.0.0.0/255.0.255.0",
            "fd00::/129",
            "10.0.0.0/",
        ] {
            assert_eq!(text(wrong), None, "{wrong}");
        }
    }
}
