//! States of log rotation.

use halite_call::{Call, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "logrotate",
    functions: &[Function::new(
        "logrotate.set",
        "(name, key, value, setting=None, conf_file='/etc/logrotate.conf')",
        set,
        "A setting of all logs has a value, or with setting one of the log that\nkey names.",
    )],
};

/// A number where a text is one.
fn number(value: &Value) -> Value {
    let is_text = matches!(value, Value::Str(_) | Value::Int(_));
    match python::int(value).ok().filter(|_| is_text) {
        Some(number) => number.into(),
        None => value.clone(),
    }
}

fn set(call: &Call<'_>) -> CallResult {
    let (key, value) = (call.text("key"), call.text("value"));
    let state = StateReturn::of(call);
    let mut place = Map::from([
        ("key", key.as_str().into()),
        ("conf_file", call.arg("conf_file").clone()),
    ]);
    // What is set, and as what comments name it.
    let (wanted, first, within) = match call.arg("setting") {
        Value::Nil => {
            let command = format!("ommand '{key}'");
            (
                number(call.arg("value")),
                format!("C{command}"),
                format!("c{command}"),
            )
        }
        setting => {
            place.insert("value", value.as_str());
            let command = format!("lock '{key}' command '{value}'");
            (
                number(setting),
                format!("B{command}"),
                format!("b{command}"),
            )
        }
    };
    let shown = python::str(&wanted);
    let current = call.salt("logrotate.get", &[], place.clone())?;
    if current == wanted {
        let comment = format!("{first} already has value: {shown}");
        return Ok(state.ok(comment).into());
    }
    let state = state.change("old", current).change("new", wanted.clone());
    if call.is_test() {
        let comment = format!("{first} will be set to value: {shown}");
        return Ok(state.pending(comment).into());
    }
    let what = if place.contains_key("value") {
        "setting"
    } else {
        "value"
    };
    place.insert(what, wanted);
    let is_set = call.salt("logrotate.set", &[], place)?.is_true();
    Ok(match is_set {
        true => state.ok(format!("Set {within} value: {shown}")),
        false => state.failed(format!("Unable to set {within} value: {shown}")),
    }
    .into())
}
