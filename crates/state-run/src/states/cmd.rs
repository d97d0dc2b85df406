//! `cmd`: commands and scripts as states.
//!
//! Salt 3008.5, `salt/states/cmd.py`.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn};
use halite_proto::{Map, Value};

use super::command::{call_state, run, script};

pub(super) const MODULE: Module = Module {
    name: "cmd",
    functions: &[
        Function::new(
            "cmd.call",
            "(name, func, args=(), kws=None, output_loglevel='debug', hide_output=False, use_vt=False, **kwargs)",
            call_state,
            "Calls a function of the language that states are written in; only states\nwritten in Python can name one.",
        ),
        Function::new(
            "cmd.mod_watch",
            "(name, **kwargs)",
            mod_watch,
            "Runs the command or script because something that is watched has changed.",
        ),
        Function::new(
            "cmd.run",
            RUN,
            |call| run(call).map(Value::Map),
            "Runs a command. creates, onlyif and unless keep it from running; stateful\nreads from its output whether it changed anything.",
        ),
        Function::new(
            "cmd.script",
            SCRIPT,
            |call| script(call).map(Value::Map),
            "Fetches a script and runs it.",
        ),
        Function::new(
            "cmd.wait",
            WAIT,
            nothing,
            "Runs a command only if something that is watched has changed.",
        ),
        Function::new(
            "cmd.wait_call",
            "(name, func, args=(), kws=None, stateful=False, use_vt=False, output_loglevel='debug', hide_output=False, **kwargs)",
            nothing,
            "Calls a function only if something that is watched has changed.",
        ),
        Function::new(
            "cmd.wait_script",
            "(name, source=None, template=None, cwd=None, runas=None, shell=None, env=None, stateful=False, use_vt=False, output_loglevel='debug', hide_output=False, success_retcodes=None, success_stdout=None, success_stderr=None, **kwargs)",
            nothing,
            "Runs a script only if something that is watched has changed.",
        ),
        Function::new(
            "cmd.watch",
            WAIT,
            nothing,
            "Runs a command only if something that is watched has changed.",
        ),
    ],
};

const RUN: &str = "(name, cwd=None, root=None, runas=None, password=None, shell=None, env=None, prepend_path=None, stateful=False, output_loglevel='debug', hide_output=False, timeout=None, ignore_timeout=False, use_vt=False, success_retcodes=None, success_stdout=None, success_stderr=None, **kwargs)";

const SCRIPT: &str = "(name, source=None, template=None, cwd=None, runas=None, password=None, shell=None, env=None, stateful=False, timeout=None, use_vt=False, output_loglevel='debug', hide_output=False, defaults=None, context=None, success_retcodes=None, success_stdout=None, success_stderr=None, **kwargs)";

const WAIT: &str = "(name, cwd=None, root=None, runas=None, shell=None, env=(), stateful=False, output_loglevel='debug', hide_output=False, use_vt=False, success_retcodes=None, success_stdout=None, success_stderr=None, **kwargs)";

fn nothing(call: &Call<'_>) -> CallResult {
    Ok(StateReturn::of(call).into())
}

/// What runs when something that is watched has changed.
fn mod_watch(call: &Call<'_>) -> CallResult {
    let function = call.get("sfun").and_then(Value::as_str).unwrap_or_default();
    match function {
        "wait" | "run" | "watch" => run(call).map(Value::Map),
        "wait_script" | "script" => script(call).map(Value::Map),
        "wait_call" | "call" if call.get("func").is_some_and(Value::is_true) => call_state(call),
        "wait_call" | "call" => Ok(refused(
            call,
            format!("cmd.{function} needs a named parameter func"),
        )),
        _ => Ok(refused(
            call,
            format!(
                "cmd.{function} does not work with the watch requisite, please use cmd.wait or cmd.wait_script"
            ),
        )),
    }
}

fn refused(call: &Call<'_>, comment: String) -> Value {
    let ret = StateReturn::of(call);
    ret.failed(comment).into()
}

/// A record in the order of keys that these states have.
pub(super) fn record(name: &Value, result: Option<bool>, comment: impl Into<Value>) -> Map {
    Map::from([
        ("name", name.clone()),
        ("changes", Map::new().into()),
        ("result", result.map_or(Value::Nil, Value::Bool)),
        ("comment", comment.into()),
    ])
}

/// The text of a failure as these states put it into their comment.
pub(super) fn words(error: &CallError) -> String {
    match error {
        CallError::Exception { message, .. } => message.clone(),
        other => other.to_string(),
    }
}
