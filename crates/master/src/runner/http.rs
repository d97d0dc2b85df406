//! `http.query`, from the master.

use halite_call::{Failure, run_function};
use halite_proto::{Map, Value};

use super::Call;
use super::error::{Ran, RunnerError};
use super::table::Function;

pub(super) const FUNCTIONS: &[Function] = &[Function::new(
    "http.query",
    "(url, output=True, **kwargs)",
    query,
    "Sends a request to a web server.",
)];

fn query(call: &Call<'_>) -> Ran {
    if call.arg("output") != &Value::Bool(true) {
        tracing::warn!("http.query: the argument `output` does nothing, use --quiet");
    }
    let mut marked = Map::from([("__kwarg__", true)]);
    marked.extend(call.bound.kwargs.clone());
    on_master(
        call,
        "http.query",
        &[call.arg("url").clone(), marked.into()],
    )
}

/// Runs a function that minions have on the master, for a runner of the same
/// name.
pub(super) fn on_master(call: &Call<'_>, fun: &str, args: &[Value]) -> Ran {
    let outcome = run_function(call.runners.functions.context(), fun, args, &call.job());
    match outcome.failure {
        None => Ok(outcome.ret),
        Some(Failure::NotAvailable(_)) => {
            Err(RunnerError::Failed(halite_proto::python::str(&outcome.ret)))
        }
        Some(Failure::Call { error, .. }) => Err(RunnerError::Failed(error.to_string())),
    }
}
