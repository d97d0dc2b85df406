//! States of files of sections and options.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

use super::options_plan::{OptionsPlan, insert_change, within};
use crate::ini::document::Document;
use crate::ini::{read, save};

pub(crate) const MODULE: Module = Module {
    name: "ini",
    functions: &[
        Function::new(
            "ini.options_absent",
            "(name, sections=None, separator='=', encoding=None)",
            options_absent,
            "Options are not in a file.",
        ),
        Function::new(
            "ini.options_present",
            "(name, sections=None, separator='=', strict=False, encoding=None, no_spaces=False)",
            options_present,
            "Options are in a file.",
        ),
        Function::new(
            "ini.sections_absent",
            "(name, sections=None, separator='=', encoding=None)",
            sections_absent,
            "Sections are not in a file.",
        ),
        Function::new(
            "ini.sections_present",
            "(name, sections=None, separator='=', encoding=None)",
            sections_present,
            "Sections are in a file.",
        ),
    ],
};

/// The file, and its sections as they are wanted.
struct Job {
    file: String,
    ini: Document,
}

fn run(
    call: &Call<'_>,
    work: impl Fn(&Call<'_>, &mut Job, StateReturn) -> Result<StateReturn, CallError>,
) -> CallResult {
    let state = StateReturn::of(call);
    let file = call.text("name");
    let done = read(call, &file, &call.text("separator")).and_then(|ini| {
        let mut job = Job { file, ini };
        work(call, &mut job, state.clone().ok("No anomaly detected"))
    });
    match done {
        Ok(state) => Ok(state.into()),
        Err(CallError::Command(text)) => Ok(state.failed(text).into()),
        Err(other) => Err(other),
    }
}

fn sections(call: &Call<'_>) -> Map {
    call.arg("sections").as_map().cloned().unwrap_or_default()
}

fn names(call: &Call<'_>) -> Vec<String> {
    match call.arg("sections") {
        Value::Map(map) => map.keys().map(python::str).collect(),
        other => python::texts(other),
    }
}

fn options_present(call: &Call<'_>) -> CallResult {
    run(call, |call, job, mut state| {
        let wanted = sections(call);
        let plan = OptionsPlan::decide(&job.ini, &wanted, call.flag("strict"));
        if call.is_test() {
            return Ok(if plan.is_change {
                state.pending(plan.comment)
            } else {
                state.ok(plan.comment)
            });
        }
        let mut changes = Map::new();
        for surplus in plan.surplus {
            surplus.remove(&mut job.ini, &mut changes);
        }
        for (name, change) in job.ini.update(&wanted) {
            match (changes.get_mut(&python::str(&name)), change) {
                (Some(Value::Map(known)), Value::Map(more)) => known.extend(more),
                (_, change) => drop(changes.insert(name, change)),
            }
        }
        save(call, &job.file, &job.ini, call.flag("no_spaces"))?;
        if !changes.is_empty() {
            state = state.ok("Changes take effect");
            state.changes = changes;
        }
        Ok(state)
    })
}

fn options_absent(call: &Call<'_>) -> CallResult {
    run(call, |call, job, state| {
        let mut text = String::new();
        let mut changes = Map::new();
        for (name, keys) in &sections(call) {
            let name = python::str(name);
            let (section, keys) = match keys {
                Value::List(items) => (name.clone(), items.iter().map(python::str).collect()),
                _ => (String::new(), vec![name.clone()]),
            };
            for key in keys {
                let Some(old) = job
                    .ini
                    .remove_option(&section, &key)
                    .filter(|old| !old.is_empty())
                else {
                    text.push_str(&format!("Key {key}{} does not exist.\n", within(&section)));
                    continue;
                };
                text.push_str(&format!("Deleted key {key}{}.\n", within(&section)));
                insert_change(&mut changes, &section, &key, old);
            }
        }
        finish(call, job, state, text, changes)
    })
}

/// Predicts, or saves if anything was changed.
fn finish(
    call: &Call<'_>,
    job: &Job,
    mut state: StateReturn,
    text: String,
    changes: Map,
) -> Result<StateReturn, CallError> {
    if call.is_test() {
        return Ok(if text.is_empty() {
            state.ok("No changes detected.")
        } else if changes.is_empty() {
            state.ok(text)
        } else {
            state.pending(text)
        });
    }
    if !changes.is_empty() {
        save(call, &job.file, &job.ini, false)?;
        state.changes = changes;
        state = state.ok("Changes take effect");
    }
    Ok(state)
}

fn sections_present(call: &Call<'_>) -> CallResult {
    run(call, |call, job, state| {
        let mut text = String::new();
        let mut wanted = Map::new();
        let has = job.ini.sections();
        for name in names(call) {
            if has.contains(&name) {
                text.push_str(&format!("Section unchanged {name}.\n"));
            } else {
                text.push_str(&format!("Created new section {name}.\n"));
                wanted.insert(name, Map::new());
            }
        }
        let changes = job.ini.update(&wanted);
        finish(call, job, state, text, changes)
    })
}

fn sections_absent(call: &Call<'_>) -> CallResult {
    run(call, |call, job, state| {
        let mut text = String::new();
        let mut changes = Map::new();
        for name in names(call) {
            match job.ini.remove_section(&name) {
                Some(old) => {
                    text.push_str(&format!("Deleted section {name}.\n"));
                    changes.insert(name, old);
                }
                None => text.push_str(&format!("Section {name} does not exist.\n")),
            }
        }
        finish(call, job, state, text, changes)
    })
}
