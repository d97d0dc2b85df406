//! Which minions are connected, as Salt sees it: those whose cached grains
//! name an address that has a connection to the publish port.
//!
//! Invariant: this is an estimate by address. It limits (`max_minions`) and
//! informs; it never decides about access to data.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use halite_proto::{Map, Value};

/// The state `ESTABLISHED` in the kernel's tables.
const ESTABLISHED: &str = "01";

/// The remote addresses of the connections to `port` in the text of
/// `/proc/net/tcp` or `/proc/net/tcp6`. Lines that are not understood are
/// skipped.
pub fn remote_addresses(table: &str, port: u16) -> HashSet<IpAddr> {
    table
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_ascii_whitespace();
            let local = fields.nth(1)?;
            let remote = fields.next()?;
            if fields.next()? != ESTABLISHED {
                return None;
            }
            let (_, local_port) = local.split_once(':')?;
            if u16::from_str_radix(local_port, 16).ok()? != port {
                return None;
            }
            parse_address(remote.split_once(':')?.0)
        })
        .collect()
}

/// Adds the host's own addresses where a connection comes from the host.
pub fn with_own_addresses(
    mut remote: HashSet<IpAddr>,
    own: impl IntoIterator<Item = IpAddr>,
) -> HashSet<IpAddr> {
    let v4 = remote.remove(&IpAddr::V4(Ipv4Addr::LOCALHOST));
    let v6 = remote.remove(&IpAddr::V6(Ipv6Addr::LOCALHOST));
    remote.extend(own.into_iter().filter(|address| {
        !address.is_loopback() && (v4 && address.is_ipv4() || v6 && address.is_ipv6())
    }));
    remote
}

/// Whether the grains name one of the addresses.
pub fn is_connected(grains: &Map, remote: &HashSet<IpAddr>) -> bool {
    ["ipv4", "ipv6"]
        .iter()
        .filter_map(|name| grains.get(name).and_then(Value::as_list))
        .flatten()
        .filter_map(|address| address.as_str()?.parse().ok())
        .any(|address| remote.contains(&address))
}

/// An address as the kernel prints it: words of four bytes, each in the
/// machine's byte order.
fn parse_address(hex: &str) -> Option<IpAddr> {
    let word = |at: usize| -> Option<[u8; 4]> {
        let digits = hex.get(at * 8..at * 8 + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    match hex.len() {
        8 => Some(IpAddr::V4(Ipv4Addr::from(word(0)?))),
        32 => {
            let mut bytes = [0; 16];
            for (n, chunk) in bytes.chunks_exact_mut(4).enumerate() {
                chunk.copy_from_slice(&word(n)?);
            }
            let address = Ipv6Addr::from(bytes);
            Some(
                address
                    .to_ipv4_mapped()
                    .map_or(IpAddr::V6(address), IpAddr::V4),
            )
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue
   0: 0100007F:1199 00000000:0000 0A 00000000:00000000
   1: 0100007F:1199 0200007F:C350 01 00000000:00000000
   2: 0100007F:119A 0300007F:C351 01 00000000:00000000
   3: 0100007F:1199 0100007F:C352 01 00000000:00000000
   4: junk
   5: 0100007F:zzzz 0100007F:C352 01 00000000:00000000
";

    fn addresses(texts: &[&str]) -> HashSet<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn connections_to_the_port_are_found() {
        assert_eq!(
            remote_addresses(TABLE, 4505),
            addresses(&["127.0.0.2", "127.0.0.1"])
        );
        let v6 = "0: 00000000000000000000000001000000:1199 \
                  0000000000000000FFFF00000200007F:C350 01 x";
        assert_eq!(remote_addresses(v6, 4505), addresses(&["127.0.0.2"]));
    }

    #[test]
    fn a_connection_from_the_host_stands_for_its_own_addresses() {
        let own = || addresses(&["127.0.0.1", "10.0.0.5", "fe80::1"]);
        assert_eq!(
            with_own_addresses(addresses(&["127.0.0.1", "10.0.0.9"]), own()),
            addresses(&["10.0.0.9", "10.0.0.5"])
        );
        assert_eq!(
            with_own_addresses(addresses(&["10.0.0.9"]), own()),
            addresses(&["10.0.0.9"])
        );
    }

    #[test]
    fn grains_name_the_address() {
        let grains = Map::from([(
            "ipv4",
            Value::List(vec![Value::from("10.0.0.5"), Value::from(3)]),
        )]);
        assert!(is_connected(&grains, &addresses(&["10.0.0.5"])));
        assert!(!is_connected(&grains, &addresses(&["10.0.0.6"])));
        assert!(!is_connected(&Map::new(), &addresses(&["10.0.0.6"])));
    }
}
