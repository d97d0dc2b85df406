//! State runs on a minion: the state functions, the run's effects, and all functions of this build in one registry.
//!
//! [`registry`] is what the programs use. A run goes this way: `functions`
//! takes the command, [`context`] is the minion as the run sees it, `source`
//! lets the compiler ask for files, `shell` drives the machine of
//! `halite_state::run` and does what it asks for.
//!
//! Invariant: a state function that fails, panics or hangs ends as a result, or
//! with its job; never with the minion.

mod applied;
mod cache;
pub mod context;
mod functions;
mod limits;
mod package;
mod prepare;
mod shell;
mod source;
mod states;
mod turns;

pub use states::ORCHESTRATION;

use halite_call::{Module, Registry};

/// The execution modules of this crate.
static MODULES: &[Module] = &[functions::MODULE];

static ALL: Registry = Registry::new(
    &[
        halite_core_modules::MODULES,
        MODULES,
        halite_certificates::MODULES,
        halite_files::MODULES,
        halite_network::MODULES,
        halite_packages::MODULES,
        halite_servers::MODULES,
        halite_system::MODULES,
    ],
    &[
        states::STATES,
        halite_certificates::STATES,
        halite_files::STATES,
        halite_network::STATES,
        halite_packages::STATES,
        halite_servers::STATES,
        halite_system::STATES,
    ],
);

/// Every function of this build: execution modules and state modules.
pub fn registry() -> &'static Registry {
    &ALL
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_tables_have_a_module_of_one_name() {
        let mut names = BTreeSet::new();
        for module in registry().modules() {
            assert!(names.insert(module.name), "two modules {}", module.name);
        }
        names.clear();
        for module in registry().state_modules() {
            assert!(names.insert(module.name), "two states {}", module.name);
        }
    }
}
