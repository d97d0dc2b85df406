//! What the repositories of zypper have.

use halite_call::{Call, host, python};
use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

use super::{Before, ask, run, xml};
use crate::pkg::error::PkgError;
use crate::pkg::{rpm, version};
use crate::words;

/// The text between the first two quotes.
fn quoted(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('\'')?;
    // Names may hold quotes themselves.
    let end = rest.rfind('\'')?;
    Some(&rest[..end])
}

/// Whether each repository was read again.
pub(super) fn refresh(call: &Call<'_>, kwargs: &Map) -> Result<Value, PkgError> {
    crate::pkg::clear_refresh_tag(call);
    let force = match kwargs.get("force") {
        Some(Value::Nil) | None => call.opt("zypper.refreshdb_force") != &Value::Bool(false),
        Some(force) => force.is_true(),
    };
    let before = Before {
        xml: true,
        import_keys: kwargs.get("gpgautoimport").is_some_and(Value::is_true),
        ..Before::default()
    };
    let line = words(if force {
        &["refresh", "--force"]
    } else {
        &["refresh"]
    });
    let mut repos = Map::new();
    for element in xml::elements(&run(call, before, &line)?.stdout) {
        if element.name == "message" && element.text.ends_with("is up to date.") {
            if let Some(name) = quoted(&element.text) {
                repos.insert(name, false);
            }
        } else if element.name == "progress" && element.get("done").is_some() {
            let what = element.text_of("name");
            if let Some(name) = quoted(&what).filter(|_| what.starts_with("Retrieving repository"))
            {
                repos.insert(name, element.get("done") == Some("1"));
            }
        }
    }
    Ok(repos.into())
}

fn refresh_unless_unwanted(call: &Call<'_>, kwargs: &Map) -> Result<(), PkgError> {
    if kwargs.get("refresh").is_none_or(host::is_true) {
        refresh(call, &Map::new())?;
    }
    Ok(())
}

/// What `zypper info` tells of packages that a repository has.
fn information(call: &Call<'_>, names: &[String]) -> Result<Map, PkgError> {
    let before = Before {
        no_refresh: true,
        ..Before::default()
    };
    let mut line = words(&["info", "-t", "package"]);
    line.extend(names.iter().cloned());
    let ran = run(call, before, &line)?;
    let (mut all, mut name, mut about) = (Map::new(), String::new(), Map::new());
    let mut finish = |name: &mut String, about: &mut Map| {
        if !name.is_empty() {
            all.insert(std::mem::take(name), std::mem::take(about));
        }
    };
    let mut described = false;
    for line in ran.stdout.lines() {
        if line.starts_with("Information for package ") {
            finish(&mut name, &mut about);
            described = false;
            continue;
        }
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let (key, value) = (key.trim().to_lowercase(), value.trim());
        described |= key == "description";
        match key.as_str() {
            _ if described || value.is_empty() => {}
            "name" => value.clone_into(&mut name),
            "installed" => drop(about.insert("installed", value.to_lowercase().starts_with("yes"))),
            "status" => {
                let status = value.split(" (").next().unwrap_or(value);
                about.insert("status", status);
            }
            key => drop(about.insert(key, value)),
        }
    }
    finish(&mut name, &mut about);
    Ok(all)
}

/// The function `pkg.info_available`.
pub(in crate::pkg) fn info_available(
    call: &Call<'_>,
    names: &[String],
    kwargs: &Map,
) -> Result<Map, PkgError> {
    if names.is_empty() {
        return Ok(Map::new());
    }
    refresh_unless_unwanted(call, kwargs)?;
    let mut names = names.to_vec();
    names.sort();
    names.dedup();
    information(call, &names)
}

pub(super) fn latest(
    call: &Call<'_>,
    names: &[String],
    show_installed: bool,
    kwargs: &Map,
) -> Result<Map, PkgError> {
    let known = info_available(call, names, kwargs)?;
    let mut latest = Map::new();
    for name in names {
        let about = known.get(name);
        let field = |key: &str| {
            let value = about.and_then(|about| about.get(key));
            value.map(python::str).unwrap_or_default()
        };
        let status = field("status");
        let newer = matches!(status.as_str(), "not installed" | "out-of-date") || show_installed;
        latest.insert(
            name.as_str(),
            if newer {
                field("version")
            } else {
                String::new()
            },
        );
    }
    Ok(latest)
}

pub(super) fn upgrades(call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
    refresh_unless_unwanted(call, kwargs)?;
    let updates = ask(call, &["list-updates"], &[])?;
    Ok(updates
        .iter()
        .filter(|element| element.name == "update" && element.get("kind") == Some("package"))
        .map(|element| (element.text_of("name"), element.text_of("edition")))
        .collect())
}

/// Name, version, repository; newest first.
pub(super) fn offered(
    call: &Call<'_>,
    names: &[String],
    kwargs: &Map,
) -> Result<Vec<(String, String, String)>, PkgError> {
    let get = |name: &str| kwargs.get(name).filter(|value| value.is_true());
    let mut line = words(&["search", "--details", "--type", "package"]);
    if let Some(repo) = get("fromrepo").or_else(|| get("repo")) {
        line.extend(["--repo".to_owned(), python::str(repo)]);
    }
    let before = Before {
        xml: true,
        no_refresh: true,
        ..Before::default()
    };
    // Nothing found is a return code of its own.
    let found = match run(call, before, &line) {
        Ok(ran) => xml::elements(&ran.stdout),
        Err(_) => Vec::new(),
    };
    let own = rpm::own_arch(call);
    let mut all: Vec<(String, String, String)> = found
        .into_iter()
        .filter(|element| element.name == "solvable")
        .filter(|element| element.get("repository") != Some("(System Packages)"))
        .map(|element| {
            let arch = element.get("arch").unwrap_or("noarch");
            let name = rpm::resolve(&element.text_of("name"), arch, &own);
            (
                name,
                element.text_of("edition"),
                element.text_of("repository"),
            )
        })
        .filter(|(name, ..)| names.is_empty() || names.iter().any(|glob| fnmatch(glob, name)))
        .collect();
    all.sort_by(|(a, x, _), (b, y, _)| a.cmp(b).then_with(|| version::rpm(y, x)));
    Ok(all)
}
