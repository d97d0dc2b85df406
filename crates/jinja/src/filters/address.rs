//! Which addresses a filter keeps: by version and by purpose.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address, and the bits of its prefix if it has one (`10.0.0.5/8`).
#[derive(Clone, Copy)]
pub(super) struct Address {
    pub(super) ip: IpAddr,
    pub(super) prefix: Option<u32>,
}

impl Address {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let bare = address.split_once('%').map_or(address, |(bare, _)| bare);
        let ip: IpAddr = bare.parse().ok()?;
        let Some(prefix) = prefix else {
            return Some(Self { ip, prefix: None });
        };
        let width = if ip.is_ipv4() { 32 } else { 128 };
        let bits = match prefix.parse::<u32>() {
            Ok(bits) if bits <= width => bits,
            Ok(_) => return None,
            Err(_) => {
                let mask = u32::from(prefix.parse::<Ipv4Addr>().ok()?);
                let bits = mask.leading_ones();
                (mask.count_ones() == bits).then_some(bits)?
            }
        };
        Some(Self {
            ip,
            prefix: Some(bits),
        })
    }

    pub(super) fn width(self) -> u32 {
        if self.ip.is_ipv4() { 32 } else { 128 }
    }

    /// The text as Python's `ipaddress` writes it.
    pub(super) fn text(self) -> String {
        match self.prefix {
            Some(bits) => format!("{}/{bits}", self.ip),
            None => self.ip.to_string(),
        }
    }

    /// Whether it is all of what is asked for (`private,loopback`); words that
    /// ask for nothing are ignored, as in Salt.
    pub(super) fn is_all(self, options: &str) -> bool {
        options.split(',').all(|option| match option.trim() {
            "global" | "public" => !is_private(self.ip),
            "link-local" | "linklocal" | "ll" | "link_local" => is_link_local(self.ip),
            "loopback" | "lo" => self.ip.is_loopback(),
            "multicast" => self.ip.is_multicast(),
            "private" => is_private(self.ip),
            "reserved" => is_reserved(self.ip),
            "site-local" | "sl" | "site_local" => is_in(self.ip, &[("fec0::", 10)]),
            "unspecified" => self.ip.is_unspecified(),
            _ => true,
        })
    }
}

fn number(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(v4) => u32::from(v4).into(),
        IpAddr::V6(v6) => v6.into(),
    }
}

fn is_in(ip: IpAddr, networks: &[(&str, u32)]) -> bool {
    networks.iter().any(|(start, bits)| {
        let start: Option<IpAddr> = start.parse().ok();
        start.is_some_and(|start| {
            let width = if ip.is_ipv4() { 32 } else { 128 };
            let differ = number(start) ^ number(ip);
            start.is_ipv4() == ip.is_ipv4()
                && differ.checked_shr(width - bits).unwrap_or_default() == 0
        })
    })
}

/// `is_private` of CPython 3.11.
fn is_private(ip: IpAddr) -> bool {
    is_in(
        ip,
        &[
            ("0.0.0.0", 8),
            ("10.0.0.0", 8),
            ("127.0.0.0", 8),
            ("169.254.0.0", 16),
            ("172.16.0.0", 12),
            ("192.0.0.0", 29),
            ("192.0.0.170", 31),
            ("192.0.2.0", 24),
            ("192.168.0.0", 16),
            ("198.18.0.0", 15),
            ("198.51.100.0", 24),
            ("203.0.113.0", 24),
            ("240.0.0.0", 4),
            ("::", 127),
            ("::ffff:0:0", 96),
            ("100::", 64),
            ("2001::", 23),
            ("2001:db8::", 32),
            ("fc00::", 7),
            ("fe80::", 10),
        ],
    )
}

fn is_link_local(ip: IpAddr) -> bool {
    is_in(ip, &[("169.254.0.0", 16), ("fe80::", 10)])
}

/// `is_reserved` of CPython 3.11.
fn is_reserved(ip: IpAddr) -> bool {
    is_in(
        ip,
        &[
            ("240.0.0.0", 4),
            ("::", 8),
            ("100::", 8),
            ("200::", 7),
            ("400::", 6),
            ("800::", 5),
            ("1000::", 4),
            ("4000::", 3),
            ("6000::", 3),
            ("8000::", 3),
            ("a000::", 3),
            ("c000::", 3),
            ("e000::", 4),
            ("f000::", 5),
            ("f800::", 6),
            ("fe00::", 9),
        ],
    )
}

/// The address with this number, of this many bits.
pub(super) fn of_number(number: u128, width: u32) -> IpAddr {
    match u32::try_from(number) {
        Ok(number) if width == 32 => IpAddr::V4(Ipv4Addr::from(number)),
        _ => IpAddr::V6(Ipv6Addr::from(number)),
    }
}

/// The number of an address.
pub(super) fn to_number(ip: IpAddr) -> u128 {
    number(ip)
}
