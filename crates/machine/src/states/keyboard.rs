//! States of the layout of the keyboard.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "keyboard",
    functions: &[
        Function::new(
            "keyboard.system",
            "(name)",
            |call| layout(call, "sys", "System", "system"),
            "The console has a layout.",
        ),
        Function::new(
            "keyboard.xorg",
            "(name)",
            |call| layout(call, "x", "XOrg", "XOrg"),
            "X has a layout.",
        ),
    ],
};

/// `of` is what the execution functions call it, the others what the comments do.
fn layout(call: &Call<'_>, of: &str, first: &str, within: &str) -> CallResult {
    let name = call.text("name");
    let state = StateReturn::of(call);
    let now = call.salt(&format!("keyboard.get_{of}"), &[], Map::new())?;
    if now.as_str() == Some(&name) {
        return Ok(state
            .ok(format!("{first} layout {name} already set"))
            .into());
    }
    if call.is_test() {
        let comment = format!("{first} layout {name} needs to be set");
        return Ok(state.pending(comment).into());
    }
    let one = [Value::from(name.as_str())];
    Ok(
        match call.salt(&format!("keyboard.set_{of}"), &one, Map::new()) {
            Ok(done) if done.is_true() => state
                .change("layout", name.as_str())
                .ok(format!("Set {within} keyboard layout {name}")),
            Ok(_) => state.failed(format!("Failed to set {within} keyboard layout")),
            Err(CallError::Command(text)) => {
                state.failed(format!("Failed to set {within} keyboard layout: {text}"))
            }
            Err(other) => return Err(other),
        }
        .into(),
    )
}
