//! States that fetch custom modules from the master.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn};
use halite_proto::Map;

pub(super) const MODULE: Module = Module {
    name: "saltutil",
    functions: &[
        Function::new(
            "saltutil.sync_all",
            "(name, **kwargs)",
            all,
            "Users' modules of all kinds are those of the master.",
        ),
        Function::new(
            "saltutil.sync_beacons",
            "(name, **kwargs)",
            one,
            "Users' beacons are those of the master.",
        ),
        Function::new(
            "saltutil.sync_clouds",
            "(name, **kwargs)",
            one,
            "Users' cloud modules are those of the master.",
        ),
        Function::new(
            "saltutil.sync_engines",
            "(name, **kwargs)",
            one,
            "Users' engines are those of the master.",
        ),
        Function::new(
            "saltutil.sync_executors",
            "(name, **kwargs)",
            one,
            "Users' executors are those of the master.",
        ),
        Function::new(
            "saltutil.sync_grains",
            "(name, **kwargs)",
            one,
            "Users' grains are those of the master.",
        ),
        Function::new(
            "saltutil.sync_log_handlers",
            "(name, **kwargs)",
            one,
            "Users' handlers of logs are those of the master.",
        ),
        Function::new(
            "saltutil.sync_matchers",
            "(name, **kwargs)",
            one,
            "Users' matchers are those of the master.",
        ),
        Function::new(
            "saltutil.sync_modules",
            "(name, **kwargs)",
            one,
            "Users' execution modules are those of the master.",
        ),
        Function::new(
            "saltutil.sync_output",
            "(name, **kwargs)",
            one,
            "Users' outputters are those of the master.",
        ),
        Function::new(
            "saltutil.sync_outputters",
            "(name, **kwargs)",
            one,
            "Users' outputters are those of the master.",
        ),
        Function::new(
            "saltutil.sync_pillar",
            "(name, **kwargs)",
            one,
            "Users' external pillars are those of the master.",
        ),
        Function::new(
            "saltutil.sync_proxymodules",
            "(name, **kwargs)",
            one,
            "Users' proxy modules are those of the master.",
        ),
        Function::new(
            "saltutil.sync_renderers",
            "(name, **kwargs)",
            one,
            "Users' renderers are those of the master.",
        ),
        Function::new(
            "saltutil.sync_resources",
            "(name, **kwargs)",
            one,
            "Users' resources are those of the master.",
        ),
        Function::new(
            "saltutil.sync_returners",
            "(name, **kwargs)",
            one,
            "Users' returners are those of the master.",
        ),
        Function::new(
            "saltutil.sync_sdb",
            "(name, **kwargs)",
            one,
            "Users' sdb modules are those of the master.",
        ),
        Function::new(
            "saltutil.sync_serializers",
            "(name, **kwargs)",
            one,
            "Users' serializers are those of the master.",
        ),
        Function::new(
            "saltutil.sync_states",
            "(name, **kwargs)",
            one,
            "Users' state modules are those of the master.",
        ),
        Function::new(
            "saltutil.sync_thorium",
            "(name, **kwargs)",
            one,
            "Users' thorium modules are those of the master.",
        ),
        Function::new(
            "saltutil.sync_tops",
            "(name, **kwargs)",
            one,
            "Users' master tops are those of the master.",
        ),
        Function::new(
            "saltutil.sync_utils",
            "(name, **kwargs)",
            one,
            "Users' utilities are those of the master.",
        ),
        Function::new(
            "saltutil.sync_wrapper",
            "(name, **kwargs)",
            one,
            "Users' wrappers of salt-ssh are those of the master.",
        ),
    ],
};

/// Runs the execution function of the same name.
fn sync(call: &Call<'_>, changes: impl Fn(halite_proto::Value) -> Map, done: &str) -> CallResult {
    let state = StateReturn::of(call);
    let fun = call.function();
    if call.is_test() {
        return Ok(state.pending(format!("{fun} would have been run")).into());
    }
    let synced = match call.salt(fun, &[], call.own_kwargs()) {
        Ok(synced) => synced,
        Err(error @ CallError::Ended(_)) => return Err(error),
        Err(error) => {
            let short = fun.trim_start_matches("saltutil.");
            return Ok(state
                .failed(format!("Failed to run {short}: {error}"))
                .into());
        }
    };
    let mut state = state.ok("No updates to sync");
    state.changes = changes(synced);
    if !state.changes.is_empty() {
        state.comment = done.into();
    }
    Ok(state.into())
}

fn one(call: &Call<'_>) -> CallResult {
    let kind = call.function().trim_start_matches("saltutil.sync_");
    let changes = |synced: halite_proto::Value| match synced.is_true() {
        true => Map::from([(kind, synced)]),
        false => Map::new(),
    };
    sync(call, changes, &format!("Updated {kind}."))
}

fn all(call: &Call<'_>) -> CallResult {
    let changes = |synced: halite_proto::Value| {
        let mut changes = synced.as_map().cloned().unwrap_or_default();
        changes.retain(|_, names| names.is_true());
        changes
    };
    sync(call, changes, "Sync performed")
}
