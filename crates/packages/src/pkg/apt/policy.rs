//! What repositories offer: candidates, versions, upgrades.

use halite_call::{Call, host, python};
use halite_proto::{Map, Value};

use super::{Apt, Tool, refresh_unless_valid, run};
use crate::pkg::error::PkgError;
use crate::pkg::lists;
use crate::pkg::provider::{Listing, Provider};

/// The candidates that are newer than what is installed.
pub(super) fn latest(
    call: &Call<'_>,
    names: &[String],
    show_installed: bool,
    kwargs: &Map,
) -> Result<Map, PkgError> {
    if kwargs.contains_key("repo") {
        return Err(PkgError::invocation(
            "The 'repo' argument is invalid, use 'fromrepo' instead",
        ));
    }
    let mut latest: Map = names
        .iter()
        .map(|name| (name.as_str(), Value::from("")))
        .collect();
    if names.is_empty() {
        return Ok(latest);
    }
    let installed = Apt.list(call, Listing::Installed)?;
    if kwargs.get("refresh").is_none_or(host::is_true) {
        refresh_unless_valid(call, kwargs)?;
    }
    let candidates = candidates(call, names, kwargs)?;
    let mut names: Vec<String> = names.to_vec();
    // A package of another architecture alone is found under its full name.
    let foreign: Vec<String> = names
        .iter()
        .filter(|name| !candidates.contains_key(name))
        .flat_map(|name| {
            let prefix = format!("{name}:");
            candidates
                .keys()
                .map(python::str)
                .filter(move |known| known.starts_with(&prefix))
                .collect::<Vec<_>>()
        })
        .collect();
    names.extend(foreign);
    for name in names {
        let Some(candidate) = candidates.get(&name).and_then(Value::as_str) else {
            continue;
        };
        let has = lists::versions(&installed, &name);
        let newest = has.is_empty()
            || show_installed
            || !has.iter().any(|old| Apt.compare(old, candidate).is_ge());
        if newest {
            latest.insert(name, candidate);
        }
    }
    Ok(latest)
}

/// The candidate of each name that `apt-cache policy` knows.
fn candidates(call: &Call<'_>, names: &[String], kwargs: &Map) -> Result<Map, PkgError> {
    let mut tool = Tool::new(&["apt-cache", "-q", "policy"]);
    tool.words.extend(names.iter().cloned());
    if let Some(repo) = kwargs.get("fromrepo").filter(|repo| repo.is_true()) {
        tool.words.push("-o".to_owned());
        tool.words
            .push(format!("APT::Default-Release={}", python::str(repo)));
    }
    let ran = run(call, || tool.clone())?;
    let short = |name: &str| name.split(':').next().unwrap_or(name).to_owned();
    let shorts: Vec<String> = names.iter().map(|name| short(name)).collect();
    let mut found = Map::new();
    let mut package = None;
    for line in ran.stdout.lines().map(str::trim) {
        if let Some(name) = line.strip_suffix(':')
            && !line.starts_with("Version table")
        {
            let known = names.iter().any(|known| known == name) || shorts.contains(&short(name));
            if known {
                package = Some(name);
            }
        } else if line.starts_with("Candidate")
            && let Some(name) = package
        {
            let version = line.split_whitespace().nth(1).unwrap_or_default();
            let none = version.eq_ignore_ascii_case("(none)");
            found.insert(name, if none { "" } else { version });
        }
    }
    Ok(found)
}

/// All versions that repositories have, newest first as apt lists them.
pub(super) fn available(call: &Call<'_>, names: &[String]) -> Result<Map, PkgError> {
    let mut tool = Tool::new(&["apt-cache", if names.is_empty() { "dump" } else { "show" }]);
    tool.words.extend(names.iter().cloned());
    tool.may_fail = true;
    let ran = run(call, || tool.clone())?;
    let mut versions = Map::new();
    let mut package = "";
    for line in ran.stdout.lines() {
        if let Some(name) = line.strip_prefix("Package: ") {
            package = name;
        } else if let Some(version) = line.trim().strip_prefix("Version:") {
            lists::add(&mut versions, package, version.trim());
        }
    }
    Ok(versions)
}

/// What an upgrade would install.
pub(super) fn upgrades(call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
    if kwargs.get("refresh").is_none_or(host::is_true) {
        refresh_unless_valid(call, kwargs)?;
    }
    let dist = kwargs.get("dist_upgrade").is_none_or(Value::is_true);
    let mut words = vec!["apt-get".to_owned(), "--just-print".to_owned()];
    words.push(if dist { "dist-upgrade" } else { "upgrade" }.to_owned());
    if let Some(repo) = kwargs.get("fromrepo") {
        words.push("-o".to_owned());
        words.push(format!("APT::Default-Release={}", python::str(repo)));
    }
    let tool = Tool {
        words,
        scoped: true,
        ..Tool::default()
    };
    let ran = run(call, || tool.clone())?;
    if !ran.ok() {
        let mut message = "Failed to get upgrades".to_owned();
        if !ran.complaint().is_empty() {
            message.push_str(": ");
            message.push_str(ran.complaint());
        }
        return Err(PkgError::command(message));
    }
    let mut upgrades = Map::new();
    for line in ran.stdout.lines() {
        // Conf name (version origin [arch])
        let mut words = line.split(' ');
        if let (Some("Conf"), Some(name), Some(version)) =
            (words.next(), words.next(), words.next())
            && let Some(version) = version.strip_prefix('(')
        {
            upgrades.insert(name, version);
        }
    }
    Ok(upgrades)
}
