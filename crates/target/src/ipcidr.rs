//! Addresses and networks against the grains `ipv4` and `ipv6`.

use std::net::IpAddr;

use halite_proto::{Map, Value};

use crate::TargetError;

/// An address or a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IpCidr {
    network: u128,
    mask: u128,
    v6: bool,
}

impl IpCidr {
    /// Reads `10.1.2.3`, `10.0.0.0/8`, `10.0.0.0/255.0.0.0`, `fe80::/10`.
    ///
    /// # Errors
    /// When it is none of these, or when an address is given where a network
    /// should be (`10.0.0.1/8`).
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        let (address, mask) = match text.split_once('/') {
            Some((address, mask)) => (address, Some(mask)),
            None => (text, None),
        };
        let bad_address = || TargetError::new(0, format!("{address:?} is not an IP address"));
        let ip: IpAddr = address.parse().map_err(|_| bad_address())?;
        let mask_at = address.len() + 1;
        let v6 = ip.is_ipv6();
        let mask = match mask {
            None => full_mask(v6),
            Some(mask) => read_mask(mask, v6).ok_or_else(|| {
                TargetError::new(mask_at, format!("{mask:?} is not a network mask"))
            })?,
        };
        let network = bits(ip);
        if network & !mask & full_mask(v6) != 0 {
            let message = format!("{text:?} has host bits set: it is not a network");
            return Err(TargetError::new(mask_at, message));
        }
        Ok(Self { network, mask, v6 })
    }

    /// Whether `address` is this address or in this network.
    pub fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv6() == self.v6 && bits(address) & self.mask == self.network
    }

    /// Whether one of the addresses in `grains` is.
    pub fn matches(&self, grains: &Map) -> bool {
        let addresses = match grains.get(if self.v6 { "ipv6" } else { "ipv4" }) {
            Some(Value::List(items)) => items.as_slice(),
            Some(one) => std::slice::from_ref(one),
            None => return false,
        };
        addresses
            .iter()
            .filter_map(|item| item.as_str()?.parse().ok())
            .any(|address| self.contains(address))
    }
}

fn bits(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => u128::from(u32::from(ip)),
        IpAddr::V6(ip) => u128::from(ip),
    }
}

fn full_mask(v6: bool) -> u128 {
    if v6 { u128::MAX } else { u128::from(u32::MAX) }
}

/// A mask as a number of bits or, for IPv4, as an address.
fn read_mask(text: &str, v6: bool) -> Option<u128> {
    let width: u32 = if v6 { 128 } else { 32 };
    let prefix = |length: u32| {
        let host = u128::MAX.checked_shr(128 - (width - length)).unwrap_or(0);
        full_mask(v6) & !host
    };
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let length: u32 = text.parse().ok()?;
        return (length <= width).then(|| prefix(length));
    }
    let mask: u32 = match text.parse() {
        Ok(IpAddr::V4(mask)) if !v6 => mask.into(),
        _ => return None,
    };
    let netmask = mask.leading_ones() + mask.trailing_zeros() == 32;
    let hostmask = mask.leading_zeros() + mask.trailing_ones() == 32;
    match (netmask, hostmask) {
        (true, _) => Some(prefix(mask.leading_ones())),
        (false, true) => Some(prefix(mask.leading_zeros())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(target: &str, addresses: &[&str], expected: bool) {
        let items = addresses.iter().map(|text| Value::from(*text)).collect();
        let key = if addresses.iter().any(|text| text.contains(':')) {
            "ipv6"
        } else {
            "ipv4"
        };
        let grains = Map::from([(key, Value::List(items))]);
        let target_read = IpCidr::parse(target).unwrap();
        assert_eq!(target_read.matches(&grains), expected, "{target}");
    }

    #[test]
    fn addresses_and_networks_match() {
        check("10.0.0.1", &["127.0.0.1", "10.0.0.1"], true);
        check("10.0.0.1", &["10.0.0.10"], false);
        check("10.0.0.0/8", &["10.200.0.1"], true);
        check("10.0.0.0/255.0.0.0", &["11.0.0.1"], false);
        check("10.0.0.0/0.255.255.255", &["10.9.9.9"], true);
        check("0.0.0.0/0", &["1.2.3.4"], true);
        check("::/0", &["fe80::1"], true);
        check("fe80::/10", &["fe80::1"], true);
        check("fe80::/10", &["2001:db8::1"], false);
        check("2001:db8::1", &["2001:0db8:0::1"], true);
        check("0.0.0.0/0", &["not an address"], false);
    }

    #[test]
    fn what_is_no_network_is_an_error() {
        for (text, offset) in [
            ("", 0),
            ("web1", 0),
            ("10.0.0", 0),
            ("10.0.0.1/8", 9),
            ("10.0.0.0/33", 9),
            ("10.0.0.0/", 9),
            ("10.0.0.0/255.0.255.0", 9),
            ("fe80::/129", 7),
        ] {
            assert_eq!(IpCidr::parse(text).unwrap_err().offset, offset, "{text:?}");
        }
    }
}
