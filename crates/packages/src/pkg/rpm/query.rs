//! What is installed and what repositories offer, from rpm, dnf and zypper.

use halite_modules::host::Program;
use halite_modules::{Call, host, python};
use halite_proto::{Map, Value};

use super::{Rpm, options, own_arch, resolve, words};
use crate::pkg::error::PkgError;
use crate::pkg::lists;
use crate::pkg::provider::{FileInfo, Provider};
use crate::pkg::version;
use crate::time;

const FORMAT: &str =
    "%{NAME}_|-%{EPOCH}_|-%{VERSION}_|-%{RELEASE}_|-%{ARCH}_|-(none)_|-%{INSTALLTIME}\n";

/// A package as rpm's query format writes it.
fn parse(line: &str, own: &str) -> Option<(String, String, String)> {
    let fields: Vec<&str> = line.split("_|-").collect();
    let [name, epoch, version, release, arch, ..] = fields.as_slice() else {
        return None;
    };
    let mut full = (*version).to_owned();
    if !release.is_empty() {
        full.push('-');
        full.push_str(release);
    }
    if !matches!(*epoch, "(none)" | "0" | "") {
        full = format!("{epoch}:{full}");
    }
    Some((resolve(name, arch, own), full, (*arch).to_owned()))
}

pub(super) fn installed(call: &Call<'_>) -> Result<Map, PkgError> {
    let ran = Program::new(
        call,
        &[
            "rpm",
            "-qa",
            "--nodigest",
            "--nosignature",
            "--queryformat",
            FORMAT,
        ],
    )
    .run()?;
    let own = own_arch(call);
    let mut list = Map::new();
    for (name, version, _) in ran.stdout.lines().filter_map(|line| parse(line, &own)) {
        // Keys that sign packages are not packages.
        if name != "gpg-pubkey" {
            lists::add(&mut list, &name, &version);
        }
    }
    lists::sort(&mut list);
    Ok(list)
}

