//! The common beginning of most file states.

use halite_call::{Call, StateReturn, python};
use halite_proto::{Map, Value};

use crate::core::{owner, path};

/// `name` with `~` opened.
pub(super) fn name(call: &Call<'_>) -> String {
    path::expand_user(&call.text("name"))
}

/// Owner, where some write `owner` for it.
pub(super) fn user(call: &Call<'_>) -> Value {
    let user = call.arg("user");
    if user.is_true() || user.as_i64().is_some() {
        return user.clone();
    }
    match call.kwargs().get("owner") {
        Some(owner) => {
            tracing::warn!(
                "Use of argument owner found, \"owner\" is invalid, please use \"user\""
            );
            owner.clone()
        }
        None => user.clone(),
    }
}

/// What is wrong with owner and group; nothing in test mode, where other
/// states may still make them.
pub(super) fn check_user(call: &Call<'_>, user: &Value, group: &Value) -> Option<String> {
    let mut wrong = String::new();
    if user.is_true() && owner::uid(user).is_none() {
        wrong.push_str(&format!("User {} is not available ", python::str(user)));
    }
    if group.is_true() && owner::gid(group).is_none() {
        wrong.push_str(&format!("Group {} is not available", python::str(group)));
    }
    if wrong.is_empty() {
        return None;
    }
    if call.is_test() {
        tracing::warn!("{wrong}");
        return None;
    }
    Some(wrong)
}

/// What is asked to be checked and cannot be: signatures.
pub(crate) fn unchecked_signature(call: &Call<'_>) -> Option<String> {
    let asked = [
        "signature",
        "source_hash_sig",
        "signed_by_any",
        "signed_by_all",
    ]
    .into_iter()
    .find(|name| call.get(name).is_some_and(Value::is_true))?;
    Some(format!(
        "'{asked}' is set, but signatures cannot be checked by this minion"
    ))
}

/// The state failed with nothing changed.
pub(super) fn failed(ret: StateReturn, comment: impl Into<Value>) -> halite_call::CallResult {
    Ok(ret.failed(comment).into())
}

/// A failure of the system that is the state's comment rather than an
/// exception: a full disk, a read-only file system, a missing right.
pub(super) fn refused(error: &halite_call::CallError) -> Option<String> {
    match error {
        halite_call::CallError::Exception {
            kind: "OSError" | "PermissionError",
            message,
            ..
        } => Some(message.clone()),
        _ => None,
    }
}

/// The comment on a path that does not start at the root.
pub(super) fn not_absolute(name: &str) -> String {
    format!("Specified file {name} is not an absolute path")
}

/// Things that states keep for each other during a run.
pub(super) fn memo<T>(call: &Call<'_>, work: impl FnOnce(&mut Map) -> T) -> T {
    match &call.job.state {
        Some(scope) => {
            let mut memo = scope
                .memo
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            work(&mut memo)
        }
        None => work(&mut Map::new()),
    }
}

/// What the running chunk says under `key`.
pub(super) fn low(call: &Call<'_>, key: &str) -> Value {
    let low = call.job.state.as_ref().map(|scope| &scope.low);
    low.and_then(|low| low.get(key))
        .cloned()
        .unwrap_or_default()
}

/// A list of one or of many.
pub(super) fn list(value: &Value) -> Vec<Value> {
    match value {
        Value::Nil => Vec::new(),
        Value::List(items) => items.clone(),
        one => vec![one.clone()],
    }
}
