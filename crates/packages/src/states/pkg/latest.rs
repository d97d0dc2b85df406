//! `pkg.latest`.

use halite_call::{Call, CallResult, StateReturn, python};
use halite_proto::{Map, Value};

use super::install::installable;
use super::{extra, is_empty_list};
use crate::pkg::provider::{Listing, provider};
use crate::pkg::targets::{PackageRequest, repack_pkgs};
use crate::pkg::{check_refresh, lists};

/// How many names a comment lists.
const NAMES_MAX: usize = 10;

pub(super) fn latest(call: &Call<'_>) -> CallResult {
    let provider = provider(call)?;
    let kwargs = extra(call);
    let refresh = check_refresh(call, call.arg("refresh"));
    let pkgs = call.arg("pkgs");
    if kwargs.get("sources").is_some_and(Value::is_true) {
        return Ok(StateReturn::of(call)
            .failed("The \"sources\" parameter is not supported.")
            .into());
    }
    let desired: Vec<String> = if pkgs.is_true() {
        let wanted = repack_pkgs(call, provider, pkgs, true)?;
        if wanted.is_empty() {
            return Ok(StateReturn::of(call)
                .failed("Invalidly formatted \"pkgs\" parameter. See minion log.")
                .into());
        }
        wanted.into_iter().map(|(name, _)| name).collect()
    } else if is_empty_list(pkgs) {
        return Ok(StateReturn::of(call)
            .ok("No packages to install provided")
            .into());
    } else {
        vec![call.text("name")]
    };
    let mut options = kwargs.clone();
    options.insert("refresh", refresh);
    options.insert("fromrepo", call.arg("fromrepo").clone());
    let available = match provider.latest(call, &desired, false, &options) {
        Ok(available) => available,
        Err(error) => {
            return Ok(StateReturn::of(call)
                .failed(format!(
                    "An error was encountered while checking the newest available version of package(s): {error}"
                ))
                .into());
        }
    };
    let current = match provider.list(call, Listing::Installed) {
        Ok(current) => lists::joined(&current),
        Err(error) => return Ok(StateReturn::of(call).failed(error.to_string()).into()),
    };
    let filled = |map: &Map, name: &str| {
        map.get(name)
            .filter(|value| value.is_true())
            .map(python::str)
    };
    let mut targets = PackageRequest::new();
    let mut problems = Vec::new();
    for name in &desired {
        match filled(&available, name) {
            Some(version) => targets.push((name.clone(), Some(version))),
            None if filled(&current, name).is_none() => {
                problems.push(format!("No information found for '{name}'."));
            }
            None => {}
        }
    }
    if !problems.is_empty() {
        return Ok(StateReturn::of(call).failed(problems.join(" ")).into());
    }
    if targets.is_empty() {
        return Ok(StateReturn::of(call).ok(all_current(&desired)).into());
    }
    let is_target = |name: &String| targets.iter().any(|(known, _)| known == name);
    let mut up_to_date: Vec<String> = if pkgs.is_true() {
        desired
            .iter()
            .filter(|name| !is_target(name))
            .cloned()
            .collect()
    } else {
        Vec::new()
    };
    up_to_date.sort();
    let mut names: Vec<String> = targets.iter().map(|(name, _)| name.clone()).collect();
    if call.is_test() {
        names.sort();
        let mut comments = vec![format!(
            "The following packages would be installed/upgraded: {}",
            names.join(", ")
        )];
        if up_to_date.len() > NAMES_MAX {
            comments.push(format!(
                "{} packages are already up-to-date",
                up_to_date.len()
            ));
        } else if !up_to_date.is_empty() {
            let list: Vec<String> = up_to_date
                .iter()
                .map(|name| format!("{name} ({})", filled(&current, name).unwrap_or_default()))
                .collect();
            comments.push(format!(
                "The following packages are already up-to-date: {}",
                list.join(", ")
            ));
        }
        let old: Map = desired
            .iter()
            .map(|name| (name.as_str(), filled(&current, name).unwrap_or_default()))
            .collect();
        let mut state = StateReturn::of(call).pending(comments.join("\n"));
        state.changes = installable(call, provider, &targets, &old, refresh)?;
        return Ok(state.into());
    }
    let mut arguments = kwargs;
    arguments.insert("refresh", false);
    arguments.insert("fromrepo", call.arg("fromrepo").clone());
    arguments.insert("skip_verify", call.arg("skip_verify").clone());
    let list: Vec<Value> = names.iter().map(|name| name.as_str().into()).collect();
    arguments.insert("pkgs", Value::List(list));
    let changes = match provider.install(call, &arguments) {
        Ok(changes) => changes,
        Err(error) => {
            return Ok(StateReturn::of(call)
                .failed(format!(
                    "An error was encountered while installing package(s): {error}"
                ))
                .into());
        }
    };
    names.sort();
    Ok(report(call, &targets, names, &up_to_date, changes))
}

fn all_current(desired: &[String]) -> String {
    match desired {
        [one] => format!("Package {one} is already up-to-date"),
        many if many.len() > NAMES_MAX => {
            format!("All {} packages are up-to-date.", many.len())
        }
        many => {
            let mut many = many.to_vec();
            many.sort();
            format!("All packages are up-to-date ({}).", many.join(", "))
        }
    }
}

fn report(
    call: &Call<'_>,
    targets: &PackageRequest,
    names: Vec<String>,
    up_to_date: &[String],
    changes: Map,
) -> Value {
    let current = |verb: &str, end: &str| match up_to_date.len() {
        0 => None,
        count if count > NAMES_MAX => {
            Some(format!("{count} packages {verb} already up-to-date{end}"))
        }
        _ => Some(format!(
            "The following packages {verb} already up-to-date: {}",
            up_to_date.join(", ")
        )),
    };
    if changes.is_empty() {
        let mut comment = match names.as_slice() {
            [one] => format!("Package {one} failed to update."),
            many if many.len() > NAMES_MAX => format!(
                "{} targeted packages failed to update. See debug log for details.",
                many.len()
            ),
            many => format!(
                "The following targeted packages failed to update. See debug log for details: ({}).",
                many.join(", ")
            ),
        };
        if let Some(more) = current("were", "") {
            comment.push(' ');
            comment.push_str(&more);
        }
        return StateReturn::of(call).failed(comment).into();
    }
    let failed = |name: &String| {
        let Some(change) = changes.get(name).filter(|change| change.is_true()) else {
            return true;
        };
        let wanted = targets
            .iter()
            .find(|(known, _)| known == name)
            .and_then(|(_, version)| version.as_deref());
        let new = change.get("new").map(python::str).unwrap_or_default();
        wanted != Some("latest") && !new.split(',').any(|version| Some(version) == wanted)
    };
    let (failed, fine): (Vec<String>, Vec<String>) = names.into_iter().partition(failed);
    let mut comments = Vec::new();
    if !failed.is_empty() {
        comments.push(format!(
            "The following packages failed to update: {}",
            failed.join(", ")
        ));
    }
    if !fine.is_empty() {
        comments.push(format!(
            "The following packages were successfully installed/upgraded: {}",
            fine.join(", ")
        ));
    }
    comments.extend(current("were", " "));
    let mut state = StateReturn::of(call);
    state.changes = changes;
    state.result = Some(failed.is_empty());
    state.comment = comments.join(" ").into();
    state.into()
}
