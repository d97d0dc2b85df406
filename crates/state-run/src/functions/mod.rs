//! The execution module `state`.

mod control;
mod packed;
mod requests;
mod run;
mod show;
mod single;
mod switches;
mod text;

use halite_call::{Function, Module};

/// `state.*`.
pub(crate) const MODULE: Module = Module {
    name: "state",
    functions: FUNCTIONS,
};

/// Sorted by name.
const FUNCTIONS: &[Function] = &[
    run::APPLY,
    requests::CHECK_REQUEST,
    run::CLEAR_CACHE,
    requests::CLEAR_REQUEST,
    switches::DISABLE,
    switches::ENABLE,
    run::EVENT,
    control::GET_PAUSES,
    show::GRAPH,
    show::GRAPH_HIGHSTATE,
    text::HIGH,
    run::HIGHSTATE,
    show::ID_EXISTS,
    show::LIST_DISABLED,
    single::LOW,
    run::ORCHESTRATE,
    control::PAUSE,
    packed::PKG,
    requests::REQUEST,
    control::RESUME,
    requests::RUN_REQUEST,
    control::RUNNING,
    show::SHOW_HIGHSTATE,
    show::SHOW_LOW_SLS,
    show::SHOW_LOWSTATE,
    show::SHOW_SLS,
    show::SHOW_STATE_USAGE,
    show::SHOW_STATES,
    show::SHOW_TOP,
    single::SINGLE,
    run::SLS,
    show::SLS_EXISTS,
    run::SLS_ID,
    control::SOFT_KILL,
    text::TEMPLATE,
    text::TEMPLATE_STR,
    run::TEST,
    run::TOP,
];
