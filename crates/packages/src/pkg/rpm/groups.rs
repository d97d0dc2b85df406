//! Groups of packages (`dnf groupinfo`).

use halite_modules::{Call, CallResult, StateReturn, python};
use halite_proto::{Map, Value};

use super::{DNF, options, words};
use crate::pkg::error::PkgError;
use crate::pkg::provider::{Listing, Provider};

const KINDS: &[&str] = &["mandatory", "optional", "default", "conditional"];

/// The members of a group, by kind.
fn members(call: &Call<'_>, name: &str, kwargs: &Map) -> Result<Vec<Vec<String>>, PkgError> {
    let mut line = words(&["--quiet"]);
    line.extend(options(kwargs));
    line.extend(words(&["groupinfo", name]));
    let ran = DNF.run(call, &line, false)?;
    let is_group = |line: &str| {
        let line = line.trim().to_lowercase();
        line.starts_with("group:") || line.starts_with("environment group:")
    };
    if !ran.stdout.lines().any(is_group) {
        return Err(PkgError::command(format!("Group '{name}' not found")));
    }
    let mut found = vec![Vec::new(); KINDS.len()];
    let mut kind = None;
    for line in ran.stdout.lines() {
        let text = line
            .trim()
            .trim_start_matches(|c: char| c.is_ascii_punctuation());
        let lower = text.to_lowercase();
        let header = lower
            .strip_suffix(" packages:")
            .or_else(|| lower.strip_suffix(" groups:"));
        if let Some(header) = header {
            kind = KINDS.iter().position(|kind| *kind == header);
        } else if let (Some(kind), false) = (kind, text.trim().is_empty()) {
            found[kind].push(text.trim().to_owned());
        }
    }
    Ok(found)
}

/// The state `pkg.group_installed`.
pub(crate) fn installed(
    call: &Call<'_>,
    provider: &dyn Provider,
    mut state: StateReturn,
) -> CallResult {
    let name = call.text("name");
    for list in ["skip", "include"] {
        if !matches!(call.arg(list), Value::Nil | Value::List(_)) {
            return Ok(state
                .failed(format!("{list} must be formatted as a list"))
                .into());
        }
    }
    let (skip, include) = (
        python::texts(call.arg("skip")),
        python::texts(call.arg("include")),
    );
    let kwargs = call.clean_kwargs();
    let members = match members(call, &name, &kwargs) {
        Ok(members) => members,
        Err(error) => {
            return Ok(state
                .failed(format!(
                    "An error was encountered while installing/updating group '{name}': {error}."
                ))
                .into());
        }
    };
    let current = provider.list(call, Listing::Installed)?;
    let is_there = |name: &String| current.contains_key(name);
    let [mandatory, optional, default, ..] = members.as_slice() else {
        return Ok(state.failed("the group has no members").into());
    };
    let bad: Vec<&str> = mandatory
        .iter()
        .filter(|name| skip.contains(name))
        .map(String::as_str)
        .collect();
    if !bad.is_empty() {
        return Ok(state
            .failed(format!(
                "The following mandatory packages cannot be skipped: {}",
                bad.join(", ")
            ))
            .into());
    }
    let mut targets: Vec<String> = mandatory
        .iter()
        .filter(|name| !is_there(name))
        .cloned()
        .collect();
    let mut required = targets.clone();
    targets.extend(
        default
            .iter()
            .filter(|name| !is_there(name) && !skip.contains(name))
            .cloned(),
    );
    targets.extend(include.iter().cloned());
    required.extend(include);
    if targets.is_empty() {
        return Ok(state
            .ok(format!("Group '{name}' is already installed"))
            .into());
    }
    let partly = [mandatory, optional, default]
        .iter()
        .any(|kind| kind.iter().any(is_there));
    if call.is_test() {
        let what = if partly {
            "is partially installed and will be updated"
        } else {
            "will be installed"
        };
        return Ok(state.pending(format!("Group '{name}' {what}")).into());
    }
    let mut arguments = kwargs;
    let pkgs = targets.iter().map(|name| name.as_str().into()).collect();
    arguments.insert("pkgs", Value::List(pkgs));
    match provider.install(call, &arguments) {
        Ok(changes) => state.changes = changes,
        Err(error) => {
            let text = match error.changes() {
                Some(changes) => {
                    state.changes = changes;
                    error.without_changes()
                }
                None => format!(
                    "An error was encountered while installing/updating group '{name}': {error}"
                ),
            };
            return Ok(state.failed(text).into());
        }
    }
    let current = provider.list(call, Listing::Installed)?;
    let failed: Vec<String> = required
        .into_iter()
        .filter(|name| !current.contains_key(name))
        .collect();
    Ok(if failed.is_empty() {
        let done = if partly { "updated" } else { "installed" };
        state.ok(format!("Group '{name}' was {done}"))
    } else {
        state.failed(format!(
            "Failed to install the following packages: {}",
            failed.join(", ")
        ))
    }
    .into())
}
