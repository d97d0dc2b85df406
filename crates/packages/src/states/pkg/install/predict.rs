//! What test mode says.
use halite_call::{Call, StateReturn};
use halite_proto::{Map, Value};

use crate::pkg::changes;
use crate::pkg::error::PkgError;
use crate::pkg::provider::Provider;
use crate::pkg::targets::PackageRequest;
use crate::states::pkg::targets::{Request, Todo, add_warnings, written};

/// What test mode says.
pub(super) fn predict(
    call: &Call<'_>,
    provider: &dyn Provider,
    request: &Request<'_>,
    todo: &Todo,
) -> Result<StateReturn, PkgError> {
    let mut state = StateReturn::of(call);
    let mut comments = Vec::new();
    let from_files = request.sources.is_true();
    let installed = || changes::change("", "installed");
    if !todo.targets.is_empty() {
        state.changes = if from_files {
            todo.targets
                .iter()
                .map(|(name, _)| (name.as_str(), installed()))
                .collect()
        } else {
            installable(call, provider, &todo.targets, &Map::new(), request.refresh)?
        };
        let names: Vec<&str> = todo.targets.iter().map(|(name, _)| name.as_str()).collect();
        comments.push(format!(
            "The following packages would be installed/updated: {}",
            names.join(", ")
        ));
    }
    if !todo.unpurge.is_empty() {
        comments.push(format!(
            "The following packages would have their selection status changed from 'purge' to 'install': {}",
            todo.unpurge.join(", ")
        ));
        for name in &todo.unpurge {
            state.changes.insert(name.as_str(), installed());
        }
    }
    if !todo.reinstall.is_empty() {
        let mut names = Vec::new();
        for (name, _) in &todo.reinstall {
            let name = if from_files {
                name.clone()
            } else {
                written(name, &todo.reinstall)
            };
            state.changes.insert(name.as_str(), installed());
            names.push(name);
        }
        comments.push(format!(
            "The following packages would be reinstalled: {}",
            names.join(", ")
        ));
    }
    let mut state = state.pending(comments.join("\n"));
    add_warnings(&mut state, &todo.warnings);
    Ok(state)
}

/// The versions that would be installed.
pub(in crate::states::pkg) fn installable(
    call: &Call<'_>,
    provider: &dyn Provider,
    targets: &PackageRequest,
    current: &Map,
    refresh: bool,
) -> Result<Map, PkgError> {
    let newest: Vec<String> = targets
        .iter()
        .filter(|(_, version)| version.as_deref().is_none_or(str::is_empty))
        .map(|(name, _)| name.clone())
        .collect();
    let mut versions = Map::new();
    if !newest.is_empty() {
        let kwargs = Map::from([("refresh", refresh)]);
        versions = provider.latest(call, &newest, false, &kwargs)?;
    }
    let exact: Vec<String> = targets
        .iter()
        .filter(|(name, _)| !newest.contains(name))
        .map(|(name, _)| written(name, targets))
        .collect();
    if !exact.is_empty() {
        for (name, list) in provider.available(call, &exact, &Map::new())? {
            if let Value::List(list) = list
                && let Some(first) = list.into_iter().next()
            {
                versions.insert(name, first);
            }
        }
    }
    Ok(targets
        .iter()
        .map(|(name, _)| {
            let new = versions
                .get(name)
                .filter(|version| version.is_true())
                .cloned();
            let old = current.get(name).cloned();
            let change = Map::from([
                ("new", new.unwrap_or_else(|| "installed".into())),
                ("old", old.unwrap_or_else(|| "".into())),
            ]);
            (name.as_str(), Value::from(change))
        })
        .collect())
}
