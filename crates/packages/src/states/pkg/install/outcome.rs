//! The outcome of an installation, in words.
use halite_call::{Call, StateReturn, python};
use halite_proto::{Map, Value};

use crate::pkg::error::PkgError;
use crate::pkg::provider::Provider;
use crate::pkg::targets::PackageRequest;
use crate::states::pkg::targets::{self, Request, Todo, add_warnings, written};

pub(super) fn not_installed(call: &Call<'_>, error: &PkgError, warnings: &[String]) -> StateReturn {
    let mut state = error.fail(StateReturn::of(call), "installing package(s)");
    add_warnings(&mut state, warnings);
    state
}

pub(super) struct Outcome {
    pub(super) modified: Vec<String>,
    pub(super) unmodified: Vec<String>,
    pub(super) failed: Vec<String>,
}

pub(super) fn outcome(
    call: &Call<'_>,
    provider: &dyn Provider,
    request: &Request<'_>,
    todo: &Todo,
    changes: &Map,
) -> Result<Outcome, PkgError> {
    let in_list = |list: &PackageRequest, name: &String| targets::version_of(list, name).is_some();
    if request.sources.is_true() {
        let modified: Vec<String> = changes
            .keys()
            .map(python::str)
            .filter(|name| in_list(&todo.targets, name))
            .collect();
        let names = |list: &PackageRequest| -> Vec<String> {
            list.iter().map(|(name, _)| name.clone()).collect()
        };
        return Ok(Outcome {
            unmodified: names(&todo.desired)
                .into_iter()
                .filter(|name| !in_list(&todo.targets, name) && !in_list(&todo.reinstall, name))
                .collect(),
            failed: names(&todo.targets)
                .into_iter()
                .filter(|name| !modified.contains(name))
                .collect(),
            modified,
        });
    }
    let (fine, mut failed) = targets::verify(call, provider, &todo.desired, request.ignore_epoch)?;
    failed.retain(|name| in_list(&todo.targets, name));
    let (modified, rest): (Vec<String>, Vec<String>) = fine
        .into_iter()
        .partition(|name| in_list(&todo.targets, name));
    Ok(Outcome {
        modified,
        unmodified: rest
            .into_iter()
            .filter(|name| !in_list(&todo.reinstall, name))
            .collect(),
        failed,
    })
}

pub(super) fn summary(request: &Request<'_>, todo: &Todo, names: &[String]) -> String {
    if request.sources.is_true() {
        return names.join(", ");
    }
    let written: Vec<String> = names
        .iter()
        .map(|name| written(name, &todo.desired))
        .collect();
    written.join(", ")
}

/// Short lists are shown, of long ones the number.
pub(super) fn say_modified(
    comments: &mut Vec<String>,
    request: &Request<'_>,
    todo: &Todo,
    names: &[String],
) {
    if names.is_empty() {
        return;
    }
    let summary = summary(request, todo, names);
    comments.push(if summary.len() < 20 {
        format!("The following packages were installed/updated: {summary}")
    } else {
        format!("{} installed/updated.", counted(names.len()))
    });
}

pub(super) fn say_unmodified(
    comments: &mut Vec<String>,
    request: &Request<'_>,
    todo: &Todo,
    names: &[String],
) {
    if names.is_empty() {
        return;
    }
    comments.push(if names.len() <= 20 {
        let summary = summary(request, todo, names);
        format!("The following packages were already installed: {summary}")
    } else {
        format!("{} already installed", counted(names.len()))
    });
}

pub(super) fn counted(count: usize) -> String {
    if count > 1 {
        format!("{count} targeted packages were")
    } else {
        format!("{count} targeted package was")
    }
}

/// Adds that a package is now held to what changed of it.
pub(super) fn add_hold_change(changes: &mut Map, result: &Map) {
    let name = result.get("name").map(python::str).unwrap_or_default();
    let held = result.get("changes");
    let text = |key: &str| {
        held.and_then(|held| held.get(key))
            .map(python::str)
            .unwrap_or_default()
    };
    match changes.get_mut(&name).and_then(Value::as_map_mut) {
        Some(change) => {
            for key in ["new", "old"] {
                let mut joined = change.get(key).map(python::str).unwrap_or_default();
                if !joined.is_empty() {
                    joined.push('\n');
                }
                joined.push_str(&text(key));
                change.insert(key, joined);
            }
        }
        None => {
            changes.insert(name, Map::from([("new", text("new"))]));
        }
    }
}
