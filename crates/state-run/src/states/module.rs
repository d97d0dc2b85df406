//! `module`: execution functions as states, in the old form (one function with
//! its arguments by name) and the new one (functions as arguments).
//!
//! Salt 3008.5, `salt/states/module.py`.

use halite_call::{Call, CallError, CallResult, Function, Module, Signature, StateReturn};
use halite_proto::python;
use halite_proto::{Map, Value};

pub(super) const MODULE: Module = Module {
    name: "module",
    functions: &[
        Function::new(
            "module.mod_watch",
            "(**kwargs)",
            run,
            "Calls the functions because something that is watched has changed.",
        ),
        Function::new(
            "module.run",
            "(**kwargs)",
            run,
            "Calls execution functions: one by its name, with arguments by name, or several\nwith lists of arguments.",
        ),
        Function::new(
            "module.wait",
            "(name, **kwargs)",
            nothing,
            "Calls the functions only if something that is watched has changed.",
        ),
        Function::new(
            "module.watch",
            "(name, **kwargs)",
            nothing,
            "Calls the functions only if something that is watched has changed.",
        ),
    ],
};

/// Arguments that are no function.
const NO_FUNCTION: [&str; 3] = ["name", "__reqs__", "sfun"];

/// Parameters whose names a state has for itself; an `m_` before them means
/// the function's.
const SHADOWED: [&str; 5] = ["name", "fun", "names", "state", "saltenv"];

fn nothing(call: &Call<'_>) -> CallResult {
    Ok(StateReturn::of(call).into())
}

fn run(call: &Call<'_>) -> CallResult {
    let keys = call.kwargs().keys().filter_map(Value::as_str);
    let mut functions = keys.filter(|key| !NO_FUNCTION.contains(key)).peekable();
    if functions.peek().is_none() || functions.any(|key| !key.contains('.')) {
        old_form(call)
    } else {
        new_form(call)
    }
}

fn new_form(call: &Call<'_>) -> CallResult {
    let mut kwargs = call.kwargs().clone();
    kwargs.remove("name");
    let names = Value::List(kwargs.keys().cloned().collect());
    let ret = StateReturn::new(names);
    let functions: Vec<String> = kwargs
        .keys()
        .map(python::str)
        .filter(|key| key.contains('.'))
        .collect();
    // A function may be called twice: what stands behind a colon only tells
    // the calls apart.
    let plain = |key: &str| key.split(':').next().unwrap_or_default().to_owned();
    let (known, missing): (Vec<String>, Vec<String>) = functions
        .iter()
        .map(|key| plain(key))
        .partition(|fun| call.has_function(fun));
    if !missing.is_empty() || call.is_test() {
        return Ok(ordered(announced(ret, call.is_test(), &known, &missing)));
    }
    let (mut failures, mut successes) = (Vec::new(), Vec::new());
    let mut changes = Map::new();
    for key in &functions {
        let args = kwargs.get(key).cloned().unwrap_or_default();
        match call_with(call, &plain(key), &args) {
            Ok(value) if holds(&value) => {
                let said = match &value {
                    Value::Map(map) => map
                        .get("comment")
                        .map_or_else(|| "Success".to_owned(), python::str),
                    other => python::str(other),
                };
                successes.push(format!("{key}: {said}"));
                changes.insert(key.as_str(), value);
            }
            Ok(Value::Map(map)) => {
                let said = map.get("comment").map(python::str);
                let said = said.unwrap_or_else(|| "(error message N/A)".to_owned());
                failures.push(format!("'{key}' failed: {said}"));
            }
            Ok(value) => failures.push(format!("'{key}': {}", python::str(&value))),
            Err(
                error @ (CallError::Invocation(_)
                | CallError::Arguments(_)
                | CallError::Exception {
                    kind: "TypeError", ..
                }),
            ) => failures.push(format!("'{key}' failed: {}", text(&error))),
            Err(error) => return Err(error),
        }
    }
    let failed = !failures.is_empty();
    failures.extend(successes);
    let mut ret = ret;
    ret.changes = changes;
    ret.result = Some(!failed);
    ret.comment = failures.join(", ").into();
    Ok(ordered(ret))
}

/// Calls `fun` with the arguments of the new form: values are positional, maps
/// are arguments by name.
fn call_with(call: &Call<'_>, fun: &str, given: &Value) -> CallResult {
    let signature = signature(call, fun)?;
    let required: Vec<&str> = signature
        .params
        .iter()
        .filter(|param| param.default.is_none())
        .map(|param| param.name.as_str())
        .collect();
    let one;
    let items = match given {
        Value::List(items) => items.as_slice(),
        Value::Nil => &[],
        other => {
            one = [other.clone()];
            &one
        }
    };
    let (mut args, mut kwargs) = (Vec::new(), Map::new());
    let mut places = Map::new();
    for item in items {
        match item {
            Value::Map(map) => {
                for (key, value) in map {
                    if key.as_str().is_some_and(|key| required.contains(&key)) {
                        places.insert(key.clone(), value.clone());
                    } else {
                        kwargs.insert(key.clone(), value.clone());
                    }
                }
            }
            value => args.push(value.clone()),
        }
    }
    for name in &required {
        if let Some(value) = places.get(name) {
            args.push(value.clone());
        }
    }
    if required.len() > args.len() {
        let missing: Vec<&str> = required
            .iter()
            .skip(args.len())
            .copied()
            .filter(|name| !kwargs.contains_key(name))
            .collect();
        if !missing.is_empty() {
            return Err(CallError::invocation(format!(
                "Missing arguments: {}",
                missing.join(", ")
            )));
        }
    }
    call.salt(fun, &args, kwargs)
}

