//! States of attributes below `/sys`.

use halite_call::{Call, CallResult, Function, Module, StateReturn};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "sysfs",
    functions: &[Function::new(
        "sysfs.present",
        "(name, value, config=None)",
        present,
        "An attribute of the kernel has a value, of several that one which is\nchosen. It is not kept for the next start; config is not looked at.",
    )],
};

/// The choice of `always [madvise] never`; other values as they are.
fn chosen(value: Value) -> Value {
    let Value::Str(text) = &value else {
        return value;
    };
    let between = text.rsplit_once('[').map(|(_, rest)| rest);
    let between = between.and_then(|rest| rest.split_once(']'));
    between.map_or_else(|| value.clone(), |(choice, _)| choice.into())
}

fn present(call: &Call<'_>) -> CallResult {
    let (name, value) = (call.text("name"), call.arg("value"));
    let state = StateReturn::of(call);
    let key = [Value::from(name.as_str())];
    let current = call.salt("sysfs.read", &key, Map::new())?;
    if current == Value::Bool(false) {
        let comment = format!("SysFS attribute {name} doesn't exist.");
        return Ok(state.failed(comment).into());
    }
    if current.as_map().is_some() {
        return Ok(state
            .failed(format!("{name} is not a SysFS attribute."))
            .into());
    }
    if chosen(current) == *value {
        let comment = format!("SysFS attribute {name} is already set.");
        return Ok(state.ok(comment).into());
    }
    if call.is_test() {
        let comment = format!("SysFS attribute {name} set to be changed.");
        return Ok(state.pending(comment).into());
    }
    let both = [Value::from(name.as_str()), value.clone()];
    let is_set = call.salt("sysfs.write", &both, Map::new())?.is_true();
    let shown = call.text("value");
    Ok(match is_set {
        true => state
            .ok(format!("Updated SysFS attribute {name} to {shown}"))
            .change(name, value.clone()),
        false => state.failed(format!("Failed to set {name} to {shown}")),
    }
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_is_in_brackets() {
        for (value, choice) in [
            (
                Value::from("always [madvise] never"),
                Value::from("madvise"),
            ),
            ("[mq-deadline] none".into(), "mq-deadline".into()),
            ("performance".into(), "performance".into()),
            ("a [b".into(), "a [b".into()),
            (1.into(), 1.into()),
        ] {
            assert_eq!(chosen(value), choice);
        }
    }
}