pub(super) fn refresh(rpm: &Rpm, call: &Call<'_>, kwargs: &Map) -> Result<Value, PkgError> {
    crate::pkg::clear_refresh_tag(call);
    if rpm.zypper {
        let ran = rpm.run(call, &words(&["refresh", "--force"]), false)?;
        let mut repos = Map::new();
        for line in ran.stdout.lines() {
            let name = line
                .split_once('\'')
                .and_then(|(_, rest)| rest.split_once('\''));
            let Some((name, _)) = name else {
                continue;
            };
            if line.starts_with("Repository") {
                repos.insert(name, line.contains("is up to date"));
            } else if line.starts_with("Retrieving repository") && line.contains("[done") {
                repos.insert(name, true);
            }
        }
        if !ran.ok() {
            return Err(PkgError::command(ran.complaint()));
        }
        return Ok(repos.into());
    }
    let mut clean = words(&["--quiet", "--assumeyes", "clean", "expire-cache"]);
    clean.extend(options(kwargs));
    rpm.run(call, &clean, false)?;
    if kwargs.get("check_update") == Some(&Value::Bool(false)) {
        return Ok(true.into());
    }
    let mut check = words(&["--quiet", "--assumeyes", "check-update"]);
    check.extend(options(kwargs));
    Ok(match rpm.run(call, &check, false)?.code {
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
    rpm: &Rpm,
    call: &Call<'_>,
    names: &[String],
    show_installed: bool,
    kwargs: &Map,
) -> Result<Map, PkgError> {
    if kwargs.get("refresh").is_none_or(host::is_true) {
        refresh(rpm, call, kwargs)?;
    }
    let current = installed(call)?;
    let offered: Vec<(String, String)> = if rpm.zypper {
        zypper_versions(rpm, call, names)?
    } else {
        let mut line = words(&["--quiet"]);
        line.extend(options(kwargs));
        line.extend(words(&["list", "available"]));
        line.extend(names.iter().cloned());
        let ran = rpm.run(call, &line, false)?;
        let text = if ran.ok() { ran.stdout } else { String::new() };
        listed(&text, &own_arch(call))
            .into_iter()
            .map(|(name, version, _)| (name, version))
            .collect()
    };
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

/// The versions that `zypper info` tells.
fn zypper_versions(
    rpm: &Rpm,
    call: &Call<'_>,
    names: &[String],
) -> Result<Vec<(String, String)>, PkgError> {
    let mut line = words(&["--no-refresh", "info", "-t", "package"]);
    line.extend(names.iter().cloned());
    let ran = rpm.run(call, &line, false)?;
    let mut found = Vec::new();
    let mut name = String::new();
    for line in ran.stdout.lines() {
        if let Some((key, value)) = line.split_once(':') {
            match key.trim() {
                "Name" => value.trim().clone_into(&mut name),
                "Version" => found.push((name.clone(), value.trim().to_owned())),
                _ => {}
            }
        }
    }
    Ok(found)
}

pub(super) fn upgrades(rpm: &Rpm, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
    if kwargs.get("refresh").is_none_or(host::is_true) {
        let mut kwargs = kwargs.clone();
        kwargs.insert("check_update", false);
        refresh(rpm, call, &kwargs)?;
    }
    if rpm.zypper {
        let ran = rpm.run(call, &words(&["--no-refresh", "list-updates"]), false)?;
        // S | Repository | Name | Current Version | Available Version | Arch
        let rows = ran.stdout.lines().filter_map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            match cells.as_slice() {
                ["v", _, name, _, new, ..] => Some((*name, *new)),
                _ => None,
            }
        });
        return Ok(rows.collect());
    }
    let mut line = words(&["--quiet"]);
    line.extend(options(kwargs));
    let kind = if rpm.tool(call) == "yum" {
        "updates"
    } else {
        "--upgrades"
    };
    line.extend(words(&["list", kind]));
    let ran = rpm.run(call, &line, false)?;
    Ok(listed(&ran.stdout, &own_arch(call))
        .into_iter()
        .map(|(name, version, _)| (name, version))
        .collect())
}

/// All versions of repositories, newest first.
pub(super) fn available(
    rpm: &Rpm,
    call: &Call<'_>,
    names: &[String],
    kwargs: &Map,
) -> Result<Map, PkgError> {
    let plain: Vec<String> = names
        .iter()
        .map(|name| {
            name.split(['=', '<', '>'])
                .next()
                .unwrap_or(name)
                .to_owned()
        })
        .collect();
    let mut all: Vec<(String, String)> = if rpm.zypper {
        zypper_versions(rpm, call, &plain)?
    } else {
        let mut line = words(&["--quiet", "--showduplicates"]);
        line.extend(options(kwargs));
        line.extend(words(&["list"]));
        line.extend(plain.iter().cloned());
        let ran = rpm.run(call, &line, false)?;
        listed(&ran.stdout, &own_arch(call))
            .into_iter()
            .map(|(name, version, _)| (name, version))
            .collect()
    };
    all.sort_by(|(a, x), (b, y)| a.cmp(b).then_with(|| version::rpm(y, x)));
    all.dedup();
    let mut versions = Map::new();
    for (name, version) in all {
        lists::add(&mut versions, &name, &version);
    }
    Ok(versions)
}

/// The names of locked packages.
pub(super) fn held(rpm: &Rpm, call: &Call<'_>) -> Result<Vec<String>, PkgError> {
    if rpm.zypper {
        let text = call.host().read("/etc/zypp/locks");
        return Ok(text
            .lines()
            .filter_map(|line| line.strip_prefix("solvable_name:"))
            .map(|name| name.trim().to_owned())
            .collect());
    }
    let listing = words(&["versionlock", "list"]);
    let ran = rpm.run(call, &listing, false)?;
    let mut names: Vec<String> = Vec::new();
    for line in ran.stdout.lines().map(str::trim) {
        let name = if let Some(name) = line.strip_prefix("Package name:") {
            name.trim().to_owned()
        } else {
            // [epoch:]name-[epoch:]version-release.arch
            let line = line.trim_end_matches(".*");
            let without = line
                .rsplit_once('-')
                .and_then(|(rest, _)| rest.rsplit_once('-'));
            let Some((name, _)) = without.filter(|(name, _)| !name.contains(' ')) else {
                continue;
            };
            name.rsplit_once(':')
                .map_or(name, |(_, name)| name)
                .to_owned()
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

pub(super) fn files(
    call: &Call<'_>,
    names: &[String],
) -> Result<Vec<(String, Vec<String>)>, PkgError> {
    names
        .iter()
        .map(|name| {
            let ran = Program::new(call, &["rpm", "-ql", name]).may_fail().run()?;
            let files = ran.stdout.lines().map(str::to_owned).collect();
            Ok((name.clone(), files))
        })
        .collect()
}

pub(super) fn file_info(call: &Call<'_>, path: &str) -> Result<Option<FileInfo>, PkgError> {
    let ran = Program::new(call, &["rpm", "-qp", "--queryformat", FORMAT, path])
        .may_fail()
        .run()?;
    Ok(ran.stdout.lines().find_map(|line| {
        let (name, version, arch) = parse(line, &own_arch(call))?;
        Some(FileInfo {
            name,
            version,
            arch,
        })
    }))
}

pub(super) fn info(call: &Call<'_>, names: &[String], failhard: bool) -> Result<Map, PkgError> {
    let fields = [
        ("name", "NAME"),
        ("epoch", "EPOCH"),
        ("version", "VERSION"),
        ("release", "RELEASE"),
        ("arch", "ARCH"),
        ("install_date", "INSTALLTIME"),
        ("group", "GROUP"),
        ("size", "SIZE"),
        ("license", "LICENSE"),
        ("source", "SOURCERPM"),
        ("packager", "PACKAGER"),
        ("vendor", "VENDOR"),
        ("url", "URL"),
        ("summary", "SUMMARY"),
        ("build_host", "BUILDHOST"),
    ];
    let mut format: String = fields
        .iter()
        .map(|(key, tag)| format!("{key}: %{{{tag}}}\n"))
        .collect();
    format.push_str("description: %{DESCRIPTION}\n-----\n");
    let mut line = words(&["rpm", "-q", "--queryformat", &format]);
    if names.is_empty() {
        line.push("-a".to_owned());
    }
    line.extend(names.iter().cloned());
    let ran = Program::new(call, &line).may_fail().run()?;
    if !ran.ok() && failhard {
        return Err(PkgError::command(format!(
            "Error while querying packages: {}",
            ran.complaint()
        )));
    }
    let mut all = Map::new();
    for text in ran.stdout.split("\n-----") {
        let Some((head, description)) = text.split_once("description: ") else {
            continue;
        };
        let mut info = Map::new();
        for (key, value) in head.lines().filter_map(|line| line.split_once(": ")) {
            if matches!(value, "(none)" | "") {
                continue;
            }
            if key == "install_date" {
                let seconds = value.parse().unwrap_or_default();
                info.insert("install_date", time::utc(seconds));
                info.insert("install_date_time_t", seconds);
            } else {
                info.insert(key, value);
            }
        }
        info.insert("description", description);
        if let Some(name) = info.remove("name") {
            all.insert(python::str(&name), info);
        }
    }
    Ok(all)
}

/// The list of installed packages, versions in one text.
pub(super) fn current(rpm: &Rpm, call: &Call<'_>) -> Result<Map, PkgError> {
    let list = rpm.list(call, crate::pkg::provider::Listing::Installed)?;
    Ok(lists::joined(&list))
}
