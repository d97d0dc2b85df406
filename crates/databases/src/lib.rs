//! Databases and key-value stores.
//!
//! Invariant: a server is reached through its own command line programs, which
//! `halite_call::host` runs (etcd through `http.query`); no password is on a
//! command line where the program takes it in any other way.

mod etcd;
mod mysql;
mod postgres;
mod states;

use halite_call::Module;

/// The execution modules.
pub static MODULES: &[Module] = &[etcd::MODULE, mysql::MODULE, postgres::MODULE];

/// The state modules.
pub static STATES: &[Module] = &[
    states::etcd::MODULE,
    states::mysql::DATABASE,
    states::mysql::GRANTS,
    states::mysql::USER,
    states::postgres::DATABASE,
    states::postgres::EXTENSION,
    states::postgres::GROUP,
    states::postgres::INITDB,
    states::postgres::LANGUAGE,
    states::postgres::PRIVILEGES,
    states::postgres::SCHEMA,
    states::postgres::TABLESPACE,
    states::postgres::USER,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_sound() {
        assert_eq!(Module::faults(&[MODULES, STATES]), Vec::<String>::new());
    }
}
