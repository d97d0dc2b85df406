//! States of the names of hosts.

use halite_call::{
    Call, CallError, CallResult, Function, Module, StateReturn, check_one_line, python,
};
use halite_proto::{Map, Value};

use crate::hosts::{self, Entry};

pub(crate) const MODULE: Module = Module {
    name: "host",
    functions: &[
        Function::new(
            "host.absent",
            "(name, ip)",
            absent,
            "An address does not have a name.",
        ),
        Function::new(
            "host.only",
            "(name, hostnames)",
            only,
            "An address has these names and no others.",
        ),
        Function::new(
            "host.present",
            "(name, ip, comment='', clean=False)",
            present,
            "An address has a name.",
        ),
    ],
};

fn addresses(call: &Call<'_>) -> Vec<String> {
    match call.arg("ip") {
        Value::List(items) => items.iter().map(python::str).collect(),
        other => vec![python::str(other)],
    }
}

fn add_change(changes: &mut Map, kind: &str, ip: &str, what: &str) {
    let all = changes.get_or_insert_with(Value::from(kind), || Value::Map(Map::new()));
    if let Value::Map(all) = all {
        let list = all.get_or_insert_with(Value::from(ip), || Value::List(Vec::new()));
        if let Value::List(list) = list {
            list.push(what.into());
        }
    }
}

fn present(call: &Call<'_>) -> CallResult {
    let (name, note) = (call.text("name"), call.text_opt("comment"));
    let mut state = StateReturn::of(call);
    let wanted = addresses(call);
    let old = hosts::load(call);
    let entries = hosts::entries(&old);
    let (mut comments, mut warnings) = (Vec::new(), Vec::new());
    let (mut add, mut annotate, mut remove) = (Vec::new(), Vec::new(), Vec::new());
    for ip in wanted
        .iter()
        .filter(|ip| hosts::find(&entries, ip).is_none())
    {
        add.push(ip.clone());
        if note.is_some() {
            annotate.push(ip.clone());
        }
    }
    for entry in &entries {
        let Entry::Host {
            ip,
            aliases,
            comment,
        } = entry
        else {
            continue;
        };
        let named = aliases.contains(&name);
        match (wanted.contains(ip), named) {
            (false, true) if call.flag("clean") => remove.push(ip.clone()),
            (false, true) => warnings.push(Value::from(format!(
                "Host {name} present for IP address {ip}. To get rid of this warning, either run this state with 'clean' set to True to remove {name} from {ip}, or add {ip} to the 'ip' argument."
            ))),
            (false, false) => {}
            (true, true) if note.is_some() && *comment != note => annotate.push(ip.clone()),
            (true, true) => comments.push(format!("Host {name} ({ip}) already present")),
            (true, false) => {
                add.push(ip.clone());
                if note.is_some() {
                    annotate.push(ip.clone());
                }
            }
        }
    }
    let test = call.is_test();
    // All of it is done to the text, and the file is replaced once.
    let mut text = old.clone();
    check_one_line("name", &name)?;
    check_one_line("comment", note.as_deref().unwrap_or_default())?;
    for ip in &add {
        if ip.parse::<std::net::IpAddr>().is_err() {
            state.result = Some(false);
            comments.push(format!("Invalid IP Address for {name} ({ip})"));
            continue;
        }
        if test {
            state.result = None;
            comments.push(format!("Host {name} ({ip}) would be added"));
        } else {
            text = hosts::add(&text, ip, &name);
            comments.push(format!("Added host {name} ({ip})"));
        }
        add_change(&mut state.changes, "added", ip, &name);
    }
    let note = note.unwrap_or_default();
    for ip in &annotate {
        if test {
            comments.push(format!("Comment for {ip} ({note}) would be added"));
        } else if let Some(changed) = hosts::comment_on(&text, ip, &note) {
            text = changed;
            comments.push(format!("Set comment for host {ip} ({note})"));
        } else {
            state.result = Some(false);
            comments.push(format!("Failed to add comment for host {ip} ({note})"));
            continue;
        }
        add_change(&mut state.changes, "comment_added", ip, &note);
    }
    for ip in &remove {
        if test {
            state.result = None;
            comments.push(format!("Host {name} ({ip}) would be removed"));
        } else {
            text = hosts::remove(&text, ip, &name);
            comments.push(format!("Removed host {name} ({ip})"));
        }
        add_change(&mut state.changes, "removed", ip, &name);
    }
    hosts::save(call, &old, &text)?;
    state.comment = comments.join("\n").into();
    if !warnings.is_empty() {
        state.more.insert("warnings", Value::List(warnings));
    }
    Ok(state.into())
}

fn absent(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let mut state = StateReturn::of(call);
    state.result = None;
    let mut comments = Vec::new();
    let old = hosts::load(call);
    let mut text = old.clone();
    for ip in addresses(call) {
        let (aliases, _) = hosts::find(&hosts::entries(&text), &ip).unwrap_or_default();
        if !aliases.contains(&name) {
            state.result = Some(true);
            comments.push(format!("Host {name} ({ip}) already absent"));
        } else if call.is_test() {
            comments.push(format!("Host {name} ({ip}) needs to be removed"));
        } else {
            text = hosts::remove(&text, &ip, &name);
            state.changes.insert("host", name.as_str());
            state.result = Some(true);
            comments.push(format!("Removed host {name} ({ip})"));
        }
    }
    hosts::save(call, &old, &text)?;
    state.comment = comments.join("\n").into();
    Ok(state.into())
}

fn only(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let state = StateReturn::of(call);
    let names = match call.arg("hostnames") {
        Value::List(items) => items.iter().map(python::str).collect(),
        other => vec![python::str(other)],
    };
    for text in names.iter().map(|name| name.trim()).chain([name.as_str()]) {
        check_one_line("a name", text)?;
    }
    let text = hosts::load(call);
    let (old, _) = hosts::find(&hosts::entries(&text), &name).unwrap_or_default();
    let old = old.join(" ");
    let new = names
        .iter()
        .map(|name| name.trim())
        .collect::<Vec<_>>()
        .join(" ");
    if old == new {
        return Ok(state
            .ok(format!("IP address {name} already set to \"{new}\""))
            .into());
    }
    if call.is_test() {
        return Ok(state
            .pending(format!("Would change {name} from \"{old}\" to \"{new}\""))
            .into());
    }
    let done: Result<(), CallError> =
        hosts::save(call, &text, &hosts::set(&text, &name, &new, None));
    if let Err(error) = done {
        tracing::error!(%error, "could not change the names of a host");
        return Ok(state
            .failed(format!(
                "hosts.set_host failed to change {name} from \"{old}\" to \"{new}\""
            ))
            .into());
    }
    let change = Map::from([("old", old.as_str()), ("new", new.as_str())]);
    Ok(state
        .ok(format!(
            "successfully changed {name} from \"{old}\" to \"{new}\""
        ))
        .change(name, change)
        .into())
}
