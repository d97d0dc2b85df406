//! States that carry data for others and do nothing.

use halite_call::{Call, CallResult, Function, Module, StateReturn};

pub(crate) const MODULE: Module = Module {
    name: "stateconf",
    functions: &[
        Function::new(
            "stateconf.context",
            "(name, **kwargs)",
            nothing,
            "Carries data for other states and does nothing.",
        ),
        Function::new(
            "stateconf.set",
            "(name, **kwargs)",
            nothing,
            "Carries data for other states and does nothing.",
        ),
    ],
};

fn nothing(call: &Call<'_>) -> CallResult {
    Ok(StateReturn::of(call).into())
}
