//! The state modules of this crate: those about running commands, functions and
//! jobs.

mod cmd;
mod command;
mod event;
mod module;
mod repeat;
mod salt;
mod saltutil;
mod stateconf;
mod stateful;
mod test;

use halite_call::Module;

pub use salt::ORCHESTRATION;

/// Sorted by name.
pub(crate) static STATES: &[Module] = &[
    cmd::MODULE,
    event::MODULE,
    repeat::MODULE,
    module::MODULE,
    salt::MODULE,
    saltutil::MODULE,
    stateconf::MODULE,
    test::MODULE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_sound() {
        assert_eq!(Module::faults(&[STATES]), Vec::<String>::new());
    }
}
