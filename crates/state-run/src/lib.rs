//! State runs on a minion: the state functions, the run's effects, and all
//! functions of this build in one registry.
//!
//! [`registry`] is what the programs use. In a run, `functions` takes the command,
//! [`context`] is the minion as the run sees it, `source` gives the compiler its
//! files, `shell` drives the state machine of `halite_state::run` and performs its
//! effects.
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
mod requirements;
mod run_files;
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
        MODULES,
        halite_core_modules::MODULES,
        halite_accounts::MODULES,
        halite_certificates::MODULES,
        halite_databases::MODULES,
        halite_files::MODULES,
        halite_kernel::MODULES,
        halite_machine::MODULES,
        halite_network::MODULES,
        halite_packages::MODULES,
        halite_rabbitmq::MODULES,
        halite_services::MODULES,
        halite_storage::MODULES,
        halite_web::MODULES,
    ],
    &[
        states::STATES,
        halite_core_modules::STATES,
        halite_accounts::STATES,
        halite_certificates::STATES,
        halite_databases::STATES,
        halite_files::STATES,
        halite_kernel::STATES,
        halite_machine::STATES,
        halite_network::STATES,
        halite_packages::STATES,
        halite_rabbitmq::STATES,
        halite_services::STATES,
        halite_storage::STATES,
        halite_web::STATES,
    ],
)
.requiring(requirements::REQUIREMENTS);

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
