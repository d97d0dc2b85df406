//! The argument names that belong to the engine, not to state functions
//! (`STATE_INTERNAL_KEYWORDS` of Salt's `state.py`, 3008.5).

use crate::requisite::Requisite;

/// The `_in` forms that the run resolves or the functions never see.
pub const REQUISITES_IN: [&str; 6] = [
    "listen_in",
    "onchanges_in",
    "onfail_in",
    "prereq_in",
    "require_in",
    "watch_in",
];

/// What steers the run of a state.
pub const RUNTIME: [&str; 45] = [
    "__env__",
    "__id__",
    "__orchestration_jid__",
    "__prereq__",
    "__prerequiring__",
    "__pub_arg",
    "__pub_fun",
    "__pub_jid",
    "__pub_minion_is_target",
    "__pub_pid",
    "__pub_pure_resource_target",
    "__pub_resource_job",
    "__pub_resource_target",
    "__pub_resource_targets",
    "__pub_ret",
    "__pub_tgt",
    "__pub_tgt_type",
    "__pub_user",
    "__sls__",
    "__sls_included_from__",
    "__umask__",
    "check_cmd",
    "cmd_opts_exclude",
    "creates",
    "failhard",
    "fire_event",
    "fun",
    "no_log",
    "onlyif",
    "order",
    "parallel",
    "prereq",
    "prereq_in",
    "reload_grains",
    "reload_modules",
    "reload_pillar",
    "retry",
    "runas",
    "runas_password",
    "saltenv",
    "state",
    "umask",
    "unless",
    "use",
    "use_in",
];

/// Whether `name` declares a requisite whose entries are joined when a state
/// is extended.
pub fn is_requisite(name: &str) -> bool {
    name == "onfail_stop" || Requisite::parse(name).is_some()
}

/// Whether `name` is the engine's and not an argument of a state function.
pub fn is_internal(name: &str) -> bool {
    is_requisite(name) || REQUISITES_IN.contains(&name) || RUNTIME.contains(&name)
}
