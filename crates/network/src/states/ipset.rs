//! States of sets of addresses.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "ipset",
    functions: &[
        Function::new(
            "ipset.absent",
            "(name, entry=None, entries=None, family='ipv4', **kwargs)",
            |call| entries(call, false),
            "A set (set_name) does not have an entry, or any of a list.",
        ),
        Function::new(
            "ipset.flush",
            "(name, family='ipv4', **kwargs)",
            flush,
            "A set has no entries.",
        ),
        Function::new(
            "ipset.present",
            "(name, entry=None, family='ipv4', **kwargs)",
            |call| entries(call, true),
            "A set (set_name) has an entry, or all of a list, with timeout, comment and\nthe other options of ipset.add.",
        ),
        Function::new(
            "ipset.set_absent",
            "(name, family='ipv4', **kwargs)",
            set_absent,
            "There is no set of a name.",
        ),
        Function::new(
            "ipset.set_present",
            "(name, set_type, family='ipv4', **kwargs)",
            set_present,
            "There is a set of a name; further arguments are those of ipset.new_set.",
        ),
    ],
};

/// Options of entries, as comments show them.
const OPTIONS: [&str; 7] = [
    "timeout", "packets", "bytes", "skbmark", "skbprio", "skbqueue", "comment",
];

/// Calls a function for the set `name` of the family.
fn ask(call: &Call<'_>, fun: &str, name: &str, more: Map) -> CallResult {
    let mut kwargs = Map::from([
        ("name", Value::from(name)),
        ("family", call.arg("family").clone()),
    ]);
    kwargs.extend(more);
    call.salt(fun, &[], kwargs)
}

fn exists(call: &Call<'_>) -> Result<bool, CallError> {
    let found = ask(call, "ipset.check_set", &call.text("name"), Map::new())?;
    Ok(found == Value::Bool(true))
}

fn set_present(call: &Call<'_>) -> CallResult {
    let (name, family) = (call.text("name"), call.text("family"));
    let state = StateReturn::of(call);
    if exists(call)? {
        let comment = format!("ipset set {name} already exists for {family}");
        return Ok(state.ok(comment).into());
    }
    if call.is_test() {
        let comment = format!("ipset set {name} would be added for {family}");
        return Ok(state.pending(comment).into());
    }
    let mut more = call.own_kwargs();
    more.insert("set_type", call.arg("set_type").clone());
    let made = ask(call, "ipset.new_set", &name, more)?;
    Ok(match made {
        Value::Bool(true) => state.change("locale", name.as_str()).ok(format!(
            "ipset set {name} created successfully for {family}"
        )),
        said => state.failed(format!(
            "Failed to create set {name} for {family}: {}",
            python::str(&said).trim()
        )),
    }
    .into())
}

fn set_absent(call: &Call<'_>) -> CallResult {
    let (name, family) = (call.text("name"), call.text("family"));
    let state = StateReturn::of(call);
    if !exists(call)? {
        let comment = format!("ipset set {name} for {family} is already absent");
        return Ok(state.ok(comment).into());
    }
    if call.is_test() {
        let comment = format!("ipset set {name} for {family} would be removed");
        return Ok(state.pending(comment).into());
    }
    let said = match ask(call, "ipset.flush", &name, Map::new())? {
        Value::Bool(true) => ask(call, "ipset.delete_set", &name, Map::new())?,
        said => said,
    };
    Ok(match said {
        Value::Bool(true) => state.change("locale", name.as_str()).ok(format!(
            "ipset set {name} deleted successfully for family {family}"
        )),
        said => state.failed(format!(
            "Failed to delete set {name} for {family}: {}",
            python::str(&said)
        )),
    }
    .into())
}

fn flush(call: &Call<'_>) -> CallResult {
    let (name, family) = (call.text("name"), call.text("family"));
    let state = StateReturn::of(call);
    if !exists(call)? {
        let comment = format!("ipset set {name} does not exist for {family}");
        return Ok(state.failed(comment).into());
    }
    if call.is_test() {
        let comment = format!("ipset entries in set {name} for {family} would be flushed");
        return Ok(state.pending(comment).into());
    }
    let done = ask(call, "ipset.flush", &name, Map::new())?;
    Ok(match done.is_true() {
        true => state.change("locale", name.as_str()).ok(format!(
            "Flushed ipset entries from set {name} for {family}"
        )),
        false => state.failed(format!(
            "Failed to flush ipset entries from set {name} for {family}"
        )),
    }
    .into())
}

/// The entries of a set are there, or are not.
fn entries(call: &Call<'_>, wanted: bool) -> CallResult {
    let family = call.text("family");
    let mut state = StateReturn::of(call);
    let all = match call.arg("entry") {
        Value::List(entries) => entries.iter().map(python::str).collect(),
        entry if entry.is_true() => vec![python::str(entry)],
        _ => return Ok(state.failed("ipset entry must be specified").into()),
    };
    let set = call
        .text_given("set_name")
        .ok_or_else(|| CallError::exception("KeyError", "'set_name'"))?;
    let mut options = call.own_kwargs();
    options.retain(|key, _| key.as_str().is_some_and(|key| OPTIONS.contains(&key)));
    let behind: String = OPTIONS
        .iter()
        .filter_map(|option| Some(format!(" {option} {}", python::str(options.get(option)?))))
        .collect();
    let mut comment = String::new();
    for entry in all {
        // With options an entry is another one.
        let full = match wanted {
            true => format!("{entry}{behind}"),
            false => entry.clone(),
        };
        let of = |entry: &str| Map::from([("entry", entry)]);
        let is_there = ask(call, "ipset.check", &set, of(&full))? == Value::Bool(true);
        comment += &match (wanted, is_there) {
            (true, true) => format!("entry for {entry} already in set {set} for {family}\n"),
            (false, false) => {
                format!("ipset entry for {entry} not present in set {set} for {family}\n")
            }
            (true, false) if call.is_test() => {
                state.result = None;
                format!("entry {entry} would be added to set {set} for family {family}\n")
            }
            (false, true) if call.is_test() => {
                state.result = None;
                format!("ipset entry {entry} would be removed from set {set} for {family}\n")
            }
            _ => {
                let (fun, more) = match wanted {
                    true => ("ipset.add", options.clone()),
                    false => ("ipset.delete", Map::new()),
                };
                let mut arguments = of(&entry);
                arguments.extend(more);
                let said = python::str(&ask(call, fun, &set, arguments)?);
                if said == "Success" {
                    let name = call.text("name");
                    state.changes.insert("locale", name);
                } else {
                    state.result = Some(false);
                }
                match (wanted, said == "Success") {
                    (true, true) => {
                        format!("entry {full} added to set {set} for family {family}\n")
                    }
                    (false, true) => {
                        format!("ipset entry {entry} removed from set {set} for {family}\n")
                    }
                    (true, false) => format!(
                        "Failed to add to entry {full} to set {set} for family {family}.\n{said}"
                    ),
                    (false, false) => format!(
                        "Failed to delete ipset entry from set {set} for {family}. Attempted entry was {entry}.\n{said}\n"
                    ),
                }
            }
        };
    }
    state.comment = comment.into();
    Ok(state.into())
}
