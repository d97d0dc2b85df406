//! States of the aliases of mail addresses.

use halite_call::{Call, CallResult, Function, Module, StateReturn};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "alias",
    functions: &[
        Function::new("alias.absent", "(name)", absent, "An address has no alias."),
        Function::new(
            "alias.present",
            "(name, target)",
            present,
            "Mail for an address goes to another.",
        ),
    ],
};

fn present(call: &Call<'_>) -> CallResult {
    let (name, target) = (call.text("name"), call.arg("target"));
    let state = StateReturn::of(call);
    let both = [name.as_str().into(), target.clone()];
    if call
        .salt("aliases.has_target", &both, Map::new())?
        .is_true()
    {
        return Ok(state.ok(format!("Alias {name} already present")).into());
    }
    let about = format!("{name} -> {}", call.text("target"));
    if call.is_test() {
        return Ok(state
            .pending(format!("Alias {about} is set to be added"))
            .into());
    }
    Ok(if call
        .salt("aliases.set_target", &both, Map::new())?
        .is_true()
    {
        state
            .ok(format!("Set email alias {about}"))
            .change("alias", name)
    } else {
        state.failed(format!("Failed to set alias {about}"))
    }
    .into())
}

fn absent(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let state = StateReturn::of(call);
    let one = [Value::from(name.as_str())];
    if !call.salt("aliases.get_target", &one, Map::new())?.is_true() {
        return Ok(state.ok(format!("Alias {name} already absent")).into());
    }
    if call.is_test() {
        return Ok(state
            .pending(format!("Alias {name} is set to be removed"))
            .into());
    }
    Ok(
        if call.salt("aliases.rm_alias", &one, Map::new())?.is_true() {
            state
                .ok(format!("Removed alias {name}"))
                .change("alias", name)
        } else {
            state.failed(format!("Failed to remove alias {name}"))
        }
        .into(),
    )
}
