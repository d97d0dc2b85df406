//! A guess whether a silent minion has a connection to this master.
//!
//! Salt compares the addresses in a minion's cached grains with those that have a
//! connection to the publish port (`CkMinions.connected_ids`, 3008.5). Behind a
//! gateway the guess is wrong, so it only chooses between two texts for people. It
//! is made only when a minion is missing.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use halite_proto::{Map, MinionId};
use halite_store::{Bank, MinionData};

use super::ClientSettings;

/// Established, in the table of connections.
const ESTABLISHED: &str = "01";

/// Most minions that are looked at to see whether anybody is connected at all.
const MINIONS_LOOKED_AT_MAX: usize = 1000;

/// Who seems to have a connection.
pub(super) struct Connected {
    /// What the master knows of its minions.
    data: MinionData,
    addresses: BTreeSet<IpAddr>,
    /// The guess is of use: it finds somebody.
    is_usable: bool,
}

impl Connected {
    /// Looks at the connections of this machine.
    pub(super) fn read(settings: &ClientSettings) -> Self {
        let mut addresses = BTreeSet::new();
        for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
            let text = fs::read_to_string(table).unwrap_or_default();
            addresses.extend(remotes(&text, settings.publish_port));
        }
        if addresses.iter().any(IpAddr::is_loopback) {
            addresses.retain(|address| !address.is_loopback());
            addresses.extend(own_addresses());
        }
        let mut connected = Self {
            data: settings.store().data,
            addresses,
            is_usable: false,
        };
        connected.is_usable = settings.minion_data_cache
            && !connected.addresses.is_empty()
            && connected.finds_anybody();
        connected
    }

    /// Whether the minion is known and none of its addresses has a connection.
    pub(super) fn is_surely_not(&self, id: &str) -> bool {
        if !self.is_usable {
            return false;
        }
        let Ok(id) = MinionId::parse(id) else {
            return false;
        };
        self.known_addresses(&id)
            .is_some_and(|known| known.is_disjoint(&self.addresses))
    }

    /// Whether one of the known minions is connected. A store that fails is not asked
    /// again and again.
    fn finds_anybody(&self) -> bool {
        let ids = self.data.ids(Bank::Grains).unwrap_or_default();
        let looks = ids.iter().take(MINIONS_LOOKED_AT_MAX);
        let found = looks.map_while(|id| self.data.get(Bank::Grains, id).ok());
        found
            .flatten()
            .any(|grains| !addresses_of(&grains).is_disjoint(&self.addresses))
    }

    /// The addresses in the grains that the master keeps.
    fn known_addresses(&self, id: &MinionId) -> Option<BTreeSet<IpAddr>> {
        let grains = self.data.get(Bank::Grains, id).ok()??;
        Some(addresses_of(&grains))
    }
}

fn addresses_of(grains: &Map) -> BTreeSet<IpAddr> {
    ["ipv4", "ipv6"]
        .into_iter()
        .filter_map(|name| grains.get(name)?.as_list())
        .flatten()
        .filter_map(|address| address.as_str()?.parse().ok())
        .collect()
}

/// The remote addresses of established connections to a local port, from a
/// table of `/proc/net`.
fn remotes(table: &str, port: u16) -> impl Iterator<Item = IpAddr> + '_ {
    table.lines().skip(1).filter_map(move |line| {
        let mut words = line.split_whitespace().skip(1);
        let (local, remote, state) = (words.next()?, words.next()?, words.next()?);
        let local_port = u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()?;
        if local_port != port || state != ESTABLISHED {
            return None;
        }
        address(remote.rsplit_once(':')?.0)
    })
}

/// An address as the kernel writes it: words of 32 bits in the machine's order.
fn address(hex: &str) -> Option<IpAddr> {
    let mut bytes = Vec::with_capacity(16);
    for at in (0..hex.len()).step_by(8) {
        let word = u32::from_str_radix(hex.get(at..at + 8)?, 16).ok()?;
        bytes.extend(word.to_ne_bytes());
    }
    match *bytes.as_slice() {
        [a, b, c, d] => Some(Ipv4Addr::new(a, b, c, d).into()),
        _ => {
            let bytes: [u8; 16] = bytes.try_into().ok()?;
            Some(Ipv6Addr::from(bytes).to_canonical())
        }
    }
}

fn own_addresses() -> Vec<IpAddr> {
    let interfaces = nix::ifaddrs::getifaddrs().into_iter().flatten();
    interfaces
        .filter_map(|interface| {
            let address = interface.address?;
            let v4 = address.as_sockaddr_in().map(|v4| IpAddr::from(v4.ip()));
            v4.or_else(|| address.as_sockaddr_in6().map(|v6| v6.ip().into()))
        })
        .filter(|address| !address.is_loopback())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use halite_crypto::HashType;
    use halite_proto::Value;
    use halite_store::{BackendOptions, MemoryStore, StoreOptions};

    use super::*;

    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1199 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1
   1: 0100007F:1199 0503000A:C001 01 00000000:00000000 00:00000000 00000000     0        0 2
   2: 0100007F:1199 0603000A:C001 06 00000000:00000000 00:00000000 00000000     0        0 3
   3: 0100007F:119A 0703000A:C001 01 00000000:00000000 00:00000000 00000000     0        0 4
   4: broken
";

    #[test]
    #[cfg(target_endian = "little")]
    fn established_connections_to_the_port_count() {
        let found: Vec<_> = remotes(TABLE, 4505).collect();
        assert_eq!(found, [IpAddr::from([10, 0, 3, 5])]);
        assert_eq!(
            address("0000000000000000FFFF00000503000A"),
            Some(IpAddr::from([10, 0, 3, 5]))
        );
        assert_eq!(
            address("B80D0120000000000000000001000000"),
            Some("2001:db8::1".parse().unwrap())
        );
        assert_eq!(address("xyz"), None);
    }

    fn check(place: &StoreOptions) {
        let data = halite_store::open(place).data;
        for (id, address) in [("here", "10.0.3.5"), ("away", "10.0.3.9")] {
            let list = Value::List(vec!["127.0.0.1".into(), address.into()]);
            let id = MinionId::parse(id).unwrap();
            let grains = Map::from([("ipv4", list)]);
            data.put(Bank::Grains, &id, &grains).unwrap();
        }
        let connected = |is_usable, address: [u8; 4]| Connected {
            data: data.clone(),
            addresses: BTreeSet::from([IpAddr::from(address)]),
            is_usable,
        };
        let usable = connected(true, [10, 0, 3, 5]);
        assert!(usable.finds_anybody());
        assert!(!connected(true, [10, 0, 3, 6]).finds_anybody());
        assert!(usable.is_surely_not("away"));
        assert!(!usable.is_surely_not("here"));
        assert!(!usable.is_surely_not("unknown"));
        assert!(!usable.is_surely_not("../away"));
        assert!(!connected(false, [10, 0, 3, 5]).is_surely_not("away"));
    }

    #[test]
    fn who_is_known_and_has_no_connection_is_not_connected() {
        let dir = tempfile::tempdir().unwrap();
        check(&StoreOptions::local_fs(dir.path(), HashType::Sha256));
    }

    #[test]
    fn minions_are_known_wherever_the_master_keeps_their_grains() {
        let memory = Arc::new(MemoryStore::default());
        check(&StoreOptions::all(BackendOptions::MemoryStore(memory)));
    }
}
