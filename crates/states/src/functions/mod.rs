//! The execution module `state`.

mod show;

use halite_modules::{Function, Module};

/// `state.*`.
pub(crate) const MODULE: Module = Module {
    name: "state",
    functions: FUNCTIONS,
};

/// Sorted by name.
const FUNCTIONS: &[Function] = &[
    show::ID_EXISTS,
    show::LIST_DISABLED,
    show::SHOW_HIGHSTATE,
    show::SHOW_LOW_SLS,
    show::SHOW_LOWSTATE,
    show::SHOW_SLS,
    show::SHOW_STATE_USAGE,
    show::SHOW_STATES,
    show::SHOW_TOP,
    show::SLS_EXISTS,
];
