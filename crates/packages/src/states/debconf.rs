//! States of answers to the questions of Debian's packages.

use halite_call::{Call, CallResult, Function, Module, StateReturn, python};
use halite_proto::Value;

use crate::debconf;

pub(crate) const MODULE: Module = Module {
    name: "debconf",
    functions: &[
        Function::new(
            "debconf.set",
            "(name, data, **kwargs)",
            set,
            "Questions of a package have these answers.",
        ),
        Function::new(
            "debconf.set_file",
            "(name, source, template=None, context=None, defaults=None, **kwargs)",
            set_file,
            "Questions have the answers of a file.",
        ),
    ],
};

fn set(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let mut state = StateReturn::of(call);
    let current = debconf::show(call, &name)?.unwrap_or_default();
    let mut unchanged = String::new();
    let Value::Map(data) = call.arg("data") else {
        return Ok(state.failed("data is not a map of questions").into());
    };
    for (question, answer) in data {
        let question = python::str(question);
        let field = |key: &str| answer.get(key).cloned().unwrap_or_default();
        let kind = python::str(&field("type"));
        let value = match (kind.as_str(), field("value")) {
            ("boolean", value) => if value.is_true() { "true" } else { "false" }.to_owned(),
            (_, value) => python::str(&value),
        };
        let is_there = current
            .iter()
            .any(|known| *known == [question.clone(), kind.clone(), value.clone()]);
        if is_there {
            if unchanged.is_empty() {
                unchanged.push_str("Unchanged answers: ");
            }
            unchanged.push_str(&format!("{question} "));
            continue;
        }
        let shown = if kind == "password" {
            "(password hidden)".to_owned()
        } else {
            value.clone()
        };
        if call.is_test() {
            state.result = None;
            state
                .changes
                .insert(question, format!("New value: {shown}"));
        } else if debconf::set(call, &name, &question, &kind, &value)? {
            state.changes.insert(question, shown);
        } else {
            state = state.failed("Some settings failed to be applied.");
            state.changes.insert(question, "Failed to set!");
        }
    }
    if state.changes.is_empty() {
        state.comment = "All specified answers are already set".into();
    } else if state.result != Some(false) {
        state.comment = unchanged.into();
    }
    Ok(state.into())
}

fn set_file(call: &Call<'_>) -> CallResult {
    let state = StateReturn::of(call);
    if call.is_test() {
        return Ok(state
            .pending("Debconf selections would have been set.")
            .into());
    }
    let env = call
        .job
        .state
        .as_ref()
        .and_then(|state| state.low.get("__env__").cloned())
        .unwrap_or_else(|| "base".into());
    Ok(if debconf::set_file(call, &call.text("source"), &env)? {
        state.ok("Debconf selections were set.")
    } else {
        state.failed("Unable to set debconf selections from file.")
    }
    .into())
}
