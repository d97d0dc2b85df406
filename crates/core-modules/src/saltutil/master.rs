//! Functions that a master carries out, if this is one.

use std::time::Duration;

use halite_proto::{Map, Value};

use halite_call::{
    Call, CallError, CallResult, MasterFunction, MinionsAnswer, MinionsCommand, python,
};

const NO_MASTER: &str =
    "This command can only be executed on a minion that is located on the master.";

pub(super) fn wheel(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let args = call.varargs().to_vec();
    let kwargs = call.clean_kwargs();
    let answer = call
        .ctx
        .commander("running functions of the master")
        .and_then(|master| master.run_on_master(MasterFunction::Wheel, &name, args, kwargs))
        .map_err(|error| {
            tracing::debug!(%error, "no wheel function was run");
            CallError::command(NO_MASTER)
        })?;
    Ok(Map::from([("return", answer.ret), ("success", answer.success.into())]).into())
}

fn ask(call: &Call<'_>) -> Result<MinionsAnswer, CallError> {
    if call.flag("ssh") {
        return Err(CallError::invocation(
            "minions are not commanded over SSH from here",
        ));
    }
    let text = |name: &str| {
        call.get(name)
            .filter(|value| value.is_true())
            .map(python::str)
    };
    let timeout = match call.arg("timeout") {
        Value::Nil => None,
        given => Duration::try_from_secs_f64(python::float(given)?).ok(),
    };
    let subset = match call.get("subset") {
        Some(value) if value.is_true() => usize::try_from(python::int(value)?).ok(),
        _ => None,
    };
    let command = MinionsCommand {
        tgt: call.arg("tgt").clone(),
        tgt_type: call.text("tgt_type"),
        fun: call.text("fun"),
        arg: match call.arg("arg") {
            Value::List(args) => args.clone(),
            Value::Nil => Vec::new(),
            one => vec![one.clone()],
        },
        kwarg: call.arg("kwarg").as_map().cloned().unwrap_or_default(),
        ret: text("ret").unwrap_or_default(),
        timeout,
        batch: text("batch"),
        subset,
        failhard: call.get("failhard").is_some_and(Value::is_true),
    };
    let commander = call.ctx.commander("commanding minions");
    let answer = commander.and_then(|commander| commander.command_minions(&command));
    answer.map_err(|error| {
        tracing::debug!(%error, "no minion was commanded");
        CallError::command(NO_MASTER)
    })
}

/// The returns, one map for each minion.
fn returns(answer: MinionsAnswer) -> Vec<Map> {
    let jid = answer.jid.unwrap_or_default();
    let returns = answer.returns.into_iter();
    returns
        .filter_map(|minion| {
            let about = Map::from([
                ("ret", minion.ret?),
                ("retcode", minion.retcode.into()),
                ("jid", jid.as_str().into()),
            ]);
            Some(Map::from([(minion.id.as_str(), about)]))
        })
        .collect()
}

pub(super) fn cmd(call: &Call<'_>) -> CallResult {
    let mut all = Map::new();
    for one in returns(ask(call)?) {
        all.extend(one);
    }
    Ok(all.into())
}

pub(super) fn cmd_iter(call: &Call<'_>) -> CallResult {
    let each = returns(ask(call)?).into_iter();
    Ok(each.map(Value::from).collect::<Vec<_>>().into())
}

pub(super) fn mmodule(call: &Call<'_>) -> CallResult {
    let fun = call.text("fun");
    call.salt(&fun, call.varargs(), call.clean_kwargs())
}

pub(super) fn update(_: &Call<'_>) -> CallResult {
    Ok(Map::from([("_error", "Esky not available as import")]).into())
}
