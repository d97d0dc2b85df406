//! States of modules of the kernel.

use halite_call::{Call, CallResult, Function, Module, StateReturn, python};
use halite_proto::Value;

use crate::kmod;

pub(crate) const MODULE: Module = Module {
    name: "kmod",
    functions: &[
        Function::new(
            "kmod.absent",
            "(name, persist=False, comment=True, mods=None)",
            absent,
            "Modules are not loaded.",
        ),
        Function::new(
            "kmod.present",
            "(name, persist=False, mods=None)",
            present,
            "Modules are loaded.",
        ),
    ],
};

fn wanted(call: &Call<'_>) -> Vec<String> {
    match call.arg("mods") {
        Value::List(items) => items.iter().map(python::str).collect(),
        _ => vec![call.text("name")],
    }
}

/// "module x" or "modules x, y", with a verb for one and for many.
fn modules_comment(before: &str, names: &[String], one: &str, many: &str) -> Option<String> {
    match names {
        [] => None,
        [name] => Some(format!("{before}ernel module {name}{one}")),
        names => Some(format!("{before}ernel modules {}{many}", names.join(", "))),
    }
}

fn present(call: &Call<'_>) -> CallResult {
    let persist = call.flag("persist");
    let wanted = wanted(call);
    let mut has = kmod::loaded(call);
    if persist {
        let kept = kmod::persistent(call);
        has.retain(|name| kept.contains(name));
    }
    let (old, new): (Vec<String>, Vec<String>) = wanted
        .into_iter()
        .partition(|name| has.contains(&name.replace('-', "_")) || has.contains(name));
    let mut state = StateReturn::of(call);
    let mut comments: Vec<String> = Vec::new();
    comments.extend(modules_comment(
        "K",
        &old,
        " is already present",
        " are already present",
    ));
    if new.is_empty() {
        state.comment = comments.join("\n").into();
        return Ok(state.into());
    }
    if call.is_test() {
        comments.extend(modules_comment(
            "K",
            &new,
            " is set to be loaded",
            " are set to be loaded",
        ));
        return Ok(state.pending(comments.join("\n")).into());
    }
    let known = kmod::available(call);
    let (new, unknown): (Vec<String>, Vec<String>) = new
        .into_iter()
        .partition(|name| known.contains(name) || known.contains(&name.replace('-', "_")));
    comments.extend(modules_comment(
        "K",
        &unknown,
        " is unavailable",
        " are unavailable",
    ));
    let mut fine = unknown.is_empty();
    let (mut loaded, mut not, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    for name in new {
        if state.changes.contains_key(&name) {
            loaded.push(name);
            continue;
        }
        match kmod::change(call, &name, true, persist, true)? {
            Ok(names) if names.is_empty() => not.push(name),
            Ok(names) => {
                for name in names {
                    state.changes.insert(name, "loaded");
                }
                loaded.push(name);
            }
            Err(text) => errors.push(format!("Failed to load kernel module {name}: {text}")),
        }
    }
    fine &= not.is_empty() && errors.is_empty();
    comments.extend(modules_comment("Loaded k", &loaded, "", ""));
    comments.extend(modules_comment("Failed to load k", &not, "", ""));
    comments.extend(errors);
    state.result = Some(fine);
    state.comment = comments.join("\n").into();
    Ok(state.into())
}

fn absent(call: &Call<'_>) -> CallResult {
    let persist = call.flag("persist");
    let wanted = wanted(call);
    let mut has = kmod::loaded(call);
    if persist {
        has.extend(kmod::persistent(call));
    }
    let there: Vec<String> = wanted
        .iter()
        .filter(|name| has.contains(name) || has.contains(&name.replace('-', "_")))
        .cloned()
        .collect();
    let mut state = StateReturn::of(call);
    if there.is_empty() {
        let text = modules_comment("K", &wanted, " is already removed", " are already removed");
        return Ok(state.ok(text.unwrap_or_default()).into());
    }
    if call.is_test() {
        let text = modules_comment(
            "K",
            &there,
            " is set to be removed",
            " are set to be removed",
        );
        return Ok(state.pending(text.unwrap_or_default()).into());
    }
    let (mut gone, mut not, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    for name in there {
        match kmod::change(call, &name, false, persist, call.flag("comment"))? {
            Ok(names) if names.is_empty() => not.push(name),
            Ok(names) => {
                for name in names {
                    state.changes.insert(name, "removed");
                }
                gone.push(name);
            }
            Err(text) => errors.push(format!("Failed to remove kernel module {name}: {text}")),
        }
    }
    let mut comments: Vec<String> = Vec::new();
    state.result = Some(not.is_empty() && errors.is_empty());
    comments.extend(modules_comment("Removed k", &gone, "", ""));
    comments.extend(modules_comment("Failed to remove k", &not, "", ""));
    comments.extend(errors);
    state.comment = comments.join("\n").into();
    Ok(state.into())
}
