//! The message broker RabbitMQ.
//!
//! Invariant: the server is reached through its own command line programs, which
//! `halite_call::host` runs.

mod rabbitmq;
mod states;

use halite_call::Module;

/// The execution modules.
pub static MODULES: &[Module] = &[rabbitmq::MODULE];

/// The state modules.
pub static STATES: &[Module] = &[
    states::rabbitmq::CLUSTER,
    states::rabbitmq::PLUGIN,
    states::rabbitmq::POLICY,
    states::rabbitmq::UPSTREAM,
    states::rabbitmq::USER,
    states::rabbitmq::VHOST,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_sound() {
        assert_eq!(Module::faults(&[MODULES, STATES]), Vec::<String>::new());
    }
}
