//! How `cmd` states run: the arguments for the execution module, test mode,
//! and the result.

use std::path::Path;

use halite_call::{Call, CallError, CallResult};
use halite_proto::python;
use halite_proto::{Map, Value};

use super::cmd::{record, words};
use super::stateful::{Stateful, reinterpreted};

/// Parameters of `cmd.run` that are handed on.
const RUN: [&str; 12] = [
    "cwd",
    "root",
    "runas",
    "password",
    "use_vt",
    "env",
    "prepend_path",
    "output_loglevel",
    "hide_output",
    "success_retcodes",
    "success_stdout",
    "success_stderr",
];

/// Parameters of `cmd.script` that are handed on.
const SCRIPT: [&str; 12] = [
    "runas",
    "password",
    "env",
    "cwd",
    "template",
    "timeout",
    "output_loglevel",
    "hide_output",
    "use_vt",
    "success_retcodes",
    "success_stdout",
    "success_stderr",
];

/// What is for the state alone.
const OWN: [&str; 10] = [
    "name",
    "source",
    "stateful",
    "ignore_timeout",
    "timeout",
    "shell",
    "sfun",
    "func",
    "defaults",
    "context",
];

/// `cmd.run`.
pub(super) fn run(call: &Call<'_>) -> Result<Map, CallError> {
    let name = call.arg("name").clone();
    let stateful = stateful(call);
    let command = match stateful.test_name.as_ref().filter(|_| call.is_test()) {
        Some(test) => test.clone(),
        None => name.clone(),
    };
    if let Some(why) = bad_env(call) {
        return Ok(record(&name, Some(false), why));
    }
    let shown = python::str(&command);
    if call.is_test() && stateful.test_name.is_none() {
        let comment = format!("Command \"{shown}\" would have been executed");
        let mut ret = record(&name, None, comment);
        ret.insert("changes", Map::from([("cmd", command)]));
        return finished(ret, &stateful);
    }
    if let Some(why) = no_directory(call).or_else(|| bad_variable(call)) {
        return Ok(record(&name, Some(false), why));
    }
    let function = if value(call, "root").is_true() {
        "cmd.run_chroot"
    } else {
        "cmd.run_all"
    };
    let mut kwargs = handed_on(call, &RUN);
    if function == "cmd.run_all" {
        kwargs.remove("root");
    }
    kwargs.insert("cmd", command);
    kwargs.insert("timeout", value(call, "timeout"));
    if kwargs.contains_key("python_shell") {
        return Ok(record(&name, Some(false), given_twice(function)));
    }
    kwargs.insert("python_shell", true);
    let args = match function {
        "cmd.run_chroot" => vec![kwargs.remove("root").unwrap_or_default()],
        _ => Vec::new(),
    };
    let ran = match call.salt(function, &args, kwargs) {
        Ok(ran) => ran,
        Err(ended @ CallError::Ended(_)) => return Err(ended),
        Err(error) => return Ok(record(&name, Some(false), words(&error))),
    };
    let mut ret = record(&name, Some(true), format!("Command \"{shown}\" run"));
    let mut changes = ran.as_map().cloned().unwrap_or_default();
    let mut good = succeeded(&changes);
    let timed_out = changes
        .get("stdout")
        .and_then(Value::as_str)
        .is_some_and(|out| out.contains("Timed out after"));
    if value(call, "ignore_timeout").is_true() && timed_out {
        changes.insert("retcode", 0);
        good = true;
    }
    ret.insert("result", good);
    ret.insert("changes", changes);
    let ret = finished(ret, &stateful)?;
    Ok(pending_in_test(call, ret, good))
}

/// `cmd.script`.
pub(super) fn script(call: &Call<'_>) -> Result<Map, CallError> {
    let name = call.arg("name").clone();
    let stateful = stateful(call);
    let script = match stateful.test_name.as_ref().filter(|_| call.is_test()) {
        Some(test) => test.clone(),
        None => name.clone(),
    };
    if let Some(why) = not_a_map(call) {
        return Ok(record(&script, Some(false), why));
    }
    if let Some(why) = bad_env(call) {
        return Ok(record(&script, Some(false), why));
    }
    let shown = python::str(&script);
    if call.is_test() && stateful.test_name.is_none() {
        let comment = format!("Command '{shown}' would have been executed");
        return finished(record(&script, None, comment), &stateful);
    }
    if let Some(why) = no_directory(call) {
        return Ok(record(&script, Some(false), why));
    }
    let source = match value(call, "source") {
        Value::Nil => script.clone(),
        source => source,
    };
    let saltenv = environment(call);
    let mut kwargs = handed_on(call, &SCRIPT);
    kwargs.insert("context", context(call));
    kwargs.insert("saltenv", saltenv.as_str());
    if kwargs.contains_key("python_shell") {
        return Err(CallError::exception("TypeError", given_twice("cmd.script")));
    }
    kwargs.insert("python_shell", true);
    if !kwargs.get("args").is_some_and(Value::is_true)
        && let Some((_, args)) = shown.split_once(' ')
        && shown.split_whitespace().count() > 1
    {
        kwargs.insert("args", args);
    }
    let ran = match call.salt("cmd.script", std::slice::from_ref(&source), kwargs) {
        Ok(ran) => ran,
        Err(ended @ (CallError::Ended(_) | CallError::Arguments(_))) => return Err(ended),
        Err(error) => return Ok(record(&script, Some(false), words(&error))),
    };
    let changes = ran.as_map().cloned().unwrap_or_default();
    let good = succeeded(&changes);
    let comment = if changes.get("cache_error").is_some_and(Value::is_true) {
        format!(
            "Unable to cache script {} from saltenv '{saltenv}'",
            python::str(&source)
        )
    } else {
        format!("Command '{shown}' run")
    };
    let mut ret = record(&script, Some(good), comment);
    ret.insert("changes", changes);
    let ret = finished(ret, &stateful)?;
    Ok(pending_in_test(call, ret, good))
}

