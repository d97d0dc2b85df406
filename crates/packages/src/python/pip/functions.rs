//! The functions of `pip`.
use halite_call::{Call, CallError, CallResult, python};
use halite_proto::{Map, Value};

use super::run::{Pip, ran_map, requirement_files};
use crate::python::requirement::normal_name;

/// All named arguments that pip's install takes.
pub(crate) fn arguments(call: &Call<'_>) -> Map {
    let names = [
        "pkgs",
        "requirements",
        "log",
        "proxy",
        "timeout",
        "editable",
        "find_links",
        "index_url",
        "extra_index_url",
        "no_index",
        "build",
        "target",
        "download",
        "download_cache",
        "source",
        "upgrade",
        "force_reinstall",
        "ignore_installed",
        "exists_action",
        "no_deps",
        "no_install",
        "no_download",
        "global_options",
        "install_options",
        "pre_releases",
        "cert",
        "saltenv",
        "trusted_host",
        "no_cache_dir",
        "extra_args",
        "cache_dir",
        "no_binary",
        "disable_version_check",
    ];
    names
        .into_iter()
        .filter_map(|name| Some((name, call.get(name)?.clone())))
        .collect()
}

pub(super) fn install_(call: &Call<'_>) -> CallResult {
    Ok(ran_map(Pip::of(call).install(call, &arguments(call))?).into())
}

pub(super) fn uninstall_(call: &Call<'_>) -> CallResult {
    let pip = Pip::of(call);
    let mut words = vec!["uninstall".to_owned(), "-y".to_owned()];
    words.extend(requirement_files(call, &arguments(call))?);
    for (name, option) in [
        ("log", "--log"),
        ("proxy", "--proxy"),
        ("timeout", "--timeout"),
    ] {
        if call.flag(name) {
            words.extend([option.to_owned(), call.text(name)]);
        }
    }
    words.extend(call.texts("pkgs"));
    for extra in call.arg("extra_args").as_list().unwrap_or_default() {
        match extra {
            Value::Map(pairs) => {
                for (option, value) in pairs {
                    words.extend([python::str(option), python::str(value)]);
                }
            }
            word => words.push(python::str(word)),
        }
    }
    Ok(ran_map(pip.run(call, &words)?).into())
}

pub(super) fn freeze_(call: &Call<'_>) -> CallResult {
    let lines = Pip::of(call).freeze(call)?;
    Ok(Value::List(lines.into_iter().map(Value::from).collect()))
}

pub(super) fn list_(call: &Call<'_>) -> CallResult {
    let prefix = call.text_opt("prefix");
    Ok(Pip::of(call).list(call, prefix.as_deref())?.into())
}

pub(super) fn is_installed(call: &Call<'_>) -> CallResult {
    let name = call.text_opt("pkgname");
    let list = Pip::of(call).list(call, name.as_deref())?;
    Ok((!list.is_empty()).into())
}

/// Where pip looks for packages, if the call says so.
pub(crate) fn index_options(call: &Call<'_>) -> Vec<String> {
    let mut index = Vec::new();
    for (name, option) in [
        ("index_url", "--index-url"),
        ("extra_index_url", "--extra-index-url"),
    ] {
        if call.flag(name) {
            index.extend([option.to_owned(), call.text(name)]);
        }
    }
    index
}

pub(super) fn list_all_versions(call: &Call<'_>) -> CallResult {
    let mut index = index_options(call);
    if ["include_alpha", "include_beta", "include_rc"]
        .iter()
        .any(|name| call.flag(name))
    {
        index.push("--pre".to_owned());
    }
    let versions = Pip::of(call).versions(call, &call.text("pkg"), &index)?;
    Ok(Value::List(versions.into_iter().map(Value::from).collect()))
}

pub(super) fn upgrades(call: &Call<'_>, pip: &Pip) -> Result<Map, CallError> {
    let words = ["list", "--outdated", "--format=json"].map(str::to_owned);
    let ran = pip.run(call, &words)?;
    if !ran.ok() {
        return Err(CallError::command(ran.stderr));
    }
    let loaded = halite_yaml::load(&ran.stdout, "pip list")
        .map(|node| node.into_value())
        .map_err(|error| CallError::command(error.to_string()))?;
    let text = |package: &Value, key: &str| package.get(key).map(python::str).unwrap_or_default();
    Ok(loaded
        .as_list()
        .unwrap_or_default()
        .iter()
        .map(|package| (text(package, "name"), text(package, "latest_version")))
        .collect())
}

pub(super) fn list_upgrades_(call: &Call<'_>) -> CallResult {
    Ok(upgrades(call, &Pip::of(call))?.into())
}

pub(super) fn upgrade(call: &Call<'_>) -> CallResult {
    let pip = Pip::of(call);
    let old = pip.list(call, None)?;
    let mut errors = Vec::new();
    for name in upgrades(call, &pip)?.keys().map(python::str) {
        let ran = pip.run(call, &["install".to_owned(), "-U".to_owned(), name])?;
        if !ran.ok() {
            errors.push(Value::from(ran.stderr));
        }
    }
    let changes = crate::pkg::changes::differences(&old, &pip.list(call, None)?);
    let mut ret = Map::from([
        ("changes", Value::from(changes)),
        ("result", errors.is_empty().into()),
    ]);
    ret.insert("comment", Value::List(errors));
    Ok(ret.into())
}

pub(super) fn version_(call: &Call<'_>) -> CallResult {
    Ok(Pip::of(call).version(call)?.into())
}

pub(super) fn normalize(call: &Call<'_>) -> CallResult {
    Ok(normal_name(&call.text("name")).into())
}

/// What `freeze` tells, by name; with `prefix` only names that begin so.
pub(super) fn list_freeze_parse(call: &Call<'_>) -> CallResult {
    let pip = Pip::of(call);
    let prefix = call.text_opt("prefix");
    let mut found = Map::new();
    for line in pip.freeze(call)? {
        let line = line.trim();
        if line.starts_with('#') || line.starts_with("-f ") {
            continue;
        }
        let (name, version) = match line.strip_prefix("-e ") {
            // An editable one: place@version#egg=name
            Some(place) => match place.split_once("#egg=") {
                Some((version, name)) => (name, version),
                None => continue,
            },
            None => match line.split_once("==").or_else(|| line.split_once(" @ ")) {
                Some(parts) => parts,
                None => continue,
            },
        };
        let fits = prefix
            .as_ref()
            .is_none_or(|prefix| name.to_lowercase().starts_with(&prefix.to_lowercase()));
        if fits {
            found.insert(name, version);
        }
    }
    Ok(found.into())
}

pub(super) fn upgrade_available(call: &Call<'_>) -> CallResult {
    let found = upgrades(call, &Pip::of(call))?;
    Ok(found.contains_key(&call.text("pkg")).into())
}
