//! `salt.runner` and `salt.wheel`: functions of the master.

use halite_call::{Call, CallResult, MasterFunction, StateReturn};
use halite_proto::Value;

use super::minions::{arguments, insert_job_id};
use super::{MASTER_FUNCTIONS, told};

pub(super) fn runner(call: &Call<'_>) -> CallResult {
    run(call, MasterFunction::Runner, "Runner")
}

pub(super) fn wheel(call: &Call<'_>) -> CallResult {
    run(call, MasterFunction::Wheel, "Wheel")
}

fn run(call: &Call<'_>, kind: MasterFunction, word: &str) -> CallResult {
    let fun = call.text("name");
    let mut ret = StateReturn::of(call);
    if call.is_test() {
        return Ok(ret
            .pending(format!("{word} function '{fun}' would be executed."))
            .into());
    }
    let (args, kwargs) = arguments(call);
    match kind {
        MasterFunction::Runner => told::of_runner(call, &fun, &args, &kwargs),
        MasterFunction::Wheel => told::of_wheel(call, &fun, &kwargs),
    }
    let answer = call
        .ctx
        .commander(MASTER_FUNCTIONS)?
        .run_on_master(kind, &fun, args, kwargs)?;
    let says_error = answer
        .ret
        .as_map()
        .is_some_and(|map| map.contains_key("Error"));
    let success = answer.success && !says_error;
    insert_job_id(&mut ret, answer.jid.as_deref());
    ret.changes.insert("return", answer.ret);
    ret.result = Some(success);
    let end = if success { "executed" } else { "failed" };
    ret.comment = Value::from(format!("{word} function '{fun}' {end}."));
    Ok(ret.into())
}
