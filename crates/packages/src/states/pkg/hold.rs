//! `pkg.held` and `pkg.unheld`.

use halite_call::{Call, CallResult, StateReturn, python};
use halite_proto::{Map, Value};

use super::is_empty_list;
use crate::pkg::this_machine::provider;

/// Names and versions of `name` or `pkgs`.
fn asked(call: &Call<'_>) -> Vec<(String, Option<String>)> {
    let text = |value: &Value| (!value.is_nil()).then(|| python::str(value));
    match call.arg("pkgs") {
        Value::List(items) => items
            .iter()
            .map(|item| match item {
                Value::Map(map) => map
                    .iter()
                    .next()
                    .map(|(name, version)| (python::str(name), text(version)))
                    .unwrap_or_default(),
                other => (python::str(other), None),
            })
            .collect(),
        Value::Nil => vec![(call.text("name"), text(call.arg("version")))],
        other => vec![(python::str(other), None)],
    }
}

fn with_version(name: &str, version: Option<&str>) -> String {
    match version {
        Some(version) if !version.is_empty() => format!("{name} (version = {version})"),
        _ => name.to_owned(),
    }
}

fn succeeded(results: &Map, name: &str) -> bool {
    results
        .get(name)
        .and_then(|result| result.get("result"))
        .is_some_and(Value::is_true)
}

pub(super) fn held(call: &Call<'_>) -> CallResult {
    let replace = call.flag("replace");
    if is_empty_list(call.arg("pkgs")) && !replace {
        return Ok(StateReturn::of(call)
            .ok("No packages to be held provided")
            .into());
    }
    let provider = provider(call)?;
    let mut state = StateReturn::of(call);
    let mut comments = Vec::new();
    let locks = provider.held(call)?;
    let asked = asked(call);
    for (name, version) in &asked {
        if locks.contains(name) {
            continue;
        }
        if call.is_test() {
            comments.push(format!(
                "The following package would be held: {}",
                with_version(name, version.as_deref())
            ));
            continue;
        }
        let results = provider.hold(call, true, std::slice::from_ref(name))?;
        if succeeded(&results, name) {
            comments.push(format!("Package {name} is now being held"));
        } else {
            state.result = Some(false);
            comments.push(format!("Package {name} was not held"));
        }
        state.changes.extend(results);
    }
    if replace {
        let others = locks
            .iter()
            .filter(|lock| !asked.iter().any(|(name, _)| name == *lock));
        for name in others {
            if call.is_test() {
                comments.push(format!("The following package would be unheld: {name}"));
            } else {
                free(call, name, &mut state, &mut comments)?;
            }
        }
    }
    finish(state, &comments)
}

pub(super) fn unheld(call: &Call<'_>) -> CallResult {
    let all = call.flag("all");
    if is_empty_list(call.arg("pkgs")) && !all {
        return Ok(StateReturn::of(call)
            .ok("No packages to be unheld provided")
            .into());
    }
    let mut state = StateReturn::of(call);
    let mut comments = Vec::new();
    let asked = asked(call);
    for name in provider(call)?.held(call)? {
        let wanted = asked.iter().find(|(known, _)| *known == name);
        if !all && wanted.is_none() {
            continue;
        }
        if call.is_test() {
            let version = wanted.and_then(|(_, version)| version.as_deref());
            let version = version
                .filter(|version| !version.is_empty())
                .map(|_| "None");
            comments.push(format!(
                "The following package would be unheld: {}",
                with_version(&name, version)
            ));
        } else {
            free(call, &name, &mut state, &mut comments)?;
        }
    }
    finish(state, &comments)
}

fn free(
    call: &Call<'_>,
    name: &str,
    state: &mut StateReturn,
    comments: &mut Vec<String>,
) -> Result<(), halite_call::CallError> {
    let results = provider(call)?.hold(call, false, &[name.to_owned()])?;
    if !succeeded(&results, name) {
        state.result = Some(false);
    }
    let comment = results.get(name).and_then(|result| result.get("comment"));
    comments.extend(comment.filter(|comment| comment.is_true()).map(python::str));
    state.changes.extend(results);
    Ok(())
}

fn finish(mut state: StateReturn, comments: &[String]) -> CallResult {
    state.comment = if comments.is_empty() && state.changes.is_empty() {
        "No changes made".into()
    } else {
        comments.join("\n").into()
    };
    Ok(state.into())
}
