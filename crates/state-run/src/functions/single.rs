//! One state without any SLS.

use halite_call::{Call, CallError, CallResult, Function, MinionContext, within_call};
use halite_proto::{Map, Value};
use halite_state::Chunk;
use halite_state::run::verify;

use super::run::{refused, shown_as_states};
use crate::applied::{self, Applied, Origin};
use crate::context::StateContext;
use crate::prepare::{EX_COMPILER_ERROR, prepare, prepare_plain};
use crate::shell::KnownFunctions;
use crate::turns::{self, Queue, Turn};

pub(super) const SINGLE: Function = shown_as_states(Function::new(
    "state.single",
    "(fun, name, test=None, queue=None, **kwargs)",
    single,
    "Runs one state function with the arguments that are given.",
));

pub(super) const LOW: Function = Function::new(
    "state.low",
    "(data, queue=None, **kwargs)",
    low,
    "Runs one low chunk, a map with state, fun, name and arguments.",
);

/// Arguments that are for `state.single` itself.
const OWN: [&str; 5] = [
    "concurrent",
    "pillar",
    "pillar_enc",
    "pillarenv",
    "state_events",
];

fn single(call: &Call<'_>) -> CallResult {
    let _turn = match turn(call)? {
        Ok(turn) => turn,
        Err(others) => return Ok(refused(call, others)),
    };
    let full = call.text("fun");
    let mut parts = full.split('.');
    let (Some(module), Some(fun)) = (parts.next(), parts.next()) else {
        call.set_retcode(EX_COMPILER_ERROR);
        return Ok("Invalid function passed".into());
    };
    let mut chunk = Map::new();
    for (key, value) in call.kwargs() {
        let own = |key: &str| OWN.contains(&key) || key.starts_with("__pub_");
        if !key.as_str().is_some_and(own) {
            chunk.insert(key.clone(), value.clone());
        }
    }
    let name = call.arg("name").clone();
    chunk.insert("state", module);
    chunk.insert("fun", fun);
    chunk.insert("__id__", name.clone());
    chunk.insert("name", name);
    let mut ctx = prepare(call, false)?;
    ctx.set_opt("test", applied::test_mode(call));
    let mut chunk = Chunk::new(chunk);
    if let Some(errors) = wrong(call, &ctx, &mut chunk) {
        return Ok(refused(call, errors));
    }
    let results = applied::one(call, &ctx, chunk)?;
    let origin = Origin::default();
    let applied = Applied::Results { results, origin };
    call.set_retcode(applied.retcode());
    Ok(applied.into_value())
}

fn low(call: &Call<'_>) -> CallResult {
    let _turn = match turn(call)? {
        Ok(turn) => turn,
        Err(others) => return Ok(refused(call, others)),
    };
    let Value::Map(data) = call.arg("data") else {
        return Err(CallError::wrong_type("the low chunk must be a map"));
    };
    let mut ctx = prepare_plain(call)?;
    ctx.set_opt("test", call.opt("test").is_true());
    let mut chunk = Chunk::new(data.clone());
    if let Some(errors) = wrong(call, &ctx, &mut chunk) {
        return Ok(refused(call, errors));
    }
    let tag = chunk.tag();
    let mut results = applied::one(call, &ctx, chunk)?;
    let record = results.remove(&tag).unwrap_or_default();
    let failed = record.get("result") == Some(&Value::Bool(false));
    call.set_retcode(if failed { 2 } else { 0 });
    Ok(record)
}

/// What is wrong with the chunk, if something is.
fn wrong(call: &Call<'_>, ctx: &StateContext<'_>, chunk: &mut Chunk) -> Option<Vec<String>> {
    let umask = chunk.get("umask").cloned();
    let known = within_call(ctx as &dyn MinionContext, call.job, KnownFunctions::new);
    let errors = verify(chunk, &known);
    // The run reads it again.
    if let Some(umask) = umask {
        chunk.set("umask", umask);
    }
    (!errors.is_empty()).then_some(errors)
}

/// The turn of this run, or who has it.
pub(super) fn turn(call: &Call<'_>) -> Result<Result<Turn, Vec<String>>, CallError> {
    let queue = Queue::read(call.get("queue"), call.ctx.opts());
    let concurrent = call.get("concurrent").is_some_and(Value::is_true);
    turns::take(call, queue, concurrent)
}
