//! The functions and states of a machine's network: packet filters, interfaces,
//! routes.
//!
//! Invariant: every change of the network is made by a program that
//! `halite_call::host` runs, or to a file below its root.

mod diff;
mod dns;
mod firewalld;
mod hosts;
mod ip;
mod ipset;
mod iptables;
mod network;
mod nftables;
mod program;
mod states;
mod zone;

use halite_call::Module;

/// The execution modules.
pub const MODULES: &[Module] = &[
    dns::DIG,
    dns::DNSUTIL,
    firewalld::MODULE,
    hosts::MODULE,
    ip::MODULE,
    ipset::MODULE,
    iptables::MODULE,
    network::MODULE,
    nftables::MODULE,
];

/// The state modules.
pub const STATES: &[Module] = &[
    states::firewall::MODULE,
    states::firewalld::MODULE,
    states::host::MODULE,
    states::ipset::MODULE,
    states::iptables::MODULE,
    states::network::MODULE,
    states::nftables::MODULE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_sound() {
        assert_eq!(Module::faults(&[MODULES, STATES]), Vec::<String>::new());
    }
}
