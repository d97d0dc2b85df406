//! `test.*`: is the minion there, and what does it make of arguments?

use halite_proto::Value;

use crate::call::Call;
use crate::error::CallResult;
use crate::registry::{Function, Module};

pub(super) const MODULE: Module = Module {
    name: "test",
    functions: &[
        Function::new("test.echo", "(text)", echo, "Returns the text it is given."),
        Function::new(
            "test.ping",
            "()",
            ping,
            "Answers `True`: the minion is up and takes commands.",
        ),
    ],
};

fn echo(call: &Call<'_>) -> CallResult {
    Ok(call.arg("text").clone())
}

fn ping(_: &Call<'_>) -> CallResult {
    Ok(Value::Bool(true))
}
