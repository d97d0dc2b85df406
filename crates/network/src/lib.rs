//! The functions and states of a machine's network: filters of packets, interfaces, routes.
//!
//! Invariant: whatever changes the network goes through a program that
//! `halite_call::host` runs, or a file below its root.

mod diff;
mod firewalld;
mod ip;
mod ipset;
mod iptables;
mod nftables;
mod program;
mod states;

use halite_call::Module;

/// The execution modules.
pub const MODULES: &[Module] = &[
    firewalld::MODULE,
    ip::MODULE,
    ipset::MODULE,
    iptables::MODULE,
    nftables::MODULE,
];

/// The state modules.
pub const STATES: &[Module] = &[
    states::firewall::MODULE,
    states::firewalld::MODULE,
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
