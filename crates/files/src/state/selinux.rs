//! `file.managed` with `selinux`: the labels of the file, once its content is
//! right.

use halite_call::{Call, CallResult, python};
use halite_proto::{Map, Value};

use super::{common, managed};

/// What the argument calls the parts of a context, and what the function does.
const PARTS: [(&str, &str, usize); 4] = [
    ("seuser", "user", 0),
    ("serole", "role", 1),
    ("setype", "type", 2),
    ("serange", "range", 3),
];

/// Manages the file, then its labels.
pub(super) fn managed(call: &Call<'_>) -> CallResult {
    let done = managed::managed(call)?;
    let wanted = call.arg("selinux");
    let failed = done.get("result") == Some(&Value::Bool(false));
    if !wanted.is_true() || failed || call.is_test() {
        return Ok(done);
    }
    let Value::Map(mut ret) = done else {
        return Ok(done);
    };
    let name = common::name(call);
    let context = call.salt(
        "file.get_selinux_context",
        &[name.as_str().into()],
        Map::new(),
    )?;
    let context = python::str(&context);
    let now: Vec<&str> = context.splitn(PARTS.len(), ':').collect();
    // A machine without labels has no context of that form.
    if now.len() < 3 || context.contains(' ') {
        ret.insert("result", false);
        ret.insert("comment", "Failed to get selinux attributes");
        return Ok(ret.into());
    }
    let (mut kwargs, mut old, mut new) = (Map::new(), Map::new(), Map::new());
    for (part, argument, at) in PARTS {
        let Some(value) = wanted.get(part).filter(|value| value.is_true()) else {
            continue;
        };
        let is = now.get(at).copied().unwrap_or_default();
        if is != python::str(value) {
            kwargs.insert(argument, value.clone());
            old.insert(part, is);
            new.insert(part, value.clone());
        }
    }
    if kwargs.is_empty() {
        return Ok(ret.into());
    }
    let set = call.salt("file.set_selinux_context", &[name.as_str().into()], kwargs)?;
    if !set.is_true() {
        ret.insert("result", false);
        ret.insert("comment", "Failed to set selinux attributes");
        return Ok(ret.into());
    }
    if let Some(changes) = ret.get_mut("changes").and_then(Value::as_map_mut) {
        let change = Map::from([("Old", old), ("New", new)]);
        changes.insert("selinux", change);
    }
    Ok(ret.into())
}
