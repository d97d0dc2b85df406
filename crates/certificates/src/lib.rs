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
mod general;
mod keys;
mod name;
mod policy;
mod state;
mod text;
mod time;

use halite_modules::Module;

/// The execution modules.
pub const MODULES: &[Module] = &[functions::MODULE];

/// The state modules.
pub const STATES: &[Module] = &[state::MODULE];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_sound() {
        for module in MODULES.iter().chain(STATES) {
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
