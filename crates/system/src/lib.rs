//! The functions and states of services, users, schedules of the system and its settings.
//!
//! Invariant: whatever changes the system goes through a program that
//! `halite_modules::host` runs, or a file below its root.

mod accounts;
mod cron;
mod hosts;
mod kmod;
mod service;
mod states;
mod sysctl;

use halite_modules::Module;

/// The execution modules.
pub const MODULES: &[Module] = &[
    cron::MODULE,
    accounts::group::MODULE,
    hosts::MODULE,
    kmod::MODULE,
    service::MODULE,
    accounts::shadow::MODULE,
    sysctl::MODULE,
    accounts::user::MODULE,
];

/// The state modules.
pub const STATES: &[Module] = &[
    states::cron::MODULE,
    states::grains::MODULE,
    states::group::MODULE,
    states::host::MODULE,
    states::kmod::MODULE,
    states::service::MODULE,
    states::sysctl::MODULE,
    states::user::MODULE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_sound() {
        for tables in [MODULES, STATES] {
            let mut last_module = "";
            for module in tables {
                assert!(last_module < module.name, "sorted: {}", module.name);
                last_module = module.name;
                let mut last = "";
                for function in module.functions {
                    assert!(last < function.name, "sorted: {}", function.name);
                    last = function.name;
                    assert_eq!(function.module(), module.name);
                    if let Err(error) = function.parse_signature() {
                        panic!("{function:?}: {error}");
                    }
                    assert!(function.doc.len() > 10, "{} has no doc", function.name);
                }
            }
        }
    }
}
