//! States of the language of the system.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn};
use halite_proto::Map;

use crate::locale;

pub(crate) const MODULE: Module = Module {
    name: "locale",
    functions: &[
        Function::new("locale.present", "(name)", present, "A locale is there."),
        Function::new(
            "locale.system",
            "(name)",
            system,
            "The system has a locale.",
        ),
    ],
};

fn present(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let mut state = StateReturn::of(call);
    if locale::avail(call, &name)? {
        return Ok(state.ok(format!("Locale {name} is already present")).into());
    }
    if call.is_test() {
        return Ok(state
            .pending(format!("Locale {name} needs to be generated"))
            .into());
    }
    Ok(if locale::generate(call, &name)? {
        state.changes = Map::from([("locale", name.as_str())]);
        state.ok(format!("Generated locale {name}"))
    } else {
        state.failed(format!("Failed to generate locale {name}"))
    }
    .into())
}

fn system(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let state = StateReturn::of(call);
    let done = (|| {
        if locale::get(call)? == name {
            return Ok(state
                .clone()
                .ok(format!("System locale {name} already set")));
        }
        if call.is_test() {
            return Ok(state
                .clone()
                .pending(format!("System locale {name} needs to be set")));
        }
        Ok(if locale::set(call, &name)? {
            state
                .clone()
                .ok(format!("Set system locale {name}"))
                .change("locale", name.as_str())
        } else {
            state
                .clone()
                .failed(format!("Failed to set system locale to {name}"))
        })
    })();
    match done {
        Ok(state) => Ok(state.into()),
        Err(CallError::Command(text)) => Ok(state
            .failed(format!("Failed to set system locale: {text}"))
            .into()),
        Err(other) => Err(other),
    }
}