/// Why `context` or `defaults` cannot be used, if one of them is not a map.
fn not_a_map(call: &Call<'_>) -> Option<&'static str> {
    for (argument, why) in [
        (
            "context",
            "Invalidly-formatted 'context' parameter. Must be formed as a dict.",
        ),
        (
            "defaults",
            "Invalidly-formatted 'defaults' parameter. Must be formed as a dict.",
        ),
    ] {
        let given = value(call, argument);
        if given.is_true() && given.as_map().is_none() {
            return Some(why);
        }
    }
    None
}

/// What the script's template sees: `defaults`, and `context` over it.
fn context(call: &Call<'_>) -> Map {
    let mut context = match value(call, "defaults") {
        Value::Map(defaults) => defaults,
        _ => Map::new(),
    };
    if let Value::Map(more) = value(call, "context") {
        context.extend(more);
    }
    context
}

/// `cmd.call`: what an SLS can name is text, and text cannot be called.
pub(super) fn call_state(call: &Call<'_>) -> CallResult {
    let func = value(call, "func");
    Err(CallError::wrong_type(format!(
        "'{}' object is not callable",
        func.type_name()
    )))
}

fn finished(ret: Map, stateful: &Stateful) -> Result<Map, CallError> {
    if stateful.wanted {
        reinterpreted(ret)
    } else {
        Ok(ret)
    }
}

/// The command of test mode says what would change.
fn pending_in_test(call: &Call<'_>, mut ret: Map, good: bool) -> Map {
    if call.is_test() && good && ret.get("changes").is_some_and(Value::is_true) {
        ret.insert("result", Value::Nil);
    }
    ret
}

/// `env: [A=1]` names no variable: the entries of a list are maps.
fn bad_variable(call: &Call<'_>) -> Option<String> {
    let env = value(call, "env");
    let entries = env.as_list().unwrap_or_default();
    let bad = entries
        .iter()
        .filter_map(Value::as_str)
        .any(|entry| entry.contains('='));
    bad.then(|| "illegal environment variable name".to_owned())
}

fn succeeded(ran: &Map) -> bool {
    ran.get("retcode").is_some_and(|code| !code.is_true())
}

fn stateful(call: &Call<'_>) -> Stateful {
    Stateful::read(&value(call, "stateful"))
}

fn value(call: &Call<'_>, name: &str) -> Value {
    call.get(name).cloned().unwrap_or_default()
}

fn bad_env(call: &Call<'_>) -> Option<&'static str> {
    match value(call, "env") {
        Value::Nil | Value::List(_) | Value::Map(_) => None,
        _ => Some("Invalidly-formatted 'env' parameter. See documentation."),
    }
}

fn no_directory(call: &Call<'_>) -> Option<String> {
    let cwd = value(call, "cwd");
    let path = python::str(&cwd);
    (cwd.is_true() && !Path::new(&path).is_dir())
        .then(|| format!("Desired working directory \"{path}\" is not available"))
}

/// A state that says `python_shell` fails: states always have a shell, and hand
/// that on themselves.
fn given_twice(function: &str) -> String {
    let function = function.replacen("cmd.", "cmdmod.", 1);
    format!(
        "salt.loaded.int.module.{function}() got multiple values for keyword argument 'python_shell'"
    )
}

/// The arguments for the execution function: `names` of the parameters, and
/// all keywords that the state does not know.
fn handed_on(call: &Call<'_>, names: &[&str]) -> Map {
    let mut kwargs = Map::new();
    for (key, value) in call.kwargs() {
        let own = |key: &str| OWN.contains(&key) || key.starts_with("__");
        if !key.as_str().is_some_and(own) {
            kwargs.insert(key.clone(), value.clone());
        }
    }
    for name in names {
        let given = value(call, name);
        if !given.is_nil() {
            kwargs.insert(*name, given);
        }
    }
    let shell = value(call, "shell");
    let shell = if shell.is_true() {
        Some(shell)
    } else {
        call.ctx.grains().get("shell").cloned()
    };
    if let Some(shell) = shell {
        kwargs.insert("shell", shell);
    }
    kwargs
}

/// The environment whose files the state sees.
fn environment(call: &Call<'_>) -> String {
    let low = call.job.state.as_ref().map(|state| &state.low);
    let of = |key: &str| Some(low?.get(key)?.as_str()?.to_owned());
    of("saltenv")
        .or_else(|| of("__env__"))
        .unwrap_or_else(|| "base".to_owned())
}
