//! `salt.execute`: a command for minions. `salt.cmd`: a function of minions, on
//! the master.

use halite_call::{Failure, run_function};
use halite_proto::publish::FunSpec;
use halite_proto::{Jid, Map, Value};

use super::Call;
use super::error::{Ran, RunnerError};
use super::gather::Command;
use super::table::Function;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "salt.cmd",
        "(fun, *args, **kwargs)",
        cmd,
        "Runs a function that minions have, on the master.",
    ),
    Function::new(
        "salt.execute",
        "(tgt, fun, arg=(), timeout=None, tgt_type='glob', ret='', jid='', kwarg=None, **kwargs)",
        execute,
        "Runs a function on minions and waits for what they return.",
    ),
];

fn cmd(call: &Call<'_>) -> Ran {
    let fun = halite_proto::python::str(call.arg("fun"));
    let mut args = call.bound.varargs.clone();
    let mut kwargs = call.bound.kwargs.clone();
    kwargs.remove("with_pillar");
    if !kwargs.is_empty() {
        let mut marked = Map::from([("__kwarg__", true)]);
        marked.extend(kwargs);
        args.push(marked.into());
    }
    let outcome = run_function(call.runners.functions.context(), &fun, &args, &call.job());
    match outcome.failure {
        None | Some(Failure::NotAvailable(_)) => Ok(outcome.ret),
        Some(Failure::Call { error, .. }) => Err(RunnerError::Failed(error.to_string())),
    }
}

fn execute(call: &Call<'_>) -> Ran {
    let fun = match call.arg("fun") {
        Value::Str(fun) if fun.contains(',') => {
            FunSpec::Many(fun.split(',').map(|fun| fun.trim().to_owned()).collect())
        }
        Value::Str(fun) => FunSpec::One(fun.clone()),
        Value::List(funs) => FunSpec::Many(
            funs.iter()
                .filter_map(|fun| fun.as_str().map(str::to_owned))
                .collect(),
        ),
        _ => return Err(RunnerError::Failed("the function must be text".to_owned())),
    };
    let mut arg = match call.arg("arg") {
        Value::List(args) => args.clone(),
        Value::Nil => Vec::new(),
        one => vec![one.clone()],
    };
    if let Some(kwarg) = call.arg("kwarg").as_map().filter(|kwarg| !kwarg.is_empty()) {
        let mut marked = Map::from([("__kwarg__", true)]);
        marked.extend(kwarg.clone());
        arg.push(marked.into());
    }
    let jid = call.jid_arg("jid");
    let is_taken = |jid: &Jid| {
        let jobs = &call.runners.jobs;
        !jobs.may_begin(jid, Some(call.user), call.proven_by)
    };
    if jid.as_ref().is_some_and(is_taken) {
        return Err(RunnerError::Failed(
            "the job id belongs to another job".to_owned(),
        ));
    }
    let command = Command {
        fun,
        arg,
        ret: call.text("ret").unwrap_or_default(),
        jid,
        timeout: call.seconds("timeout", call.timeout),
        ..Command::new(
            call,
            call.arg("tgt").clone(),
            call.text("tgt_type").unwrap_or("glob"),
            "",
        )
    };
    let is_full = call
        .bound
        .kwargs
        .get("full_return")
        .is_some_and(Value::is_true);
    let rows = call.command(&command)?.into_iter();
    let found: Map = rows
        .map(|row| {
            let id = Value::from(row.id.as_str());
            match is_full {
                true => (id, row.into_full().into()),
                false => (id, row.ret),
            }
        })
        .collect();
    Ok(found.into())
}
