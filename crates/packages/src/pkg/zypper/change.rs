//! Installing, removing and upgrading with zypper.

use halite_call::{Call, host, python};
use halite_proto::{Map, Value};

use super::query::refresh;
use super::{Before, Zypper, ask, run};
use crate::pkg::changes;
use crate::pkg::error::PkgError;
use crate::pkg::lists;
use crate::pkg::provider::{Listing, Provider};
use crate::pkg::rpm::{current, observed};
use crate::pkg::targets::{self, Targets, parse_targets};
use crate::words;

/// The packages that it will not replace by older ones unless it is forced.
fn downgrades(text: &str) -> Vec<String> {
    text.lines()
        .filter(|line| line.contains("has lower version than the installed"))
        .filter_map(|line| {
            line.strip_prefix("The selected package '")?
                .split('\'')
                .next()
        })
        .map(str::to_owned)
        .collect()
}

pub(super) fn install(zypper: &Zypper, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
    let flag = |name: &str| kwargs.get(name).is_some_and(Value::is_true);
    if kwargs.get("refresh").is_some_and(host::is_true) {
        refresh(call, &Map::new())?;
    }
    let (targets, by_name): (Vec<String>, bool) = match parse_targets(call, zypper, kwargs, true)? {
        Targets::None => return Ok(Map::new()),
        Targets::Repository(wanted) => {
            let targets = wanted
                .iter()
                .map(|(name, version)| targets::target(name, version.as_deref()));
            (targets.collect(), true)
        }
        Targets::Files(files) => (files, false),
    };
    let old = observed(call, kwargs)?;
    let before = Before {
        no_refresh: !kwargs.get("refresh").is_some_and(host::is_true),
        no_gpg_checks: flag("skip_verify"),
        ..Before::default()
    };
    let line = |forced: bool, targets: &[String]| {
        let mut line = words(&["install", "--auto-agree-with-licenses"]);
        if by_name {
            // Not what provides something of this name.
            line.push("--name".to_owned());
        }
        let mut add = |wanted: bool, option: &str| {
            if wanted {
                line.push(option.to_owned());
            }
        };
        add(forced, "--force");
        add(flag("no_recommends"), "--no-recommends");
        add(flag("downloadonly"), "--download-only");
        add(flag("reinstall") && !forced, "--force");
        if let Some(repo) = kwargs.get("fromrepo").filter(|repo| repo.is_true()) {
            line.extend(words(&["--force", "--force-resolution", "--from"]));
            line.push(python::str(repo));
        }
        line.extend(targets.iter().cloned());
        line
    };
    let ran = run(call, before, &line(false, &targets))?;
    let older = downgrades(&ran.stdout);
    if !older.is_empty() {
        // As they were asked for: with their versions.
        let names = |older: &String| {
            let name = older
                .rsplit_once('-')
                .and_then(|(rest, _)| rest.rsplit_once('-'));
            name.map_or_else(|| older.clone(), |(name, _)| name.to_owned())
        };
        let older: Vec<String> = older.iter().map(names).collect();
        let forced: Vec<String> = targets
            .into_iter()
            .filter(|target| {
                let name = target.split(['=', '<', '>']).next().unwrap_or(target);
                older.iter().any(|older| older == name)
            })
            .collect();
        run(call, before, &line(true, &forced))?;
    }
    Ok(changes::differences(&old, &observed(call, kwargs)?))
}

pub(super) fn remove(zypper: &Zypper, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
    let arguments = ["name", "pkgs", "version"];
    let Some(wanted) = targets::parse_removed(call, zypper, kwargs, &arguments)? else {
        return Ok(Map::new());
    };
    let old = zypper.list(call, Listing::Installed)?;
    let targets =
        targets::removed_targets(&old, wanted, |name, version| format!("{name}={version}"));
    if targets.is_empty() {
        return Ok(Map::new());
    }
    let mut line = words(&["remove"]);
    line.extend(targets);
    run(call, Before::default(), &line)?;
    Ok(changes::differences(&lists::joined(&old), &current(call)?))
}

/// The words of an upgrade, and what stands before them.
fn upgrade_line(kwargs: &Map, dry_run: bool) -> (Before, Vec<String>) {
    let flag = |name: &str| kwargs.get(name).is_some_and(Value::is_true);
    let before = Before {
        no_refresh: !kwargs.get("refresh").is_none_or(host::is_true),
        no_gpg_checks: flag("skip_verify"),
        ..Before::default()
    };
    let verb = if flag("dist_upgrade") {
        "dist-upgrade"
    } else {
        "update"
    };
    let mut line = words(&[verb, "--auto-agree-with-licenses"]);
    if let Some(repo) = kwargs.get("fromrepo").filter(|repo| repo.is_true()) {
        for repo in python::texts(repo) {
            let option = if flag("dist_upgrade") {
                "--from"
            } else {
                "--repo"
            };
            line.extend([option.to_owned(), repo]);
        }
    }
    if dry_run {
        line.push("--dry-run".to_owned());
    }
    if flag("dist_upgrade") && flag("novendorchange") {
        line.push("--no-allow-vendor-change".to_owned());
    }
    if flag("no_recommends") {
        line.push("--no-recommends".to_owned());
    }
    if let Some(pkgs) = kwargs.get("pkgs").filter(|pkgs| pkgs.is_true()) {
        line.extend(python::texts(pkgs));
    } else if let Some(name) = kwargs.get("name").filter(|name| name.is_true()) {
        line.push(python::str(name));
    }
    (before, line)
}

/// What an upgrade would do, in zypper's words, if that is asked for.
pub(super) fn dry_run(call: &Call<'_>, kwargs: &Map) -> Result<Option<Value>, PkgError> {
    if !kwargs.get("dryrun").is_some_and(Value::is_true) {
        return Ok(None);
    }
    let (before, line) = upgrade_line(kwargs, true);
    Ok(Some(run(call, before, &line)?.stdout.into()))
}

pub(super) fn upgrade(call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
    if kwargs.get("refresh").is_none_or(host::is_true) {
        refresh(call, &Map::new())?;
    }
    let old = observed(call, kwargs)?;
    let (before, line) = upgrade_line(kwargs, false);
    let ran = run(call, before, &line);
    let changes = changes::differences(&old, &observed(call, kwargs)?);
    match ran {
        Ok(_) => Ok(changes),
        Err(error) => Err(PkgError::Tool {
            message: "Problem encountered upgrading packages".to_owned(),
            info: Map::from([
                ("changes", Value::from(changes)),
                ("result", error.to_string().into()),
            ]),
        }),
    }
}

pub(super) fn autoremove(call: &Call<'_>, list_only: bool) -> Result<Value, PkgError> {
    let unneeded: Vec<String> = ask(call, &["packages", "--unneeded"], &[])?
        .iter()
        .filter(|element| element.name == "solvable")
        .map(|element| element.text_of("name"))
        .collect();
    if list_only || unneeded.is_empty() {
        return Ok(Value::List(unneeded.into_iter().map(Value::from).collect()));
    }
    let old = current(call)?;
    let mut line = words(&["remove"]);
    line.extend(unneeded);
    run(call, Before::default(), &line)?;
    Ok(changes::differences(&old, &current(call)?).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_that_would_be_older_are_found() {
        let text = "x\nThe selected package 'pear-1.0-1.noarch' from repository 'First' has lower version than the installed one.\n";
        assert_eq!(downgrades(text), ["pear-1.0-1.noarch"]);
    }
}
