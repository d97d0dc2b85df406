//! `store.*`: the places where the master keeps its data.

use super::Call;
use super::error::Ran;
use super::table::Function;

pub(super) const FUNCTIONS: &[Function] = &[Function::new(
    "store.status",
    "()",
    status,
    "Whether the stores of jobs, minion data, banks, tokens and keys are reachable, and how many \
     writes wait for them.",
)];

fn status(call: &Call<'_>) -> Ran {
    let unkept = call.runners.fleet.data.waits();
    let jobs = &call.runners.jobs;
    let report = jobs.health.report(unkept.as_ref(), jobs.unkept_returns());
    Ok(report.into())
}
