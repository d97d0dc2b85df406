//! The states of this family.

pub(crate) mod firewall;
pub(crate) mod firewalld;
pub(crate) mod host;
pub(crate) mod ipset;
pub(crate) mod iptables;
pub(crate) mod network;
pub(crate) mod nftables;
