//! Asks the kernel which minions are connected.

use std::collections::HashSet;
use std::fs;
use std::net::IpAddr;

use halite_proto::{Map, MinionId};
use halite_store::{Bank, MinionData};
use nix::ifaddrs::getifaddrs;

use crate::core::presence::{is_connected, remote_addresses, with_own_addresses};

const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// The addresses that have a connection to the publish port now.
pub(crate) struct Addresses(HashSet<IpAddr>);

impl Addresses {
    /// Reads the tables of the host.
    pub(crate) fn read(publish_port: u16) -> Self {
        let remote = TABLES
            .iter()
            .filter_map(|table| fs::read_to_string(table).ok())
            .flat_map(|table| remote_addresses(&table, publish_port))
            .collect();
        Self(with_own_addresses(remote, own_addresses()))
    }

    /// Whether the grains name one of them.
    pub(crate) fn are_of(&self, grains: &Map) -> bool {
        is_connected(grains, &self.0)
    }
}

/// The minions whose cached grains name an address with a connection to the
/// publish port.
pub(crate) fn connected_ids(data: &MinionData, publish_port: u16) -> HashSet<MinionId> {
    let addresses = Addresses::read(publish_port);
    let ids = data.ids(Bank::Grains).unwrap_or_default();
    ids.into_iter()
        .filter(|id| {
            data.get(Bank::Grains, id)
                .ok()
                .flatten()
                .is_some_and(|grains| addresses.are_of(&grains))
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
