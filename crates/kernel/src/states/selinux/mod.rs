//! States of SELinux.

mod labels;

use halite_call::{
    Aggregation, Call, CallError, CallResult, Chunk, Function, Module, StateReturn, python,
};
use halite_proto::{Map, Value};

use crate::selinux;

pub(crate) const MODULE: Module = Module {
    name: "selinux",
    functions: &[
        Function::new(
            "selinux.boolean",
            "(name, value=None, booleans=None, persist=False)",
            boolean,
            "Booleans have their values.",
        ),
        Function::new(
            "selinux.fcontext_policy_absent",
            "(name, filetype='a', sel_type=None, sel_user=None, sel_level=None)",
            labels::fcontext_policy_absent,
            "No context is set for files.",
        ),
        Function::new(
            "selinux.fcontext_policy_applied",
            "(name, recursive=False)",
            labels::fcontext_policy_applied,
            "Files have the contexts that are set for them.",
        ),
        Function::new(
            "selinux.fcontext_policy_present",
            "(name, sel_type, filetype='a', sel_user=None, sel_level=None)",
            labels::fcontext_policy_present,
            "A context is set for files.",
        ),
        Function::new(
            "selinux.mod_aggregate",
            "(low, chunks, running)",
            mod_aggregate,
            "Puts the booleans of several states into one state.",
        ),
        Function::new("selinux.mode", "(name)", mode, "SELinux is in a mode."),
        Function::new(
            "selinux.module",
            "(name, module_state='Enabled', version='any', **opts)",
            module,
            "A module is on or off, installed or removed.",
        ),
        Function::new(
            "selinux.module_install",
            "(name)",
            |call| {
                let name = call.text("name");
                Ok(module_install(call, &name)?.into())
            },
            "A module is installed from a file.",
        ),
        Function::new(
            "selinux.module_remove",
            "(name)",
            module_remove,
            "A module is removed.",
        ),
        Function::new(
            "selinux.port_policy_absent",
            "(name, sel_type=None, protocol=None, port=None)",
            labels::port_policy_absent,
            "A port has no type of its own.",
        ),
        Function::new(
            "selinux.port_policy_present",
            "(name, sel_type, protocol=None, port=None, sel_range=None)",
            labels::port_policy_present,
            "A port has a type.",
        ),
    ],
};

pub(super) fn state(call: &Call<'_>) -> StateReturn {
    StateReturn::of(call).failed("")
}

fn mode(call: &Call<'_>) -> CallResult {
    let name = call.text("name").to_lowercase();
    let begins = |letter: char| name.starts_with(letter);
    let wanted = if begins('e') || name == "1" || name == "on" {
        "Enforcing"
    } else if begins('p') || name == "0" || name == "off" {
        "Permissive"
    } else if begins('d') {
        "Disabled"
    } else {
        let name = call.text("name");
        return Ok(state(call)
            .failed(format!("{name} is not an accepted mode"))
            .into());
    };
    let config = selinux::configured(call);
    let mut now = Some(selinux::mode(call).to_owned());
    if now.as_deref() == Some(wanted) && config.as_deref() != Some(wanted) {
        now = config;
    }
    if now.as_deref() == Some(wanted) {
        return Ok(state(call)
            .ok(format!("SELinux is already in {wanted} mode"))
            .into());
    }
    let old = now.map_or(Value::Nil, Value::from);
    if call.is_test() {
        return Ok(state(call)
            .pending(format!("SELinux mode is set to be changed to {wanted}"))
            .change("old", old)
            .change("new", wanted)
            .into());
    }
    let new = selinux::set_mode(call, wanted)?;
    let off = wanted == "Disabled" && selinux::configured(call).as_deref() == Some(wanted);
    Ok(if new == wanted || off {
        state(call)
            .ok(format!("SELinux has been set to {wanted} mode"))
            .change("old", old)
            .change("new", new)
    } else {
        state(call).failed(format!("Failed to set SELinux to {wanted} mode"))
    }
    .into())
}

