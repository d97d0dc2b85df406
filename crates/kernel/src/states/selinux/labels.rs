//! States of contexts of files and types of ports (SELinux).

use halite_call::{Call, CallResult, python};
use halite_proto::{Map, Value};

use super::state;
use crate::selinux;

fn fine(ran: &Value) -> bool {
    ran.get("retcode").and_then(Value::as_i64) == Some(0)
}

pub(super) fn fcontext_policy_present(call: &Call<'_>) -> CallResult {
    let (name, sel_type) = (call.text("name"), call.text("sel_type"));
    let kind = selinux::kind(&call.text("filetype"))?;
    if selinux::context(call)?.is_some() {
        return Ok(state(call)
            .ok(format!(
                "SELinux policy for \"{name}\" already present with specified filetype \"{kind}\" and sel_type \"{sel_type}\"."
            ))
            .into());
    }
    if call.is_test() {
        return Ok(state(call).pending("").into());
    }
    let ran = selinux::write_context(call, "add", Some(&sel_type))?;
    if !fine(&ran) {
        return Ok(state(call)
            .failed(format!("Error adding new rule: {}", python::str(&ran)))
            .into());
    }
    let new = Map::from([("filetype", kind), ("sel_type", sel_type.as_str())]);
    Ok(state(call)
        .ok("")
        .change("old", Map::new())
        .change("new", Map::from([(name, new)]))
        .into())
}

pub(super) fn fcontext_policy_absent(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let Some(current) = selinux::context(call)? else {
        let (kind, sel_type) = (call.text("filetype"), call.text("sel_type"));
        return Ok(state(call)
            .ok(format!(
                "SELinux policy for \"{name}\" already absent with specified filetype \"{kind}\" and sel_type \"{sel_type}\"."
            ))
            .into());
    };
    let sel_type = match call.text_opt("sel_type") {
        Some(sel_type) => sel_type,
        None => current.get("sel_type").map(python::str).unwrap_or_default(),
    };
    let done = state(call)
        .change("old", Map::from([(name, current)]))
        .change("new", Map::new());
    if call.is_test() {
        return Ok(done.pending("").into());
    }
    let ran = selinux::write_context(call, "delete", Some(&sel_type))?;
    Ok(if fine(&ran) {
        done.ok("")
    } else {
        done.failed(format!("Error removing policy: {}", python::str(&ran)))
    }
    .into())
}

pub(super) fn fcontext_policy_applied(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    if selinux::unapplied(call)?.is_empty() {
        return Ok(state(call)
            .ok(format!(
                "SElinux policies are already applied for filespec \"{name}\""
            ))
            .into());
    }
    if call.is_test() {
        return Ok(state(call).pending("").into());
    }
    let ran = selinux::apply(call)?;
    let changes = ran.get("changes").and_then(Value::as_map).cloned();
    let ran = Value::from(ran);
    if !fine(&ran) {
        return Ok(state(call).failed(ran).into());
    }
    let mut done = state(call).ok("");
    done.changes = changes.unwrap_or_default();
    Ok(done.into())
}

/// How comments name a port.
fn about_port(call: &Call<'_>, is: &str) -> String {
    format!(
        "SELinux policy for \"{}\" already {is} with specified sel_type \"{}\", protocol \"{}\" and port \"{}\".",
        call.text("name"),
        call.text("sel_type"),
        call.text("protocol"),
        call.text("port")
    )
}

/// After a change of a port: what was, and what is.
fn port_changed(call: &Call<'_>, old: Option<Map>, ran: &Value, verb: &str) -> CallResult {
    if !fine(ran) {
        return Ok(state(call)
            .failed(format!("Error {verb} policy: {}", python::str(ran)))
            .into());
    }
    let value = |policy: Option<Map>| policy.map_or(Value::Nil, Value::from);
    let sel_type = call.text_opt("sel_type");
    let new = selinux::port(call, sel_type.as_deref())?;
    Ok(state(call)
        .ok("")
        .change("old", value(old))
        .change("new", value(new))
        .into())
}

pub(super) fn port_policy_present(call: &Call<'_>) -> CallResult {
    let sel_type = call.text("sel_type");
    if selinux::port(call, Some(&sel_type))?.is_some() {
        return Ok(state(call).ok(about_port(call, "present")).into());
    }
    if call.is_test() {
        return Ok(state(call).pending("").into());
    }
    let old = selinux::port(call, None)?;
    let action = if old.is_some() { "modify" } else { "add" };
    let ran = selinux::change_port(call, action)?;
    port_changed(call, old, &ran, "adding new")
}

pub(super) fn port_policy_absent(call: &Call<'_>) -> CallResult {
    let sel_type = call.text_opt("sel_type");
    let Some(old) = selinux::port(call, sel_type.as_deref())? else {
        return Ok(state(call).ok(about_port(call, "absent")).into());
    };
    if call.is_test() {
        return Ok(state(call).pending("").into());
    }
    let ran = selinux::change_port(call, "delete")?;
    port_changed(call, Some(old), &ran, "deleting")
}
