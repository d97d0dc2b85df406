//! Web servers, and requests to them.
//!
//! Invariant: every change of the system is made by a program that
//! `halite_call::host` runs, or to a file below its root.

mod apache;
mod http;
mod states;
mod webutil;

use halite_call::Module;

/// The execution modules.
pub static MODULES: &[Module] = &[apache::MODULE, http::MODULE, webutil::MODULE];

/// The state modules.
pub static STATES: &[Module] = &[
    states::apache::CONFIGFILE,
    states::apache::CONF,
    states::apache::MODULE,
    states::apache::SITE,
    states::http::MODULE,
    states::webutil::MODULE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_sound() {
        assert_eq!(Module::faults(&[MODULES, STATES]), Vec::<String>::new());
    }
}
