//! Installing and upgrading with `apt-get`.

use halite_call::{Call, host, python};
use halite_proto::{Map, Value};

use super::plan::{Item, commands, conf_options, plan};
use super::{Apt, Tool, refresh_unless_valid, run};
use crate::pkg::error::PkgError;
use crate::pkg::provider::{Listing, Provider};
use crate::pkg::targets::{PackageRequest, Targets, parse_targets};
use crate::pkg::{changes, lists};

pub(super) fn install(call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
    let flag = |name: &str| kwargs.get(name).is_some_and(Value::is_true);
    let refresh_first = needs_refresh(call, kwargs)?;
    if let Some(file) = kwargs.get("debconf").filter(|file| file.is_true()) {
        call.salt("debconf.set_file", std::slice::from_ref(file), Map::new())?;
    }
    let normalize = kwargs.get("normalize").is_none_or(Value::is_true)
        && kwargs.get("split_arch").is_none_or(Value::is_true);
    let targets = parse_targets(call, &Apt, kwargs, normalize)?;
    let (items, from_files) = match targets {
        Targets::None => return Ok(Map::new()),
        Targets::Repository(wanted) => (of_repository(wanted, kwargs), false),
        Targets::Files(files) => (of_files(call, files)?, true),
    };
    let old = lists::joined(&Apt.list(call, Listing::Installed)?);
    let plan = plan(call, items, from_files, &old, kwargs)?;
    let commands = commands(&plan, from_files, kwargs);
    let mut errors = plan.errors;
    let mut changes = Map::new();
    if !commands.is_empty() {
        if refresh_first {
            refresh_unless_valid(call, kwargs)?;
        }
        let targeted: Vec<&str> = plan
            .install
            .iter()
            .chain(plan.reinstall.iter().map(|(name, _)| name))
            .filter_map(|target| target.split('=').next())
            .collect();
        let unhold: Vec<String> = Apt
            .held(call)?
            .into_iter()
            .filter(|held| targeted.contains(&held.as_str()))
            .collect();
        if !unhold.is_empty() {
            Apt.hold(call, false, &unhold)?;
        }
        for words in commands {
            let env = kwargs.get("env").cloned().unwrap_or_default();
            let ran = run(call, || Tool {
                env: env.clone(),
                ..Tool::changing(words.clone())
            })?;
            if !ran.ok() && !ran.stderr.is_empty() {
                errors.push(ran.stderr);
            }
        }
        let new = lists::joined(&Apt.list(call, Listing::Installed)?);
        changes = changes::differences(&old, &new);
        for (name, _) in &plan.reinstall {
            if !changes.contains_key(name) || old.contains_key(name) {
                let version = |list: &Map| list.get(name).cloned().unwrap_or_else(|| "".into());
                changes.insert(name.as_str(), changes::change(version(&old), version(&new)));
            }
        }
        if !unhold.is_empty() {
            Apt.hold(call, true, &unhold)?;
        }
        if flag("downloadonly") {
            tracing::debug!("packages were downloaded, not installed");
        }
    }
    changes::changed_or_errors("Problem encountered installing package(s)", errors, changes)
}

/// Lists are read again only if what is wanted is not the newest known.
fn needs_refresh(call: &Call<'_>, kwargs: &Map) -> Result<bool, PkgError> {
    if !kwargs.get("refresh").is_some_and(host::is_true) {
        return Ok(false);
    }
    let quiet = Map::from([("refresh", false)]);
    let is_newest = |name: &str, version: &Value| -> Result<bool, PkgError> {
        let latest = Apt.latest(call, &[name.to_owned()], true, &quiet)?;
        Ok(latest.get(name) == Some(version))
    };
    match kwargs.get("pkgs") {
        Some(Value::List(pkgs)) if !pkgs.is_empty() => {
            for pkg in pkgs {
                let newest = match crate::pkg::targets::one_entry(pkg) {
                    Some((name, version)) => is_newest(&name, version)?,
                    None => false,
                };
                if !newest {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        _ => match (kwargs.get("name"), kwargs.get("version")) {
            (Some(name), Some(version)) if version.is_true() => {
                Ok(!is_newest(&python::str(name), version)?)
            }
            _ => Ok(true),
        },
    }
}

fn of_repository(wanted: PackageRequest, kwargs: &Map) -> Vec<Item> {
    let single = wanted.len() == 1 && kwargs.get("pkgs").is_none_or(Value::is_nil);
    let version = kwargs
        .get("version")
        .filter(|version| version.is_true() && single);
    wanted
        .into_iter()
        .map(|(name, own)| Item {
            name,
            file: None,
            version: version.map(python::str).or(own),
        })
        .collect()
}

fn of_files(call: &Call<'_>, files: Vec<String>) -> Result<Vec<Item>, PkgError> {
    files
        .into_iter()
        .map(|file| {
            let info = super::query::file_info(call, &file)?;
            Ok(Item {
                name: info.name,
                file: Some(file),
                version: Some(info.version),
            })
        })
        .collect()
}

pub(super) fn upgrade(call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
    let flag = |name: &str| kwargs.get(name).is_some_and(Value::is_true);
    if kwargs.get("refresh").is_none_or(host::is_true) {
        refresh_unless_valid(call, kwargs)?;
    }
    let old = lists::joined(&Apt.list(call, Listing::Installed)?);
    let mut words: Vec<&str> = vec!["apt-get", "-q", "-y"];
    words.extend(conf_options(flag("force_conf_new")));
    for (option, word) in [
        ("force_yes", "--force-yes"),
        ("skip_verify", "--allow-unauthenticated"),
    ] {
        if flag(option) {
            words.push(word);
        }
    }
    if flag("download_only") || flag("downloadonly") {
        words.push("--download-only");
    }
    if flag("allow_downgrades") {
        words.push("--allow-downgrades");
    }
    let dist = flag("dist_upgrade");
    words.push(if dist { "dist-upgrade" } else { "upgrade" });
    let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    let ran = run(call, || Tool::changing(words.clone()))?;
    let new = lists::joined(&Apt.list(call, Listing::Installed)?);
    let changes = changes::differences(&old, &new);
    changes::upgraded(ran, changes)
}
