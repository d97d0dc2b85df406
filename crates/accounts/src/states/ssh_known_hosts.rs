//! States of hosts that are known by their keys.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

use crate::ssh::known_hosts;

pub(crate) const MODULE: Module = Module {
    name: "ssh_known_hosts",
    functions: &[
        Function::new(
            "ssh_known_hosts.absent",
            "(name, user=None, config=None)",
            absent,
            "A host is not known to a user, or to everyone.",
        ),
        Function::new(
            "ssh_known_hosts.present",
            "(name, user=None, fingerprint=None, key=None, port=None, enc=None, config=None, hash_known_hosts=True, timeout=5, fingerprint_hash_type=None)",
            present,
            "A host is known to a user, or to everyone, by its keys.",
        ),
    ],
};

/// The file, as it is named and said.
fn config(call: &Call<'_>) -> Result<Value, &'static str> {
    let has_user = call.flag("user");
    let config = call
        .text_opt("config")
        .unwrap_or_else(|| known_hosts::default(has_user));
    if !has_user && !config.starts_with('/') {
        return Err("If not specifying a \"user\", specify an absolute \"config\".");
    }
    Ok(config.into())
}

/// The arguments of a function of `ssh`.
fn arguments(call: &Call<'_>, config: &Value, names: &[&str]) -> Map {
    let mut kwargs = Map::from([
        ("hostname", call.arg("name").clone()),
        ("config", config.clone()),
    ]);
    for name in names {
        kwargs.insert(*name, call.arg(name).clone());
    }
    kwargs
}

fn present(call: &Call<'_>) -> CallResult {
    let state = StateReturn::of(call);
    let config = match config(call) {
        Ok(config) => config,
        Err(why) => return Ok(state.failed(why).into()),
    };
    let (name, shown) = (call.text("name"), python::str(&config));
    if call.is_test() {
        return predict(call, state, &config);
    }
    let names = [
        "user",
        "fingerprint",
        "key",
        "port",
        "enc",
        "hash_known_hosts",
        "timeout",
        "fingerprint_hash_type",
    ];
    let done = call.salt("ssh.set_known_host", &[], arguments(call, &config, &names))?;
    let get = |field| done.get(field).cloned().unwrap_or_default();
    match done.get("status").and_then(Value::as_str) {
        Some("exists") => return Ok(state.ok(format!("{name} already exists in {shown}")).into()),
        Some("error") => return Ok(state.failed(get("error")).into()),
        _ => {}
    }
    let new = get("new");
    let first = |field| match &new {
        Value::List(new) => new
            .first()
            .and_then(|entry| entry.get(field))
            .map(python::str)
            .unwrap_or_default(),
        _ => String::new(),
    };
    let comment = if call.flag("key") {
        format!("{name}'s key saved to {shown} (key: {})", first("key"))
    } else if call.flag("fingerprint") {
        let print = first("fingerprint");
        format!("{name}'s key saved to {shown} (fingerprint: {print})")
    } else if call.flag("enc") {
        let (enc, key) = (call.text("enc"), first("key"));
        format!("{name}'s {enc} key saved to {shown} (key: {key})")
    } else {
        format!("{name}'s key(s) saved to {shown}")
    };
    Ok(state
        .ok(comment)
        .change("old", get("old"))
        .change("new", new)
        .into())
}

fn predict(call: &Call<'_>, state: StateReturn, config: &Value) -> CallResult {
    let (name, shown) = (call.text("name"), python::str(config));
    if call.flag("key") && call.flag("fingerprint") {
        let why = "Specify either \"key\" or \"fingerprint\", not both.";
        return Ok(state.failed(why).into());
    }
    if call.flag("key") && !call.flag("enc") {
        let why = "Required argument \"enc\" if using \"key\" argument.";
        return Ok(state.failed(why).into());
    }
    let names = [
        "user",
        "key",
        "fingerprint",
        "port",
        "fingerprint_hash_type",
    ];
    let kwargs = arguments(call, config, &names);
    let found = match call.salt("ssh.check_known_host", &[], kwargs) {
        Ok(found) => found,
        Err(CallError::NotFound(why)) => {
            let why = format!("ssh.check_known_host error: {why}");
            return Ok(state.failed(why).into());
        }
        Err(other) => return Err(other),
    };
    if let Some(why) = found.get("error") {
        return Ok(state.failed(why.clone()).into());
    }
    Ok(match found.as_str() {
        Some("exists") => state.ok(format!("Host {name} is already in {shown}")),
        Some("add") => state.pending(format!("Key for {name} is set to be added to {shown}")),
        _ => state.pending(format!("Key for {name} is set to be updated in {shown}")),
    }
    .into())
}

fn absent(call: &Call<'_>) -> CallResult {
    let state = StateReturn::of(call);
    let config = match config(call) {
        Ok(config) => config,
        Err(why) => return Ok(state.failed(why).into()),
    };
    let kwargs = arguments(call, &config, &["user"]);
    let known = call.salt("ssh.get_known_host_entries", &[], kwargs.clone())?;
    if !known.is_true() {
        return Ok(state.ok("Host is already absent").into());
    }
    if call.is_test() {
        let (name, shown) = (call.text("name"), python::str(&config));
        let what = format!("Key for {name} is set to be removed from {shown}");
        return Ok(state.pending(what).into());
    }
    if let Some(why) = known.get("error") {
        return Ok(state.failed(why.clone()).into());
    }
    let done = call.salt("ssh.rm_known_host", &[], kwargs)?;
    let get = |field| done.get(field).cloned().unwrap_or_default();
    if get("status").as_str() == Some("error") {
        return Ok(state.failed(get("error")).into());
    }
    Ok(state
        .ok(get("comment"))
        .change("old", known)
        .change("new", Value::Nil)
        .into())
}
