//! The functions and states of databases, message brokers and process supervisors.
//!
//! Invariant: a server is only reached through its own command line programs,
//! which `halite_modules::host` runs; no password is on a command line.

mod postgres;
mod states;
mod supervisord;

use halite_modules::Module;

/// The execution modules.
pub const MODULES: &[Module] = &[postgres::MODULE, supervisord::MODULE];

/// The state modules.
pub const STATES: &[Module] = &[
    states::postgres::DATABASE,
    states::postgres::EXTENSION,
    states::postgres::GROUP,
    states::postgres::INITDB,
    states::postgres::LANGUAGE,
    states::postgres::PRIVILEGES,
    states::postgres::SCHEMA,
    states::postgres::TABLESPACE,
    states::postgres::USER,
    states::supervisord::MODULE,
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
