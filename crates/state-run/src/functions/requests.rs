//! Runs that are requested, shown, and run later (`state.request`).
//!
//! Salt 3008.5: `<cachedir>/req_state.p`, a map of names to the test run, the SLS
//! and the arguments.

use std::path::PathBuf;

use halite_call::{Call, CallError, CallResult, Function, paths};
use halite_proto::{Map, Value};

use super::run::shown_as_states;
use crate::cache;

pub(super) const REQUEST: Function = shown_as_states(Function::new(
    "state.request",
    "(mods=None, **kwargs)",
    request,
    "Asks for a run: a run in test mode is made, and kept for state.run_request.",
));

pub(super) const CHECK_REQUEST: Function = shown_as_states(Function::new(
    "state.check_request",
    "(name=None)",
    check_request,
    "The runs that have been asked for.",
));

pub(super) const CLEAR_REQUEST: Function = Function::new(
    "state.clear_request",
    "(name=None)",
    clear_request,
    "Forgets one of the runs that have been asked for, or all.",
);

pub(super) const RUN_REQUEST: Function = shown_as_states(Function::new(
    "state.run_request",
    "(name='default', **kwargs)",
    run_request,
    "Runs what has been asked for.",
));

fn request(call: &Call<'_>) -> CallResult {
    let mods = call.arg("mods").clone();
    let mut kwargs = call.clean_kwargs();
    kwargs.insert("test", true);
    let name = kwargs.get("name").map(halite_proto::python::str);
    let name = name.unwrap_or_else(|| "default".to_owned());
    let ret = call.salt("state.apply", std::slice::from_ref(&mods), kwargs.clone())?;
    let mut all = read(call);
    let entry = Map::from([
        ("test_run", ret.clone()),
        ("mods", mods),
        ("kwargs", kwargs.into()),
    ]);
    all.insert(name, entry);
    cache::write(path(call), &all);
    Ok(ret)
}

fn check_request(call: &Call<'_>) -> CallResult {
    let all = read(call);
    match call.text_opt("name") {
        Some(name) if !all.is_empty() => all
            .get(&name)
            .cloned()
            .ok_or_else(|| CallError::exception("KeyError", format!("'{name}'"))),
        _ => Ok(all.into()),
    }
}

fn clear_request(call: &Call<'_>) -> CallResult {
    if !path(call).exists() {
        return Ok(true.into());
    }
    let Some(name) = call.text_opt("name") else {
        let _ = paths::remove_file(path(call));
        return Ok(true.into());
    };
    let mut all = read(call);
    if all.remove(&name).is_none() {
        return Ok(false.into());
    }
    cache::write(path(call), &all);
    Ok(true.into())
}

fn run_request(call: &Call<'_>) -> CallResult {
    let all = read(call);
    let Some(Value::Map(wanted)) = all.get(&call.text("name")) else {
        return Ok(Map::new().into());
    };
    let (Some(mods), Some(Value::Map(kwargs))) = (wanted.get("mods"), wanted.get("kwargs")) else {
        return Ok(Map::new().into());
    };
    let mut kwargs = kwargs.clone();
    kwargs.extend(call.clean_kwargs());
    kwargs.remove("test");
    let ret = call.salt("state.apply", std::slice::from_ref(mods), kwargs)?;
    let _ = paths::remove_file(path(call));
    Ok(ret)
}

fn path(call: &Call<'_>) -> PathBuf {
    call.ctx.cachedir().join("req_state.p")
}

fn read(call: &Call<'_>) -> Map {
    match cache::read(&path(call)) {
        Some(Value::Map(all)) => all,
        _ => Map::new(),
    }
}
