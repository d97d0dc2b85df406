//! States of alternatives of programs.

use halite_call::{Call, CallResult, Function, Module, StateReturn};
use halite_proto::{Map, Value};

use crate::alternatives;

pub(crate) const MODULE: Module = Module {
    name: "alternatives",
    functions: &[
        Function::new(
            "alternatives.auto",
            "(name)",
            auto,
            "The system chooses the program.",
        ),
        Function::new(
            "alternatives.install",
            "(name, link, path, priority)",
            install,
            "A program may stand for a name.",
        ),
        Function::new(
            "alternatives.remove",
            "(name, path)",
            remove,
            "A program may not stand for a name.",
        ),
        Function::new(
            "alternatives.set",
            "(name, path)",
            set,
            "A program stands for a name.",
        ),
    ],
};

fn start(call: &Call<'_>) -> (StateReturn, String) {
    let mut state = StateReturn::of(call);
    state
        .more
        .insert("path", call.get("path").cloned().unwrap_or_default());
    (state, call.text("name"))
}

fn install(call: &Call<'_>) -> CallResult {
    let (mut state, name) = start(call);
    let (link, path, priority) = (call.text("link"), call.text("path"), call.text("priority"));
    state.more.insert("link", link.as_str());
    state.more.insert("priority", call.arg("priority").clone());
    let has_link = alternatives::link(call, &name)?;
    if alternatives::exists(call, &name, &path)? && has_link.as_deref() == Some(&link) {
        return Ok(state
            .ok(format!(
                "Alternative {path} for {name} is already registered"
            ))
            .into());
    }
    if call.is_test() {
        return Ok(state
            .pending(format!(
                "Alternative will be set for {name} to {path} with priority {priority}"
            ))
            .into());
    }
    let ran = alternatives::install(call, &name, &link, &path, &priority)?;
    if !ran.ok() || !alternatives::exists(call, &name, &path)? {
        return Ok(state
            .failed(format!(
                "Alternative for {name} not installed: {}",
                ran.complaint()
            ))
            .into());
    }
    let is_now = alternatives::current(call, &name).as_deref() == Some(&path);
    let comment = if is_now {
        format!("Alternative for {name} set to path {path} with priority {priority}")
    } else {
        format!(
            "Alternative {path} for {name} registered with priority {priority} and not set to default"
        )
    };
    let changes = Map::from([
        ("name", Value::from(name)),
        ("link", link.into()),
        ("path", path.into()),
        ("priority", call.arg("priority").clone()),
    ]);
    state.changes = changes;
    Ok(state.ok(comment).into())
}

fn remove(call: &Call<'_>) -> CallResult {
    let (mut state, name) = start(call);
    let path = call.text("path");
    if !alternatives::exists(call, &name, &path)? {
        let comment = match alternatives::current(call, &name) {
            Some(current) => {
                format!("Alternative for {name} is set to it's default path {current}")
            }
            None => format!("Alternative for {name} doesn't exist"),
        };
        return Ok(state.ok(comment).into());
    }
    if call.is_test() {
        return Ok(state
            .pending(format!("Alternative for {name} will be removed"))
            .into());
    }
    let ran = alternatives::remove(call, &name, &path)?;
    if !ran.ok() {
        return Ok(state.failed(ran.complaint().to_owned()).into());
    }
    state.changes.insert("path", path.as_str());
    Ok(match alternatives::current(call, &name) {
        Some(current) => state.ok(format!(
            "Alternative for {name} removed. Falling back to path {current}"
        )),
        None => {
            state.changes = Map::new();
            state.ok(format!("Alternative for {name} removed"))
        }
    }
    .into())
}

fn auto(call: &Call<'_>) -> CallResult {
    let mut state = StateReturn::of(call);
    let name = call.text("name");
    let shown = alternatives::shown(call, &name)?;
    let first = shown.lines().take(2).collect::<Vec<_>>().join("\n");
    if first.contains(" auto mode") || first.contains("- auto") || first.ends_with("auto.") {
        return Ok(state.ok(format!("{name} already in auto mode")).into());
    }
    if call.is_test() {
        return Ok(state
            .pending(format!("{name} will be put in auto mode"))
            .into());
    }
    let said = alternatives::auto(call, &name)?;
    state.changes.insert("result", said);
    Ok(state.into())
}

fn set(call: &Call<'_>) -> CallResult {
    let (mut state, name) = start(call);
    let path = call.text("path");
    if alternatives::current(call, &name).as_deref() == Some(&path) {
        return Ok(state
            .ok(format!("Alternative for {name} already set to {path}"))
            .into());
    }
    if !alternatives::exists(call, &name, &path)? {
        return Ok(state
            .failed(format!("Alternative {path} for {name} doesn't exist"))
            .into());
    }
    if call.is_test() {
        return Ok(state
            .pending(format!("Alternative for {name} will be set to path {path}"))
            .into());
    }
    alternatives::set(call, &name, &path)?;
    let now = alternatives::current(call, &name);
    if now.as_deref() == Some(&path) {
        state.changes.insert("path", path.as_str());
        return Ok(state
            .ok(format!("Alternative for {name} set to path {path}"))
            .into());
    }
    Ok(state
        .failed(format!("Alternative for {name} not updated"))
        .into())
}