/// Adds booleans of a list or a map.
fn add_booleans(all: &mut Map, value: &Value, given: &Value) {
    match given {
        Value::Map(map) => all.extend(map.clone()),
        Value::List(items) => {
            for item in items {
                match item {
                    Value::Map(map) => all.extend(map.clone()),
                    name => {
                        all.insert(name.clone(), value.clone());
                    }
                }
            }
        }
        _ => {}
    }
}

fn switch(value: &Value) -> Option<&'static str> {
    match python::str(value).to_lowercase().as_str() {
        "1" | "on" | "yes" | "true" => Some("on"),
        "0" | "off" | "no" | "false" => Some("off"),
        _ => None,
    }
}

/// Booleans beside the state that is wanted of them.
#[derive(Default)]
struct Compared {
    /// Those in the wanted state.
    right: Vec<String>,
    /// The others, with their new values.
    change: Map,
    /// What changing them changes, as a state reports it.
    changes: Map,
}

/// # Errors
/// The comment about a boolean that does not exist or cannot have its value.
fn compare(wanted: &Map, existing: &Map, persist: bool) -> Result<Compared, String> {
    let mut compared = Compared::default();
    for (name, value) in wanted {
        let name = python::str(name);
        let known = existing.get(&name);
        let known = known.ok_or_else(|| format!("Boolean {name} is not available"))?;
        let value = switch(value).ok_or_else(|| {
            let value = python::str(value);
            format!("{value} is not a valid value for the boolean {name}")
        })?;
        let of = |key: &str| known.get(key).cloned().unwrap_or_default();
        let (now, default) = (of("State"), of("Default"));
        let same = |known: &Value| known.as_str() == Some(value);
        if same(&now) && (same(&default) || !persist) {
            compared.right.push(name);
            continue;
        }
        let (old, new) = if persist {
            let new = vec![Value::from(value), value.into()];
            (Value::List(vec![now, default]), Value::List(new))
        } else {
            (now, value.into())
        };
        compared
            .changes
            .insert(name.as_str(), Map::from([("old", old), ("new", new)]));
        compared.change.insert(name, value);
    }
    Ok(compared)
}

fn boolean(call: &Call<'_>) -> CallResult {
    let mut wanted = Map::new();
    if call.flag("booleans") {
        add_booleans(&mut wanted, call.arg("value"), call.arg("booleans"));
    } else {
        wanted.insert(call.arg("name").clone(), call.arg("value").clone());
    }
    let persist = call.flag("persist");
    let existing = selinux::booleans(call)?;
    let Compared {
        right,
        change,
        changes,
    } = match compare(&wanted, &existing, persist) {
        Ok(compared) => compared,
        Err(why) => return Ok(state(call).failed(why).into()),
    };
    let listed = |mut names: Vec<String>| {
        names.sort();
        names.join(", ")
    };
    let mut comments = Vec::new();
    if !right.is_empty() {
        comments.push(format!(
            "The following booleans were in the correct state: {}",
            listed(right)
        ));
    }
    if change.is_empty() {
        return Ok(state(call).ok(comments.join("\n")).into());
    }
    let names = listed(change.iter().map(|(name, _)| python::str(name)).collect());
    let mut done = state(call);
    done.changes = changes;
    if call.is_test() {
        comments.push(format!("The following booleans would be changed: {names}"));
        return Ok(done.pending(comments.join("\n")).into());
    }
    if !selinux::set_booleans(call, &change, persist)? {
        return Ok(state(call)
            .failed(format!(
                "Failed to set the following booleans: {}",
                python::str(&wanted.into())
            ))
            .into());
    }
    comments.push(format!("The following booleans have been changed: {names}"));
    Ok(done.ok(comments.join("\n")).into())
}

