//! Users, groups and passwords of the system, and the keys with which users sign
//! in.
//!
//! Invariant: every change of the system is made by a program that
//! `halite_call::host` runs, or to a file below its root.

#[doc(hidden)]
pub mod fuzzing;
mod group;
mod hash;
mod shadow;
mod ssh;
mod states;
mod tools;
mod user;

use halite_call::Module;

/// The execution modules.
pub static MODULES: &[Module] = &[group::MODULE, shadow::MODULE, ssh::MODULE, user::MODULE];

/// The state modules.
pub static STATES: &[Module] = &[
    states::group::MODULE,
    states::ssh_auth::MODULE,
    states::ssh_known_hosts::MODULE,
    states::user::MODULE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_sound() {
        assert_eq!(Module::faults(&[MODULES, STATES]), Vec::<String>::new());
    }
}
