//! Removing with `apt-get`.

use halite_call::{Call, python};
use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

use super::{Apt, Tool, run};
use crate::pkg::changes;
use crate::pkg::error::PkgError;
use crate::pkg::lists;
use crate::pkg::provider::{Listing, Provider};
use crate::pkg::targets::{PackageRequest, parse_removed};
use crate::words;

pub(super) fn remove(call: &Call<'_>, purge: bool, kwargs: &Map) -> Result<Map, PkgError> {
    let Some(wanted) = parse_removed(call, &Apt, kwargs, &["name", "pkgs"])? else {
        return Ok(Map::new());
    };
    let old = Apt.list(call, Listing::Installed)?;
    let old_removed = Apt.list(call, Listing::Removed)?;
    let mut targets = matching(&old, &wanted);
    if purge {
        targets.extend(matching(&old_removed, &wanted));
    }
    if targets.is_empty() {
        return Ok(Map::new());
    }
    let mut line = words(&["apt-get", "-q", "-y"]);
    line.push(if purge { "purge" } else { "remove" }.to_owned());
    line.extend(targets);
    let env = kwargs.get("env").cloned().unwrap_or_default();
    let ran = run(call, || Tool {
        env: env.clone(),
        ..Tool::changing(line.clone())
    })?;
    let mut errors = Vec::new();
    if !ran.ok() && !ran.stderr.is_empty() {
        errors.push(ran.stderr);
    }
    let new = Apt.list(call, Listing::Installed)?;
    let mut changes = changes::differences(&lists::joined(&old), &lists::joined(&new));
    if purge {
        let new_removed = Apt.list(call, Listing::Removed)?;
        let removed =
            changes::differences(&lists::joined(&old_removed), &lists::joined(&new_removed));
        changes = Map::from([("removed", removed), ("installed", changes)]);
    }
    changes::changed_or_errors("Problem encountered removing package(s)", errors, changes)
}

/// The listed packages that are wanted, by name or by pattern.
fn matching(list: &Map, wanted: &PackageRequest) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let (patterns, names): (Vec<_>, Vec<_>) =
        wanted.iter().partition(|(name, _)| name.contains('*'));
    for (name, _) in names {
        if list.contains_key(name) {
            found.push(name.clone());
        }
    }
    for (pattern, _) in patterns {
        for name in list.keys().map(python::str) {
            if fnmatch(pattern, &name) && !found.contains(&name) {
                found.push(name);
            }
        }
    }
    found
}

pub(super) fn autoremove(call: &Call<'_>, list: bool, purge: bool) -> Result<Value, PkgError> {
    let answer = if list { "--assume-no" } else { "--assume-yes" };
    let mut words = vec!["apt-get", answer];
    if purge {
        words.push("--purge");
    }
    words.push("autoremove");
    let tool = Tool {
        may_fail: true,
        silent: !list,
        scoped: true,
        ..Tool::new(&words)
    };
    if list {
        let ran = run(call, || tool.clone())?;
        let mut names: Vec<String> = ran
            .stdout
            .lines()
            .skip_while(|line| !line.contains("The following packages will be REMOVED:"))
            .skip(1)
            .take_while(|line| line.starts_with(' '))
            .flat_map(|line| line.split_whitespace().map(str::to_owned))
            .collect();
        names.sort();
        return Ok(Value::List(names.into_iter().map(Value::from).collect()));
    }
    let old = lists::joined(&Apt.list(call, Listing::Installed)?);
    run(call, || tool.clone())?;
    let new = lists::joined(&Apt.list(call, Listing::Installed)?);
    Ok(changes::differences(&old, &new).into())
}