/// The chunk with the booleans of all states alike.
fn mod_aggregate(call: &Call<'_>) -> CallResult {
    let Some(all) = Aggregation::of(call, "selinux", &["boolean"]) else {
        return Ok(call.arg("low").clone());
    };
    let add = |booleans: &mut Map, chunk: &Map| {
        let value = chunk.get("value").cloned().unwrap_or_default();
        match (chunk.get("booleans"), chunk.get("name")) {
            (Some(list), _) => add_booleans(booleans, &value, list),
            (None, Some(name)) => {
                booleans.insert(name.clone(), value);
            }
            (None, None) => {}
        }
    };
    let alike = |chunk: &&Chunk| chunk.get("persist") == all.low.get("persist");
    let taken: Vec<&Chunk> = all.others.iter().filter(alike).collect();
    let mut others = Map::new();
    for chunk in &taken {
        add(&mut others, chunk.map());
    }
    if others.is_empty() {
        return Ok(all.low.clone().into());
    }
    let mut booleans = Map::new();
    add(&mut booleans, all.low);
    booleans.extend(others);
    Ok(all.taking(&taken, "booleans", booleans))
}

fn module(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let option = |name: &str| call.kwargs().get(name).filter(|value| value.is_true());
    if option("install").is_some() && option("remove").is_some() {
        return Ok(state(call)
            .failed("Cannot install and remove at the same time")
            .into());
    }
    let mut done = state(call).ok("");
    if option("install").is_some() {
        let source = call
            .kwargs()
            .get("source")
            .map_or_else(|| name.clone(), python::str);
        done = module_install(call, &source)?;
        if done.result == Some(false) {
            return Ok(done.into());
        }
    } else if option("remove").is_some() {
        return module_remove(call);
    }
    let modules = selinux::modules(call)?;
    let Some(known) = modules.get(&name) else {
        return Ok(done
            .failed(format!("Module {name} is not available"))
            .into());
    };
    let wanted = call.text("module_state");
    let enabled = match wanted.to_lowercase().as_str() {
        "1" | "on" | "yes" | "true" | "enabled" => true,
        "0" | "off" | "no" | "false" | "disabled" => false,
        _ => {
            return Ok(done
                .failed(format!(
                    "{wanted} is not a valid state for the {name} module."
                ))
                .into());
        }
    };
    let (version, installed) = (call.text("version"), known.get("Version"));
    let installed = installed.map(python::str).unwrap_or_default();
    if version != "any" && version != installed {
        return Ok(done
            .failed(format!(
                "Module version is {installed} and does not match the desired version of {version} or you are using semodule >= 2.4"
            ))
            .into());
    }
    if known.get("Enabled") == Some(&Value::Bool(enabled)) {
        return Ok(done
            .ok(format!("Module {name} is in the desired state"))
            .into());
    }
    if call.is_test() {
        return Ok(done
            .pending(format!("Module {name} is set to be toggled to {wanted}"))
            .into());
    }
    let word = if enabled { "enabled" } else { "disabled" };
    Ok(if selinux::set_module(call, &name, word)? {
        done.ok(format!("Module {name} has been set to {wanted}"))
    } else {
        done.failed(format!("Failed to set the Module {name} to {wanted}"))
    }
    .into())
}

fn module_install(call: &Call<'_>, path: &str) -> Result<StateReturn, CallError> {
    let state = StateReturn::new(path);
    if call.is_test() {
        return Ok(state.pending(format!("Module {path} is set to be installed")));
    }
    Ok(if selinux::install(call, path)? {
        state.ok(format!("Module {path} has been installed"))
    } else {
        state.failed(format!("Failed to install module {path}"))
    })
}

fn module_remove(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    if !selinux::modules(call)?.contains_key(&name) {
        return Ok(state(call)
            .failed(format!("Module {name} is not available"))
            .into());
    }
    if call.is_test() {
        return Ok(state(call)
            .pending(format!("Module {name} is set to be removed"))
            .into());
    }
    let removed = call.salt("selinux.remove_semod", &[name.as_str().into()], Map::new())?;
    Ok(if removed.is_true() {
        state(call).ok(format!("Module {name} has been removed"))
    } else {
        state(call).failed(format!("Failed to remove module {name}"))
    }
    .into())
}
