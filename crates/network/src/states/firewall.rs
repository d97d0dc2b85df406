//! Whether a connection is allowed: `firewall.check`.

use halite_call::{Call, CallResult, Function, Module, StateReturn};

pub(crate) const MODULE: Module = Module {
    name: "firewall",
    functions: &[Function::new(
        "firewall.check",
        "(name, port=None, **kwargs)",
        check,
        "A port of a host can be reached from here. Other arguments are those of\nnetwork.connect.",
    )],
};

fn check(call: &Call<'_>) -> CallResult {
    let state = StateReturn::of(call);
    if call.is_test() {
        return Ok(state.ok("The connection will be tested").into());
    }
    let args = [call.arg("name").clone(), call.arg("port").clone()];
    let tried = call.salt("network.connect", &args, call.kwargs().clone())?;
    let comment = tried.get("comment").cloned().unwrap_or_default();
    Ok(
        match tried.get("result").is_some_and(|result| result.is_true()) {
            true => state.ok(comment),
            false => state.failed(comment),
        }
        .into(),
    )
}
