//! The functions and states of databases, message brokers and process supervisors.
//!
//! Invariant: a server is only reached through its own command line programs,
//! which `halite_call::host` runs (etcd through `http.query`); no password is on a command line
//! where the program takes it in any other way.

mod etcd;
mod mysql;
mod postgres;
mod rabbitmq;
mod states;
mod supervisord;

use halite_call::Module;

/// The execution modules.
pub const MODULES: &[Module] = &[
    etcd::MODULE,
    mysql::MODULE,
    postgres::MODULE,
    rabbitmq::MODULE,
    supervisord::MODULE,
];

/// The state modules.
pub const STATES: &[Module] = &[
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
    states::rabbitmq::CLUSTER,
    states::rabbitmq::PLUGIN,
    states::rabbitmq::POLICY,
    states::rabbitmq::UPSTREAM,
    states::rabbitmq::USER,
    states::rabbitmq::VHOST,
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
