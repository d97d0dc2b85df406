//! `salt.function`: one function on many minions.

use halite_call::{Call, CallError, CallResult, MinionReturn, StateReturn};
use halite_proto::{Map, Value};

use super::minions::{Excused, command, insert_job_id, shown, warn};
use super::{COMMANDING, told};

pub(super) fn function(call: &Call<'_>) -> CallResult {
    let fun = call.text("name");
    let mut ret = StateReturn::of(call);
    let arg = match call.arg("arg") {
        Value::List(args) => args.clone(),
        Value::Str(text) => {
            warn(&mut ret, "Please specify 'arg' as a list of arguments.");
            text.split_whitespace().map(Value::from).collect()
        }
        Value::Nil => Vec::new(),
        one => vec![one.clone()],
    };
    if call.is_test() {
        let text = format!(
            "Function {fun} would be executed on target {}",
            call.text("tgt")
        );
        return Ok(shown(ret.pending(text)));
    }
    let mut command = command(call)?;
    command.fun.clone_from(&fun);
    command.arg = arg;
    command.kwarg = call.arg("kwarg").as_map().cloned().unwrap_or_default();
    told::of_minions(call, "function", &fun, &command);
    let commander = call.ctx.commander(COMMANDING);
    let answer = match commander.and_then(|commander| commander.command_minions(&command)) {
        Ok(answer) => answer,
        Err(error) => return Ok(shown(ret.failed(error.to_string()))),
    };
    if answer.returns.is_empty() {
        return Ok(shown(ret.failed("No minions responded")));
    }
    insert_job_id(&mut ret, answer.jid.as_deref());
    let excused = Excused::read(call, &mut ret);
    let mut failed: Vec<&str> = Vec::new();
    for of in &answer.returns {
        // A return code counts even where the minion is excused, as in Salt.
        let by_code = of.retcode != 0;
        if by_code || (has_failed(call, of)? && !excused.has(&of.id)) {
            failed.push(&of.id);
        }
    }
    let ran: Vec<&str> = answer.returns.iter().map(|of| of.id.as_str()).collect();
    let ran = ran.join(", ");
    let comment = if failed.is_empty() {
        format!("Function ran successfully. Function {fun} ran on {ran}.")
    } else {
        let failed = failed.join(", ");
        format!("Running function {fun} failed on minions: {failed} Function {fun} ran on {ran}.")
    };
    ret.result = Some(failed.is_empty());
    ret.comment = comment.into();
    let returns: Map = answer
        .returns
        .into_iter()
        .map(|of| (Value::from(of.id), of.ret.unwrap_or(Value::Bool(false))))
        .collect();
    ret.changes.insert("ret", returns);
    Ok(shown(ret))
}

/// Whether what a minion returned is a failure: nothing, a plain false, or
/// what `fail_function` says no to.
fn has_failed(call: &Call<'_>, of: &MinionReturn) -> Result<bool, CallError> {
    let Some(value) = &of.ret else {
        return Ok(true);
    };
    if *value == Value::Bool(false) {
        return Ok(true);
    }
    match call.text_opt("fail_function") {
        Some(judge) => Ok(!call
            .salt(&judge, std::slice::from_ref(value), Map::new())?
            .is_true()),
        None => Ok(false),
    }
}
