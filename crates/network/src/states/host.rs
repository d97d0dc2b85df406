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

fn present(call: &Call<'_>) -> CallResult {
    let (name, note) = (call.text("name"), call.text_opt("comment"));
    let old = hosts::load(call)?;
    let plan = NamePlan::decide(
        &name,
        note.as_ref(),
        &addresses(call),
        &hosts::entries(&old),
        call.flag("clean"),
    );
    check_one_line("name", &name)?;
    let note = note.unwrap_or_default();
    check_one_line("comment", &note)?;
    let mut edit = Edit {
        name,
        is_test: call.is_test(),
        text: old.clone(),
        comments: plan.comments,
        state: StateReturn::of(call),
    };
    plan.add.iter().for_each(|ip| edit.add(ip));
    plan.annotate.iter().for_each(|ip| edit.annotate(ip, &note));
    plan.remove.iter().for_each(|ip| edit.remove(ip));
    hosts::save(call, &old, &edit.text)?;
    let mut state = edit.state;
    state.comment = edit.comments.join("\n").into();
    if !plan.warnings.is_empty() {
        state.more.insert("warnings", Value::List(plan.warnings));
    }
    Ok(state.into())
}

/// What becomes of the addresses that have a name, or are to have it.
#[derive(Default)]
struct NamePlan {
    /// These get the name.
    add: Vec<String>,
    /// These get the comment.
    annotate: Vec<String>,
    /// These lose the name.
    remove: Vec<String>,
    comments: Vec<String>,
    warnings: Vec<Value>,
}

impl NamePlan {
    /// The plan for a name that the addresses `wanted` are to have, and with
    /// `clean` no others.
    fn decide(
        name: &String,
        note: Option<&String>,
        wanted: &[String],
        entries: &[Entry],
        clean: bool,
    ) -> Self {
        let mut plan = Self::default();
        for ip in wanted
            .iter()
            .filter(|ip| hosts::find(entries, ip).is_none())
        {
            plan.add(ip, note);
        }
        for entry in entries {
            let Entry::Host {
                ip,
                aliases,
                comment,
            } = entry
            else {
                continue;
            };
            match (wanted.contains(ip), aliases.contains(name)) {
                (false, true) if clean => plan.remove.push(ip.clone()),
                (false, true) => plan.warnings.push(Value::from(format!(
                    "Host {name} present for IP address {ip}. To get rid of this warning, either run this state with 'clean' set to True to remove {name} from {ip}, or add {ip} to the 'ip' argument."
                ))),
                (false, false) => {}
                (true, true) if note.is_some() && comment.as_ref() != note => {
                    plan.annotate.push(ip.clone());
                }
                (true, true) => plan
                    .comments
                    .push(format!("Host {name} ({ip}) already present")),
                (true, false) => plan.add(ip, note),
            }
        }
        plan
    }

    fn add(&mut self, ip: &str, note: Option<&String>) {
        self.add.push(ip.to_owned());
        if note.is_some() {
            self.annotate.push(ip.to_owned());
        }
    }
}

/// The hosts file with the changes so far: all of it is done to the text, and
/// the file is replaced once.
struct Edit {
    name: String,
    is_test: bool,
    text: String,
    comments: Vec<String>,
    state: StateReturn,
}

impl Edit {
    fn add(&mut self, ip: &str) {
        let name = &self.name;
        if ip.parse::<std::net::IpAddr>().is_err() {
            self.state.result = Some(false);
            self.comments
                .push(format!("Invalid IP Address for {name} ({ip})"));
            return;
        }
        if self.is_test {
            self.state.result = None;
            self.comments
                .push(format!("Host {name} ({ip}) would be added"));
        } else {
            self.text = hosts::add(&self.text, ip, name);
            self.comments.push(format!("Added host {name} ({ip})"));
        }
        add_change(&mut self.state.changes, "added", ip, name);
    }

    fn annotate(&mut self, ip: &str, note: &str) {
        if self.is_test {
            self.comments
                .push(format!("Comment for {ip} ({note}) would be added"));
        } else if let Some(changed) = hosts::comment_on(&self.text, ip, note) {
            self.text = changed;
            self.comments
                .push(format!("Set comment for host {ip} ({note})"));
        } else {
            self.state.result = Some(false);
            self.comments
                .push(format!("Failed to add comment for host {ip} ({note})"));
            return;
        }
        add_change(&mut self.state.changes, "comment_added", ip, note);
    }

    fn remove(&mut self, ip: &str) {
        let name = &self.name;
        if self.is_test {
            self.state.result = None;
            self.comments
                .push(format!("Host {name} ({ip}) would be removed"));
        } else {
            self.text = hosts::remove(&self.text, ip, name);
            self.comments.push(format!("Removed host {name} ({ip})"));
        }
        add_change(&mut self.state.changes, "removed", ip, name);
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

fn absent(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let mut state = StateReturn::of(call);
    state.result = None;
    let mut comments = Vec::new();
    let old = hosts::load(call)?;
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
    let text = hosts::load(call)?;
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
