//! The functions and states of X.509: keys, certificates, requests, revocation lists.
//!
//! Invariant: no type of OpenSSL leaves `keys` and `containers`; a private key
//! is never part of a log, an error or a change.

mod asn1;
mod build;
mod certificate;
mod containers;
mod domain;
mod encode;
mod extension;
mod files;
mod functions;
#[doc(hidden)]
pub mod fuzzing;
mod general;
mod keys;
mod name;
mod policy;
mod state;
mod text;
mod time;
mod tls;

use halite_call::Module;

/// The execution modules.
pub const MODULES: &[Module] = &[tls::MODULE, functions::MODULE];

/// The state modules.
pub const STATES: &[Module] = &[state::tls::MODULE, state::MODULE];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_sound() {
        assert_eq!(Module::faults(&[MODULES, STATES]), Vec::<String>::new());
    }
}
