//! Switches states off and on again. Disabled states are in the grain
//! `state_runs_disabled`.

use halite_call::{Call, CallResult, Function};
use halite_proto::{Map, Value};

use super::run::names;

/// The grain.
const GRAIN: &str = "state_runs_disabled";

pub(super) const DISABLE: Function = Function::new(
    "state.disable",
    "(states)",
    |call| switch(call, true),
    "Switches off highstate, SLS or state functions, by their names.",
);

pub(super) const ENABLE: Function = Function::new(
    "state.enable",
    "(states)",
    |call| switch(call, false),
    "Switches on again what state.disable has switched off.",
);

fn switch(call: &Call<'_>, off: bool) -> CallResult {
    let mut disabled = list(call);
    let mut messages = Vec::new();
    let mut changed = false;
    for state in names(call.arg("states")) {
        let known = disabled.iter().position(|name| *name == state);
        let word = match (known, off) {
            (Some(_), true) => "already disabled",
            (None, false) => "already enabled",
            (None, true) => {
                disabled.push(state.clone());
                changed = true;
                "disabled"
            }
            (Some(at), false) => {
                disabled.remove(at);
                changed = true;
                "enabled"
            }
        };
        messages.push(format!("Info: {state} state {word}."));
    }
    if changed {
        let value = Value::List(disabled.into_iter().map(Value::from).collect());
        call.salt("grains.setval", &[GRAIN.into(), value], Map::new())?;
    }
    Ok(Map::from([
        ("res", Value::Bool(true)),
        ("msg", messages.join("\n").into()),
    ])
    .into())
}

/// What is said of those of `states` that are switched off.
pub(super) fn disabled(call: &Call<'_>, states: &[String]) -> Vec<String> {
    let all = list(call);
    let mut messages = Vec::new();
    for state in states {
        for off in &all {
            let message = if off.contains(".*") {
                let prefix = format!("{}.", off.split('.').next().unwrap_or_default());
                state.starts_with(&prefix).then(|| {
                    format!(
                        "The state file \"{state}\" is currently disabled by \"{off}\", to re-enable, run state.enable {off}."
                    )
                })
            } else {
                (state == off).then(|| {
                    format!(
                        "The state file \"{off}\" is currently disabled, to re-enable, run state.enable {off}."
                    )
                })
            };
            messages.extend(message);
        }
    }
    messages
}

fn list(call: &Call<'_>) -> Vec<String> {
    match call.ctx.grains().get(GRAIN) {
        Some(Value::List(names)) => names.iter().map(halite_proto::python::str).collect(),
        _ => Vec::new(),
    }
}
