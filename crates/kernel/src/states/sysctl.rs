//! States of the kernel's settings.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn};

use crate::sysctl;

pub(crate) const MODULE: Module = Module {
    name: "sysctl",
    functions: &[Function::new(
        "sysctl.present",
        "(name, value, config=None)",
        present,
        "A setting of the kernel has a value, also after the next start.",
    )],
};

fn present(call: &Call<'_>) -> CallResult {
    let (name, value) = (call.text("name"), call.text("value"));
    let config = call.text_opt("config");
    let config = config
        .as_deref()
        .unwrap_or_else(|| sysctl::default_config(call));
    let state = StateReturn::of(call);
    if call.is_test() {
        return predict(call, state, &name, &value, config);
    }
    Ok(match sysctl::persist(call, &name, &value, config) {
        Ok(true) => state
            .ok(format!("Updated sysctl value {name} = {value}"))
            .change(name, call.arg("value").clone()),
        Ok(false) => state.ok(format!("Sysctl value {name} = {value} is already set")),
        Err(CallError::Command(text)) => {
            state.failed(format!("Failed to set {name} to {value}: {text}"))
        }
        Err(other) => return Err(other),
    }
    .into())
}

fn predict(
    call: &Call<'_>,
    state: StateReturn,
    name: &str,
    value: &str,
    config: &str,
) -> CallResult {
    let Some(configured) = sysctl::configured(call, config) else {
        return Ok(state
            .pending(format!(
                "Sysctl option {name} might be changed, we failed to check config file at {config}. The file is either unreadable, or missing."
            ))
            .into());
    };
    let current = sysctl::get(call, name)?;
    let in_file = configured.contains_key(name);
    let same = sysctl::folded(&current) == sysctl::folded(value);
    Ok(if !current.is_empty() && in_file && same {
        state.ok(format!("Sysctl value {name} = {value} is already set"))
    } else if !current.is_empty() && !in_file {
        state.pending(if same {
            format!(
                "Sysctl value is currently set on the running system but not in a config file. Sysctl option {name} set to be changed to {value} in config file."
            )
        } else {
            format!("Sysctl option {name} set to be changed to {value}")
        })
    } else if current.is_empty() && in_file {
        state.pending(format!(
            "Sysctl value {name} is present in configuration file but is not present in the running config. The value {name} is set to be changed to {value}"
        ))
    } else {
        state.pending(format!("Sysctl option {name} would be changed to {value}"))
    }
    .into())
}
