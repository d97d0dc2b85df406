//! What apt-get must install: which packages, in which runs.

use halite_call::{Call, python};
use halite_proto::{Map, Value};

use super::Apt;
use crate::pkg::error::PkgError;
use crate::pkg::lists;
use crate::pkg::provider::Provider;
use crate::pkg::requirement;
use crate::words;

/// One thing to install.
pub(super) struct Item {
    pub(super) name: String,
    /// Its file, for packages that are not from a repository.
    pub(super) file: Option<String>,
    pub(super) version: Option<String>,
}

/// What apt is told: each list is one run of it.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) install: Vec<String>,
    downgrade: Vec<String>,
    pub(super) reinstall: Vec<(String, String)>,
    pub(super) errors: Vec<String>,
}

/// What is to be done with each of `items`, by what is installed.
pub(super) fn plan(
    call: &Call<'_>,
    items: Vec<Item>,
    from_files: bool,
    old: &Map,
    kwargs: &Map,
) -> Result<Plan, PkgError> {
    let compared: Vec<String> = items
        .iter()
        .filter(|item| {
            let version = item.version.as_deref().unwrap_or_default();
            !from_files && version.starts_with(['<', '>'])
        })
        .map(|item| item.name.clone())
        .collect();
    let offered = if compared.is_empty() {
        Map::new()
    } else {
        Apt.available(call, &compared, kwargs)?
    };
    let reinstall = kwargs.get("reinstall").is_some_and(Value::is_true);
    let ignore_epoch = kwargs.get("ignore_epoch").is_some_and(Value::is_true);
    let mut plan = Plan::default();
    for item in items {
        let has = old
            .get(&item.name)
            .and_then(Value::as_str)
            .unwrap_or_default();
        let Some(version) = item.version else {
            if reinstall && !has.is_empty() {
                plan.reinstall.push((item.name.clone(), item.name));
            } else {
                plan.install.push(item.file.unwrap_or(item.name));
            }
            continue;
        };
        let mut version = version.trim_start_matches('=').to_owned();
        if compared.contains(&item.name) {
            let candidates = lists::versions(&offered, &item.name);
            match requirement::pick(&Apt, &version, &candidates, ignore_epoch) {
                Some(found) => version = found,
                None => {
                    plan.errors
                        .push(requirement::unmatched(&item.name, &version, &candidates));
                    continue;
                }
            }
        }
        let target = item
            .file
            .unwrap_or_else(|| format!("{}={version}", item.name));
        let order = Apt.compare(&version, has);
        if reinstall && !has.is_empty() && order.is_eq() {
            plan.reinstall.push((item.name, target));
        } else if has.is_empty() || order.is_ge() {
            plan.install.push(target);
        } else {
            plan.downgrade.push(target);
        }
    }
    Ok(plan)
}

/// The command lines of a plan.
pub(super) fn commands(plan: &Plan, from_files: bool, kwargs: &Map) -> Vec<Vec<String>> {
    let flag = |name: &str| kwargs.get(name).is_some_and(Value::is_true);
    let mut prefix = words(&["apt-get", "-q", "-y"]);
    let mut add = |words: &[&str]| prefix.extend(words.iter().map(|word| (*word).to_owned()));
    if flag("force_yes") {
        add(&["--force-yes"]);
    }
    add(conf_options(flag("force_conf_new")));
    match kwargs.get("install_recommends") {
        Some(value) if value.is_true() => add(&["--install-recommends"]),
        Some(_) => add(&["--no-install-recommends"]),
        None => {}
    }
    if flag("only_upgrade") {
        add(&["--only-upgrade"]);
    }
    if flag("skip_verify") {
        add(&["--allow-unauthenticated"]);
    }
    let repo = kwargs
        .get("fromrepo")
        .filter(|repo| repo.is_true())
        .or_else(|| kwargs.get("repo").filter(|repo| repo.is_true()));
    if let (Some(repo), false) = (repo, from_files) {
        add(&["-t", &python::str(repo)]);
    }
    let mut commands = Vec::new();
    let line = |before: &[&str], after: &[&str], targets: Vec<String>| {
        let mut words = prefix.clone();
        words.extend(before.iter().map(|word| (*word).to_owned()));
        words.push("install".to_owned());
        words.extend(after.iter().map(|word| (*word).to_owned()));
        words.extend(targets);
        words
    };
    if !plan.install.is_empty() {
        commands.push(line(&[], &[], plan.install.clone()));
    }
    if !plan.downgrade.is_empty() {
        let force: &[&str] = if from_files || flag("force_yes") {
            &[]
        } else {
            &["--force-yes"]
        };
        commands.push(line(force, &[], plan.downgrade.clone()));
    }
    if flag("downloadonly")
        && let Some(last) = commands.last_mut()
    {
        last.push("--download-only".to_owned());
    }
    if !plan.reinstall.is_empty() {
        let targets = plan.reinstall.iter().map(|(_, target)| target.clone());
        let again: &[&str] = if from_files { &[] } else { &["--reinstall"] };
        commands.push(line(&[], again, targets.collect()));
    }
    commands
}

/// Which configuration files stay: those that were changed, or the new ones.
pub(super) fn conf_options(new: bool) -> &'static [&'static str] {
    if new {
        &["-o", "DPkg::Options::=--force-confnew"]
    } else {
        &[
            "-o",
            "DPkg::Options::=--force-confold",
            "-o",
            "DPkg::Options::=--force-confdef",
        ]
    }
}
