//! Services, and scheduled commands.
//!
//! Invariant: every change of the system is made by a program that
//! `halite_call::host` runs, or to a file below its root.

mod aliases;
mod at;
mod cron;
#[doc(hidden)]
pub mod fuzzing;
mod logrotate;
mod service;
mod states;
mod supervisord;

use halite_call::Module;

/// The execution modules.
pub static MODULES: &[Module] = &[
    aliases::MODULE,
    at::MODULE,
    cron::MODULE,
    logrotate::MODULE,
    service::MODULE,
    supervisord::MODULE,
];

/// The state modules.
pub static STATES: &[Module] = &[
    states::alias::MODULE,
    states::at::MODULE,
    states::cron::MODULE,
    states::logrotate::MODULE,
    states::service::MODULE,
    states::supervisord::MODULE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_sound() {
        assert_eq!(Module::faults(&[MODULES, STATES]), Vec::<String>::new());
    }
}
