//! What repositories offer, from dnf.

use halite_call::{Call, host};
use halite_proto::{Map, Value};

use super::{options, run, tool};
use crate::pkg::error::PkgError;
use crate::pkg::lists;
use crate::pkg::rpm::{self, own_arch, resolve};
use crate::pkg::version;
use crate::words;

pub(super) fn refresh(call: &Call<'_>, kwargs: &Map) -> Result<Value, PkgError> {
    crate::pkg::clear_refresh_tag(call);
    let mut clean = words(&["--quiet", "--assumeyes", "clean", "expire-cache"]);
    clean.extend(options(kwargs));
    run(call, &clean, false)?;
    if kwargs.get("check_update") == Some(&Value::Bool(false)) {
        return Ok(true.into());
    }
    let mut check = words(&["--quiet", "--assumeyes", "check-update"]);
    check.extend(options(kwargs));
    Ok(match run(call, &check, false)?.code {
        100 => true.into(),
        0 => Value::Nil,
        _ => false.into(),
    })
}

/// Lines of `name.arch version repository`, also where a line was broken.
fn listed(text: &str, own: &str) -> Vec<(String, String, String)> {
    let headers = [
        "Installed Packages",
        "Available Packages",
        "Available Upgrades",
        "Upgraded Packages",
        "Updated Packages",
    ];
    let fields: Vec<&str> = text
        .lines()
        .map(str::trim)
        .skip_while(|line| line.is_empty())
        .filter(|line| {
            !headers
                .iter()
                .any(|header| line.eq_ignore_ascii_case(header))
        })
        .take_while(|line| !line.starts_with("Obsoleting Packages"))
        .filter(|line| !line.starts_with("Last metadata"))
        .flat_map(str::split_whitespace)
        .collect();
    fields
        .chunks_exact(3)
        .map(|entry| {
            let (name, arch) = entry[0].rsplit_once('.').unwrap_or((entry[0], own));
            let version = entry[1].trim_end_matches('-');
            let version = version.strip_prefix("0:").unwrap_or(version);
            let repo = entry[2].trim_start_matches('@');
            (
                resolve(name, arch, own),
                version.to_owned(),
                repo.to_owned(),
            )
        })
        .collect()
}

pub(super) fn latest(
    call: &Call<'_>,
    names: &[String],
    show_installed: bool,
    kwargs: &Map,
) -> Result<Map, PkgError> {
    if kwargs.get("refresh").is_none_or(host::is_true) {
        refresh(call, kwargs)?;
    }
    let current = rpm::installed(call)?;
    let mut line = words(&["--quiet"]);
    line.extend(options(kwargs));
    line.extend(words(&["list", "available"]));
    line.extend(names.iter().cloned());
    let ran = run(call, &line, false)?;
    let text = if ran.ok() { ran.stdout } else { String::new() };
    let offered: Vec<(String, String)> = listed(&text, &own_arch(call))
        .into_iter()
        .map(|(name, version, _)| (name, version))
        .collect();
    let mut latest = Map::new();
    for name in names {
        let newest = offered
            .iter()
            .filter(|(known, _)| known == name)
            .map(|(_, version)| version)
            .max_by(|a, b| version::rpm(a, b));
        let has = lists::versions(&current, name);
        let newest = newest.filter(|newest| {
            show_installed || !has.iter().any(|old| version::rpm(old, newest).is_ge())
        });
        latest.insert(name.as_str(), newest.map_or("", String::as_str));
    }
    Ok(latest)
}

pub(super) fn upgrades(call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
    if kwargs.get("refresh").is_none_or(host::is_true) {
        let mut kwargs = kwargs.clone();
        kwargs.insert("check_update", false);
        refresh(call, &kwargs)?;
    }
    let mut line = words(&["--quiet"]);
    line.extend(options(kwargs));
    let kind = if tool(call) == "yum" {
        "updates"
    } else {
        "--upgrades"
    };
    line.extend(words(&["list", kind]));
    let ran = run(call, &line, false)?;
    Ok(listed(&ran.stdout, &own_arch(call))
        .into_iter()
        .map(|(name, version, _)| (name, version))
        .collect())
}

/// What repositories offer: name, version, repository; newest first.
pub(super) fn offered(
    call: &Call<'_>,
    names: &[String],
    kwargs: &Map,
) -> Result<Vec<(String, String, String)>, PkgError> {
    let mut line = words(&["--quiet", "--showduplicates"]);
    line.extend(options(kwargs));
    line.extend(words(&["list", "available"]));
    line.extend(names.iter().cloned());
    let ran = run(call, &line, false)?;
    let mut all = listed(&ran.stdout, &own_arch(call));
    // dnf's own directory of downloads.
    all.retain(|(_, _, repo)| repo != "_dnf_local");
    all.sort_by(|(a, x, _), (b, y, _)| a.cmp(b).then_with(|| version::rpm(y, x)));
    Ok(all)
}
