//! States of quotas.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "quota",
    functions: &[Function::new(
        "quota.mode",
        "(name, mode, quotatype)",
        mode,
        "The quotas of users or of groups are on (mode is true) or off on a file\nsystem.",
    )],
};

fn mode(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let state = StateReturn::of(call);
    let wanted = match call.arg("mode") {
        Value::Bool(true) => "on",
        _ => "off",
    };
    let one = [Value::from(name.as_str())];
    let modes = call.salt("quota.get_mode", &one, Map::new())?;
    let known = |key: &str, at: &Value| -> Result<Value, CallError> {
        let found = at.get(key).cloned();
        found.ok_or_else(|| CallError::exception("KeyError", format!("'{key}'")))
    };
    let now = known(&call.text("quotatype"), &known(&name, &modes)?)?;
    if now.as_str() == Some(wanted) {
        let comment = format!("Quota for {name} already set to {wanted}");
        return Ok(state.ok(comment).into());
    }
    if call.is_test() {
        let comment = format!("Quota for {name} needs to be set to {wanted}");
        return Ok(state.pending(comment).into());
    }
    let done = call.salt(&format!("quota.{wanted}"), &one, Map::new())?;
    Ok(match done.is_true() {
        true => state
            .change("quota", name.as_str())
            .ok(format!("Set quota for {name} to {wanted}")),
        false => state.failed(format!("Failed to set quota for {name} to {wanted}")),
    }
    .into())
}
