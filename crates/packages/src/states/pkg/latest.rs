//! `pkg.latest`.

use halite_call::{Call, CallResult, StateReturn, python};
use halite_proto::{Map, Value};

use super::install::installable;
use super::{extra, is_empty_list};
use crate::pkg::error::PkgError;
use crate::pkg::provider::{Listing, Provider};
use crate::pkg::targets::{PackageRequest, repack_pkgs};
use crate::pkg::this_machine::provider;
use crate::pkg::{check_refresh, lists};

/// How many names a comment lists.
const NAMES_MAX: usize = 10;

pub(super) fn latest(call: &Call<'_>) -> CallResult {
    let provider = provider(call)?;
    let kwargs = extra(call);
    let refresh = check_refresh(call, call.arg("refresh"));
    let state = StateReturn::of(call);
    if kwargs.get("sources").is_some_and(Value::is_true) {
        return Ok(state
            .failed("The \"sources\" parameter is not supported.")
            .into());
    }
    if is_empty_list(call.arg("pkgs")) {
        return Ok(state.ok("No packages to install provided").into());
    }
    let desired = desired(call, provider)?;
    if desired.is_empty() {
        return Ok(state
            .failed("Invalidly formatted \"pkgs\" parameter. See minion log.")
            .into());
    }
    let mut options = kwargs.clone();
    options.insert("refresh", refresh);
    options.insert("fromrepo", call.arg("fromrepo").clone());
    let available = match provider.latest(call, &desired, false, &options) {
        Ok(available) => available,
        Err(error) => {
            return Ok(state
                .failed(format!(
                    "An error was encountered while checking the newest available version of package(s): {error}"
                ))
                .into());
        }
    };
    let current = match provider.list(call, Listing::Installed) {
        Ok(current) => lists::joined(&current),
        Err(error) => return Ok(state.failed(error.to_string()).into()),
    };
    let mut upgrade = match Upgrade::decide(&desired, &available, &current) {
        Ok(upgrade) => upgrade,
        Err(problems) => return Ok(state.failed(problems).into()),
    };
    if upgrade.targets.is_empty() {
        return Ok(state.ok(all_current(&desired)).into());
    }
    if !call.arg("pkgs").is_true() {
        upgrade.up_to_date.clear();
    }
    if call.is_test() {
        let old: Map = desired
            .iter()
            .map(|name| (name.as_str(), filled(&current, name).unwrap_or_default()))
            .collect();
        let mut state = state.pending(upgrade.prediction(&current));
        state.changes = installable(call, provider, &upgrade.targets, &old, refresh)?;
        return Ok(state.into());
    }
    let arguments = upgrade.arguments(call, kwargs);
    Ok(match provider.install(call, &arguments) {
        Ok(changes) => report(state, &upgrade, changes),
        Err(error) => state.failed(format!(
            "An error was encountered while installing package(s): {error}"
        )),
    }
    .into())
}

/// The names of the wanted packages; none if they are not written as they must
/// be.
fn desired(call: &Call<'_>, provider: &dyn Provider) -> Result<Vec<String>, PkgError> {
    let pkgs = call.arg("pkgs");
    if !pkgs.is_true() {
        return Ok(vec![call.text("name")]);
    }
    let wanted = repack_pkgs(call, provider, pkgs, true)?;
    Ok(wanted.into_iter().map(|(name, _)| name).collect())
}

/// Which packages get a newer version.
struct Upgrade {
    /// Those that do, with that version.
    targets: PackageRequest,
    /// The others, sorted.
    up_to_date: Vec<String>,
}

impl Upgrade {
    /// Compares what is `available` with what is there, or says which packages
    /// nothing is known of.
    fn decide(desired: &[String], available: &Map, current: &Map) -> Result<Self, String> {
        let mut upgrade = Self {
            targets: PackageRequest::new(),
            up_to_date: Vec::new(),
        };
        let mut problems = Vec::new();
        for name in desired {
            match filled(available, name) {
                Some(version) => upgrade.targets.push((name.clone(), Some(version))),
                None if filled(current, name).is_none() => {
                    problems.push(format!("No information found for '{name}'."));
                }
                None => upgrade.up_to_date.push(name.clone()),
            }
        }
        if !problems.is_empty() {
            return Err(problems.join(" "));
        }
        upgrade.up_to_date.sort();
        Ok(upgrade)
    }

    fn names(&self) -> Vec<String> {
        self.targets.iter().map(|(name, _)| name.clone()).collect()
    }

    fn sorted_names(&self) -> Vec<String> {
        let mut names = self.names();
        names.sort();
        names
    }

    /// What test mode says.
    fn prediction(&self, current: &Map) -> String {
        let mut comments = vec![format!(
            "The following packages would be installed/upgraded: {}",
            self.sorted_names().join(", ")
        )];
        let count = self.up_to_date.len();
        if count > NAMES_MAX {
            comments.push(format!("{count} packages are already up-to-date"));
        } else if count > 0 {
            let versions = self
                .up_to_date
                .iter()
                .map(|name| format!("{name} ({})", filled(current, name).unwrap_or_default()));
            comments.push(format!(
                "The following packages are already up-to-date: {}",
                versions.collect::<Vec<_>>().join(", ")
            ));
        }
        comments.join("\n")
    }

    /// What the packages are installed with.
    fn arguments(&self, call: &Call<'_>, mut kwargs: Map) -> Map {
        kwargs.insert("refresh", false);
        kwargs.insert("fromrepo", call.arg("fromrepo").clone());
        kwargs.insert("skip_verify", call.arg("skip_verify").clone());
        let names = self.names().into_iter().map(Value::from).collect();
        kwargs.insert("pkgs", Value::List(names));
        kwargs
    }
}

/// The version of a package in a list, if it has one.
fn filled(list: &Map, name: &str) -> Option<String> {
    let version = list.get(name).filter(|version| version.is_true());
    version.map(python::str)
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

/// What has come of the upgrade, which has made these changes.
fn report(mut state: StateReturn, upgrade: &Upgrade, changes: Map) -> StateReturn {
    let Upgrade {
        targets,
        up_to_date,
    } = upgrade;
    let names = upgrade.sorted_names();
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
        return state.failed(comment);
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
    state.changes = changes;
    state.result = Some(failed.is_empty());
    state.comment = comments.join(" ").into();
    state
}
