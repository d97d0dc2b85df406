//! `pkg.uptodate`, `pkg.downloaded`, groups and patches.

use halite_call::{Call, CallResult, StateReturn, python};
use halite_proto::{Map, Value};

use super::{extra, is_empty_list};
use crate::pkg::provider::{Listing, provider};
use crate::pkg::targets::{Targets, parse_targets};
use crate::pkg::{changes, dnf, lists, requirement};

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
        Err(error) => {
            let comment = match error.changes() {
                Some(changes) => {
                    state.changes = changes;
                    error.without_changes()
                }
                None => format!("An error was encountered while updating packages: {error}"),
            };
            return Ok(state.failed(comment).into());
        }
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
    let has = || call.salt("pkg.list_downloaded", &[], Map::new());
    let old = has()?;
    let versions = |list: &Value, name: &str| -> Vec<String> {
        list.get(name)
            .and_then(Value::as_map)
            .map(|map| map.keys().map(python::str).collect())
            .unwrap_or_default()
    };
    let missing = |list: &Value| -> Vec<(String, Option<String>)> {
        wanted
            .iter()
            .filter(|(name, version)| {
                let has = versions(list, name);
                has.is_empty()
                    || version.as_ref().is_some_and(|version| {
                        !requirement::fulfills(provider, &has, version, None, false)
                    })
            })
            .cloned()
            .collect()
    };
    let targets = missing(&old);
    if targets.is_empty() {
        let matching = if wanted.iter().any(|(_, version)| version.is_some()) {
            " (matching specified versions)"
        } else {
            ""
        };
        return Ok(StateReturn::of(call)
            .ok(format!(
                "All specified packages{matching} are already downloaded"
            ))
            .into());
    }
    let names: Vec<&str> = targets.iter().map(|(name, _)| name.as_str()).collect();
    if call.is_test() {
        return Ok(StateReturn::of(call)
            .pending(format!(
                "The following packages would be downloaded: {}",
                names.join(", ")
            ))
            .into());
    }
    let pkgs = targets
        .iter()
        .map(|(name, version)| Map::from([(name.as_str(), Value::from(version.clone()))]).into());
    kwargs.insert("pkgs", Value::List(pkgs.collect()));
    kwargs.remove("version");
    kwargs.insert("downloadonly", true);
    kwargs.insert("fromrepo", call.arg("fromrepo").clone());
    let mut state = StateReturn::of(call);
    if let Err(error) = provider.install(call, &kwargs) {
        state.changes = error.changes().unwrap_or_default();
        return Ok(state
            .failed(format!(
                "An error was encountered while downloading package(s): {error}"
            ))
            .into());
    }
    let new = has()?;
    for name in &names {
        for version in versions(&new, name) {
            if !versions(&old, name).contains(&version) {
                let path = new.get(name).and_then(|all| all.get(&version)).cloned();
                let change = changes::change("", path.unwrap_or_default());
                state.changes.insert(*name, Map::from([(version, change)]));
            }
        }
    }
    let failed: Vec<String> = missing(&new).into_iter().map(|(name, _)| name).collect();
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

pub(super) fn group_installed(call: &Call<'_>) -> CallResult {
    let provider = provider(call)?;
    if provider.name() != "dnf" {
        return Ok(StateReturn::of(call)
            .failed("pkg.group_install not available for this platform")
            .into());
    }
    dnf::groups::installed(call, provider, StateReturn::of(call))
}

pub(super) fn patch(call: &Call<'_>) -> CallResult {
    provider(call)?;
    Ok(StateReturn::of(call)
        .failed("The pkg.patch_installed state is not available on this platform")
        .into())
}
