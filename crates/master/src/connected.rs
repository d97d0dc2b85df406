//! Looks at the host for the minions that are connected.

use std::collections::HashSet;
use std::fs;
use std::net::IpAddr;

use halite_proto::MinionId;
use halite_store::{Bank, DataCache};
use nix::ifaddrs::getifaddrs;

use crate::core::presence::{is_connected, remote_addresses, with_own_addresses};

const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// The minions whose cached grains name an address with a connection to the
/// publish port.
pub(crate) fn connected_ids(data: &DataCache, publish_port: u16) -> HashSet<MinionId> {
    let remote: HashSet<IpAddr> = TABLES
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .flat_map(|table| remote_addresses(&table, publish_port))
        .collect();
    let remote = with_own_addresses(remote, own_addresses());
    let ids = data.ids(Bank::Grains).unwrap_or_default();
    ids.into_iter()
        .filter(|id| {
            data.get(Bank::Grains, id)
                .ok()
                .flatten()
                .is_some_and(|grains| is_connected(&grains, &remote))
        })
        .collect()
}

fn own_addresses() -> Vec<IpAddr> {
    getifaddrs()
        .into_iter()
        .flatten()
        .filter_map(|interface| {
            let address = interface.address?;
            let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
            v4.or_else(|| address.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip())))
        })
        .collect()
}
