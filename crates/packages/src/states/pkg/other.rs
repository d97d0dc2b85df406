//! `pkg.uptodate`, `pkg.downloaded`, and patches.

use halite_call::{Call, CallResult, StateReturn, python};
use halite_proto::{Map, Value};

use super::{extra, is_empty_list};
use crate::pkg::provider::{Listing, Provider};
use crate::pkg::targets::{PackageRequest, Targets, parse_targets};
use crate::pkg::this_machine::provider;
use crate::pkg::{changes, lists, requirement};

pub(super) fn uptodate(call: &Call<'_>) -> CallResult {
    let provider = provider(call)?;
    let Value::Bool(refresh) = call.arg("refresh") else {
        return Ok(StateReturn::of(call)
            .failed("refresh must be either True or False")
            .into());
    };
    let mut kwargs = call.clean_kwargs();
    kwargs.insert("refresh", *refresh);
    let upgrades = match provider.upgrades(call, &kwargs) {
        Ok(upgrades) => upgrades,
        Err(error) => return Ok(StateReturn::of(call).failed(error.to_string()).into()),
    };
    let current = lists::joined(&provider.list(call, Listing::Installed)?);
    let pkgs = call.arg("pkgs");
    let only = pkgs.as_list().map(|_| python::texts(pkgs));
    let mut expected = Map::new();
    for (name, version) in &upgrades {
        let name = python::str(name);
        if only.as_ref().is_none_or(|only| only.contains(&name)) {
            let old = current.get(&name).cloned().unwrap_or_else(|| "".into());
            expected.insert(name, changes::change(old, version.clone()));
        }
    }
    if expected.is_empty() {
        return Ok(StateReturn::of(call)
            .ok("System is already up-to-date")
            .into());
    }
    let mut state = StateReturn::of(call);
    if call.is_test() {
        state.changes = expected;
        return Ok(state.pending("System update will be performed").into());
    }
    kwargs.insert("pkgs", pkgs.clone());
    match provider.upgrade(call, &kwargs) {
        Ok(changes) => state.changes = changes,
        Err(error) => return Ok(error.fail(state, "updating packages").into()),
    }
    let missing: Vec<String> = expected
        .keys()
        .map(python::str)
        .filter(|name| only.is_some() && !state.changes.contains_key(name))
        .collect();
    Ok(if missing.is_empty() {
        state.ok("Upgrade ran successfully")
    } else {
        state.failed(format!(
            "The following package(s) failed to update: {}",
            missing.join(", ")
        ))
    }
    .into())
}

pub(super) fn downloaded(call: &Call<'_>) -> CallResult {
    let provider = provider(call)?;
    if is_empty_list(call.arg("pkgs")) {
        return Ok(StateReturn::of(call)
            .ok("No packages to download provided")
            .into());
    }
    let mut kwargs = extra(call);
    for name in ["name", "version", "pkgs"] {
        kwargs.insert(name, call.arg(name).clone());
    }
    kwargs.remove("sources");
    let Targets::Repository(wanted) = parse_targets(call, provider, &kwargs, true)? else {
        return Ok(StateReturn::of(call)
            .failed("Invalidly formatted pkgs parameter. See minion log.")
            .into());
    };
    let old = list_downloaded(call)?;
    let targets = missing(provider, &wanted, &old);
    let state = StateReturn::of(call);
    if targets.is_empty() {
        let matching = if wanted.iter().any(|(_, version)| version.is_some()) {
            " (matching specified versions)"
        } else {
            ""
        };
        return Ok(state
            .ok(format!(
                "All specified packages{matching} are already downloaded"
            ))
            .into());
    }
    let names: Vec<&str> = targets.iter().map(|(name, _)| name.as_str()).collect();
    if call.is_test() {
        return Ok(state
            .pending(format!(
                "The following packages would be downloaded: {}",
                names.join(", ")
            ))
            .into());
    }
    let mut state = state;
    let arguments = download_arguments(call, kwargs, &targets);
    if let Err(error) = provider.install(call, &arguments) {
        state.changes = error.changes().unwrap_or_default();
        return Ok(state
            .failed(format!(
                "An error was encountered while downloading package(s): {error}"
            ))
            .into());
    }
    let new = list_downloaded(call)?;
    state.changes = downloads(&names, &old, &new);
    let failed = missing(provider, &wanted, &new);
    let failed: Vec<String> = failed.into_iter().map(|(name, _)| name).collect();
    Ok(if failed.is_empty() {
        state.ok(format!(
            "The following packages were downloaded: {}",
            names.join(", ")
        ))
    } else {
        state.failed(format!(
            "The following packages failed to download: {}",
            failed.join(", ")
        ))
    }
    .into())
}

fn download_arguments(call: &Call<'_>, mut kwargs: Map, targets: &PackageRequest) -> Map {
    let pkgs = targets
        .iter()
        .map(|(name, version)| Map::from([(name.as_str(), Value::from(version.clone()))]).into());
    kwargs.insert("pkgs", Value::List(pkgs.collect()));
    kwargs.remove("version");
    kwargs.insert("downloadonly", true);
    kwargs.insert("fromrepo", call.arg("fromrepo").clone());
    kwargs
}

/// The files of packages that are there: by package, then by version.
fn list_downloaded(call: &Call<'_>) -> CallResult {
    call.salt("pkg.list_downloaded", &[], Map::new())
}

fn downloaded_versions(list: &Value, name: &str) -> Vec<String> {
    let versions = list.get(name).and_then(Value::as_map);
    versions
        .map(|map| map.keys().map(python::str).collect())
        .unwrap_or_default()
}

/// The wanted packages that no file in `list` fulfills.
fn missing(provider: &dyn Provider, wanted: &PackageRequest, list: &Value) -> PackageRequest {
    let is_missing = |(name, version): &&(String, Option<String>)| {
        let has = downloaded_versions(list, name);
        let fulfills = |version| requirement::fulfills(provider, &has, version, None, false);
        has.is_empty() || !version.as_deref().is_none_or(fulfills)
    };
    wanted.iter().filter(is_missing).cloned().collect()
}

/// The files of `names` that are in `new` and not in `old`.
fn downloads(names: &[&str], old: &Value, new: &Value) -> Map {
    let mut changes = Map::new();
    for name in names {
        let before = downloaded_versions(old, name);
        for version in downloaded_versions(new, name) {
            if !before.contains(&version) {
                let path = new.get(name).and_then(|all| all.get(&version)).cloned();
                let change = changes::change("", path.unwrap_or_default());
                changes.insert(*name, Map::from([(version, change)]));
            }
        }
    }
    changes
}

pub(super) fn patch(call: &Call<'_>) -> CallResult {
    provider(call)?;
    Ok(StateReturn::of(call)
        .failed("The pkg.patch_installed state is not available on this platform")
        .into())
}
