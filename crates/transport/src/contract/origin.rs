//! The origin of a connection, for shares and turns.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// The address of a sender: an IPv4 address, or a 64-bit network of IPv6, since whoever
/// has one address of it has them all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// A program on this machine, by a socket file.
    Local,
    /// An address on the network; of IPv6 its network.
    Address(IpAddr),
}

impl Origin {
    /// The sender behind an address; local programs have none.
    pub fn of(address: Option<IpAddr>) -> Self {
        const NETWORK: u128 = !0 << 64;
        match address.map(|address| address.to_canonical()) {
            None => Self::Local,
            Some(IpAddr::V6(v6)) => {
                Self::Address(Ipv6Addr::from_bits(v6.to_bits() & NETWORK).into())
            }
            Some(v4) => Self::Address(v4),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("this machine"),
            Self::Address(IpAddr::V6(network)) => write!(f, "{network}/64"),
            Self::Address(address) => write!(f, "{address}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_one_address_of_a_network_has_all() {
        let of = |text: &str| Origin::of(Some(text.parse().unwrap()));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
        assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
        assert_eq!(of("2001:db8::1").to_string(), "2001:db8::/64");
    }
}
