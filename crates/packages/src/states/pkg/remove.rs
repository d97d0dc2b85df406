//! `pkg.removed` and `pkg.purged`.

use halite_call::{Call, CallResult, StateReturn, python};
use halite_proto::{Map, Value};

use super::extra;
use super::targets::to_remove;
use crate::pkg::error::PkgError;
use crate::pkg::lists;
use crate::pkg::provider::{Listing, Provider};
use crate::pkg::targets::{Targets, parse_targets};
use crate::pkg::this_machine::provider;

pub(super) fn removed(call: &Call<'_>) -> CallResult {
    run(call, false)
}

pub(super) fn purged(call: &Call<'_>) -> CallResult {
    run(call, true)
}

fn run(call: &Call<'_>, purge: bool) -> CallResult {
    let provider = provider(call)?;
    match uninstall(call, provider, purge) {
        Ok(state) => Ok(state.into()),
        Err(error @ PkgError::Tool { .. }) => {
            let mut state = StateReturn::of(call).failed(error.without_changes());
            state.changes = error.changes().unwrap_or_default();
            Ok(state.into())
        }
        Err(PkgError::Call(halite_call::CallError::Command(text))) => {
            let verb = if purge { "purging" } else { "removing" };
            Ok(StateReturn::of(call)
                .failed(format!(
                    "An error was encountered while {verb} package(s): {text}"
                ))
                .into())
        }
        Err(PkgError::Call(other)) => Err(other),
    }
}

fn uninstall(
    call: &Call<'_>,
    provider: &dyn Provider,
    purge: bool,
) -> Result<StateReturn, PkgError> {
    let action = if purge { "purge" } else { "remove" };
    let normalize = call.flag("normalize");
    let mut kwargs = extra(call);
    for name in ["name", "version", "pkgs"] {
        kwargs.insert(name, call.arg(name).clone());
    }
    kwargs.remove("sources");
    let wanted = match parse_targets(call, provider, &kwargs, normalize)? {
        Targets::Repository(wanted) => wanted,
        _ => Vec::new(),
    };
    let ignore_epoch = call.arg("ignore_epoch");
    let ignore_epoch = (!ignore_epoch.is_nil()).then(|| ignore_epoch.is_true());
    let mut targets = match to_remove(call, provider, &kwargs, normalize, ignore_epoch)? {
        Ok(targets) => targets,
        Err(_) if purge => Vec::new(),
        Err(done) => return Ok(*done),
    };
    if purge {
        let left = provider.list(call, Listing::Removed)?;
        targets.extend(
            wanted
                .iter()
                .map(|(name, _)| name.clone())
                .filter(|name| left.contains_key(name)),
        );
    }
    targets.sort();
    if targets.is_empty() {
        let partially = if purge { " or partially installed" } else { "" };
        return Ok(StateReturn::of(call).ok(format!(
            "None of the targeted packages are installed{partially}"
        )));
    }
    if call.is_test() {
        return Ok(predicted(call, action, &targets));
    }
    kwargs.insert("split_arch", false);
    let changes = provider.remove(call, purge, &kwargs)?;
    let failed = left_over(call, provider, purge, &wanted)?;
    let mut state = StateReturn::of(call);
    state.changes = changes;
    if !failed.is_empty() {
        return Ok(state.failed(format!(
            "The following packages failed to {action}: {}.",
            failed.join(", ")
        )));
    }
    let mut absent: Vec<&str> = wanted
        .iter()
        .map(|(name, _)| name.as_str())
        .filter(|name| !targets.iter().any(|target| target == name))
        .collect();
    absent.sort_unstable();
    Ok(state.ok(if absent.is_empty() {
        format!("All targeted packages were {action}d.")
    } else {
        format!(
            "The following packages were not installed: {} The following packages were {action}d: {}.",
            absent.join(", "),
            targets.join(", ")
        )
    }))
}

/// What a run in test mode returns.
fn predicted(call: &Call<'_>, action: &str, targets: &[String]) -> StateReturn {
    let mut state = StateReturn::of(call).pending(format!(
        "The following packages will be {action}d: {}.",
        targets.join(", ")
    ));
    for name in targets {
        let change = Map::from([("new", format!("{action}d")), ("old", String::new())]);
        state.changes.insert(name.as_str(), change);
    }
    state
}

/// The wanted packages that are still there.
fn left_over(
    call: &Call<'_>,
    provider: &dyn Provider,
    purge: bool,
    wanted: &[(String, Option<String>)],
) -> Result<Vec<String>, PkgError> {
    let current = provider.list(call, Listing::Installed)?;
    let grains = call.ctx.grains();
    let family = grains
        .get("os_family")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let several = ["Suse", "RedHat", "Windows"].contains(&family);
    let mut failed = Vec::new();
    for (name, version) in wanted {
        match version {
            _ if !current.contains_key(name) => {}
            Some(version) if several => {
                if lists::versions(&current, name).contains(version) {
                    failed.push(format!("{name}-{version}"));
                }
            }
            _ => failed.push(name.clone()),
        }
    }
    if purge {
        let left = provider.list(call, Listing::Removed)?;
        let names = left.keys().map(python::str);
        failed.extend(names.filter(|name| wanted.iter().any(|(known, _)| known == name)));
    }
    failed.sort();
    Ok(failed)
}
