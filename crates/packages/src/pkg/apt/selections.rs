//! dpkg's selections: the wanted status of a package (install, hold, deinstall,
//! purge).

use halite_call::{Call, host, python};
use halite_proto::{Map, Value};

use super::{Apt, Tool, run};
use crate::pkg::error::PkgError;
use crate::pkg::provider::{Listing, Provider};
use crate::pkg::{changes, lists};

const STATES: &[&str] = &["install", "hold", "deinstall", "purge"];

/// The packages of each state.
pub(crate) fn get(call: &Call<'_>, pattern: Option<&str>) -> Result<Map, PkgError> {
    let tool = Tool::new(&["dpkg", "--get-selections", pattern.unwrap_or("*")]);
    let ran = run(call, || tool.clone())?;
    Ok(parse(&ran.stdout))
}

/// Lines of a name and a state.
pub(crate) fn parse(text: &str) -> Map {
    let mut selections = Map::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        if let (Some(name), Some(state)) = (words.next(), words.next()) {
            lists::add(&mut selections, state, name);
        }
    }
    selections
}

/// Sets states; what was changed. In test mode nothing is, and nothing is told.
pub(crate) fn set(call: &Call<'_>, selection: &Map, clear: bool) -> Result<Map, PkgError> {
    let bad: Vec<String> = selection
        .keys()
        .map(python::str)
        .filter(|state| !STATES.contains(&state.as_str()))
        .collect();
    if !bad.is_empty() {
        let bad = bad.join(", ");
        return Err(PkgError::invocation(format!("Invalid state(s): {bad}")));
    }
    let test = call.is_test();
    if clear && !test {
        let ran = run(call, || Tool::new(&["dpkg", "--clear-selections"]))?;
        if !ran.ok() {
            return Err(PkgError::command(format!(
                "Running dpkg --clear-selections failed: {}",
                ran.stderr
            )));
        }
    }
    let before = get(call, None)?;
    let state_of = |name: &str| {
        before.keys().map(python::str).find(|state| {
            lists::versions(&before, state)
                .iter()
                .any(|known| known == name)
        })
    };
    let mut changes = Map::new();
    for (state, names) in selection {
        let state = python::str(state);
        for name in python::texts(names) {
            let old = state_of(&name);
            if old.as_deref() == Some(&state) || test {
                continue;
            }
            let mut tool = Tool::new(&["dpkg", "--set-selections"]);
            tool.stdin = Some(format!("{name} {state}"));
            let ran = run(call, || tool.clone())?;
            if ran.ok() {
                changes.insert(name, changes::change(old, state.as_str()));
            } else {
                tracing::error!(name, state, "failed to set the state of a package");
            }
        }
    }
    Ok(changes)
}

/// Holds or frees each of `names`.
pub(super) fn hold(call: &Call<'_>, hold: bool, names: &[String]) -> Result<Map, PkgError> {
    let mut results = Map::new();
    for name in names {
        results.insert(name.as_str(), hold_one(call, hold, name)?);
    }
    Ok(results)
}

fn hold_one(call: &Call<'_>, hold: bool, name: &str) -> Result<Map, PkgError> {
    let state = get(call, Some(name))?;
    let is_held = state.get("hold").is_some_and(host::is_true);
    let mut result = Value::from(true);
    let mut changes = Value::from(Map::new());
    let comment = if !hold && state.is_empty() {
        result = false.into();
        format!("Package {name} does not have a state.")
    } else if is_held == hold {
        let not = if hold { "" } else { "not " };
        format!("Package {name} is already set {not}to be held.")
    } else if call.is_test() {
        result = Value::Nil;
        let not = if hold { "" } else { "not " };
        format!("Package {name} is set {not}to be held.")
    } else {
        let wanted = if hold { "hold" } else { "install" };
        let selection = Map::from([(wanted, Value::List(vec![name.into()]))]);
        changes = match set(call, &selection, false)?.remove(name) {
            Some(change) => change,
            None => {
                return Err(
                    halite_call::CallError::exception("KeyError", format!("'{name}'")).into(),
                );
            }
        };
        if hold {
            format!("Package {name} is now being held.")
        } else {
            format!("Package {name} is no longer being held.")
        }
    };
    Ok(Map::from([
        ("name", Value::from(name)),
        ("changes", changes),
        ("result", result),
        ("comment", comment.into()),
    ]))
}

/// Takes back that packages wait to be purged.
pub(super) fn unpurge(call: &Call<'_>, names: &[String]) -> Result<Map, PkgError> {
    if names.is_empty() {
        return Ok(Map::new());
    }
    let old = Apt.list(call, Listing::PurgeDesired)?;
    let lines: Vec<String> = names.iter().map(|name| format!("{name} install")).collect();
    let mut tool = Tool::new(&["dpkg", "--set-selections"]);
    tool.stdin = Some(lines.join("\n"));
    run(call, || tool.clone())?;
    let new = Apt.list(call, Listing::PurgeDesired)?;
    Ok(changes::differences(
        &lists::joined(&old),
        &lists::joined(&new),
    ))
}