/// What is said without calling anything.
fn announced(ret: StateReturn, test: bool, known: &[String], missing: &[String]) -> StateReturn {
    // Salt writes the truth value where it means an `s`.
    let plural = |list: &[String]| if list.len() > 1 { "True" } else { "" };
    let mut parts = Vec::new();
    if !missing.is_empty() {
        parts.push(format!(
            "Unavailable function{}: {}.",
            plural(missing),
            missing.join(", ")
        ));
    }
    if test && !known.is_empty() {
        parts.push(format!(
            "Function{} {} to be executed.",
            plural(known),
            known.join(", ")
        ));
    }
    let comment = parts.join(" ");
    if missing.is_empty() {
        ret.pending(comment)
    } else {
        ret.failed(comment)
    }
}

fn old_form(call: &Call<'_>) -> CallResult {
    let fun_value = call.kwargs().get("name").cloned().unwrap_or_default();
    let fun = python::str(&fun_value);
    let ret = StateReturn::new(fun_value);
    if !call.has_function(&fun) {
        let comment = format!("Module function {fun} is not available");
        return Ok(ordered(ret.failed(comment)));
    }
    if call.is_test() {
        let comment = format!("Module function {fun} is set to execute");
        return Ok(ordered(ret.pending(comment)));
    }
    let signature = signature(call, &fun)?;
    let (args, kwargs) = match old_arguments(call, &signature) {
        Ok(arguments) => arguments,
        Err(why) => return Ok(ordered(ret.failed(why))),
    };
    match call.salt(&fun, &args, kwargs) {
        Ok(value) => {
            let result = holds(&value);
            let mut ret = ret.change("ret", value);
            ret.result = Some(result);
            ret.comment = format!("Module function {fun} executed").into();
            Ok(ordered(ret))
        }
        Err(ended @ CallError::Ended(_)) => Err(ended),
        Err(error) => Ok(ordered(ret.failed(format!(
            "Module function {fun} threw an exception. Exception: {}",
            text(&error)
        )))),
    }
}

/// The arguments of the old form, in the places of the function's parameters.
fn old_arguments(call: &Call<'_>, signature: &Signature) -> Result<(Vec<Value>, Map), String> {
    let given = call.kwargs();
    let mut args = Vec::new();
    let mut missing = Vec::new();
    for param in &signature.params {
        let own = own_name(&param.name);
        // The name of the state is no argument of the function.
        let direct = given.get(&param.name).filter(|_| param.name != "name");
        match given.get(&own).or(direct).or(param.default.as_ref()) {
            Some(value) => args.push(value.clone()),
            None => missing.push(own),
        }
    }
    if !missing.is_empty() {
        return Err(format!(
            "The following arguments are missing: {}",
            missing.join(" ")
        ));
    }
    if let Some(name) = &signature.varargs {
        match given.get(&own_name(name)) {
            Some(Value::List(more)) => args.extend(more.iter().cloned()),
            Some(_) => return Err(format!("'{name}' must be a list.")),
            None => {}
        }
    }
    let mut kwargs = Map::new();
    if let Some(name) = &signature.kwargs {
        match given.get(name) {
            Some(Value::Map(more)) => kwargs = more.clone(),
            Some(_) => return Err(format!("'{name}' must be a dict.")),
            None => {}
        }
    }
    Ok((args, kwargs))
}

fn own_name(name: &str) -> String {
    if SHADOWED.contains(&name) {
        format!("m_{name}")
    } else {
        name.to_owned()
    }
}

fn signature(call: &Call<'_>, fun: &str) -> Result<Signature, CallError> {
    let function = call
        .find_function(fun)
        .ok_or_else(|| CallError::exception("KeyError", format!("'{fun}'")))?;
    function
        .parse_signature()
        .map_err(|error| CallError::exception("SystemError", error.to_string()))
}

/// Whether what a function returned is no failure: false, a false `result`, a
/// return code other than 0, at any depth.
fn holds(value: &Value) -> bool {
    match value {
        Value::Bool(value) => *value,
        Value::Map(map) => map.iter().all(|(key, value)| match key.as_str() {
            Some("result") if *value == Value::Bool(false) => false,
            Some("retcode") if *value != Value::from(0) => false,
            _ => value.as_map().is_none() || holds(value),
        }),
        _ => true,
    }
}

fn text(error: &CallError) -> String {
    match error {
        CallError::Exception { message, .. } => message.clone(),
        other => other.to_string(),
    }
}

/// A result with its keys in the order of this module.
fn ordered(ret: StateReturn) -> Value {
    Map::from([
        ("name", ret.name),
        ("changes", ret.changes.into()),
        ("comment", ret.comment),
        ("result", ret.result.map_or(Value::Nil, Value::Bool)),
    ])
    .into()
}
