//! What is installed and what is offered.

use halite_call::{Call, CallResult, host, python};
use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

use super::change::arguments;
use crate::pkg::lists::{self, attributes_of};
use crate::pkg::provider::{Files, Listing, Provider};
use crate::pkg::this_machine::provider;
use crate::pkg::{apt, dnf, downloaded, rpm, version, zypper};

pub(in crate::pkg) fn names(call: &Call<'_>) -> Vec<String> {
    call.varargs().iter().map(python::str).collect()
}

/// One value for one name, else a map.
pub(in crate::pkg) fn one_or_all(map: Map, single: bool) -> Value {
    if single
        && map.len() == 1
        && let Some(value) = map.values().next()
    {
        return value.clone();
    }
    map.into()
}

pub(super) fn list_pkgs(call: &Call<'_>) -> CallResult {
    let listing = if host::is_true(call.arg("removed")) {
        Listing::Removed
    } else if host::is_true(call.arg("purge_desired")) {
        Listing::PurgeDesired
    } else {
        Listing::Installed
    };
    let provider = provider(call)?;
    let attributes = attributes_of(call.get("attr"));
    if !attributes.is_empty()
        && let Some(list) = provider.list_attributes(call, &attributes)?
    {
        return Ok(list.into());
    }
    let list = provider.list(call, listing)?;
    Ok(if host::is_true(call.arg("versions_as_list")) {
        list.into()
    } else {
        lists::joined(&list).into()
    })
}

pub(super) fn version_(call: &Call<'_>) -> CallResult {
    let names = names(call);
    if names.is_empty() {
        return Ok(Map::new().into());
    }
    let list = provider(call)?.list(call, Listing::Installed)?;
    let mut found = Map::new();
    let mut glob = false;
    for name in &names {
        if name.contains('*') {
            glob = true;
            for (known, versions) in &list {
                if fnmatch(name, &python::str(known)) {
                    found.insert(known.clone(), versions.clone());
                }
            }
        } else {
            let versions = list.get(name).cloned();
            found.insert(name.as_str(), versions.unwrap_or(Value::List(Vec::new())));
        }
    }
    if !call.get("versions_as_list").is_some_and(host::is_true) {
        found = lists::joined(&found);
    }
    Ok(one_or_all(found, !glob))
}

pub(super) fn latest_version(call: &Call<'_>) -> CallResult {
    let names = names(call);
    if names.is_empty() {
        return Ok("".into());
    }
    let kwargs = call.clean_kwargs();
    let show = kwargs.get("show_installed").is_some_and(host::is_true);
    let latest = provider(call)?.latest(call, &names, show, &kwargs)?;
    Ok(one_or_all(latest, names.len() == 1))
}

pub(super) fn upgrade_available(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let latest = provider(call)?.latest(call, std::slice::from_ref(&name), false, &Map::new())?;
    Ok(latest.get(&name).is_some_and(Value::is_true).into())
}

pub(super) fn list_upgrades(call: &Call<'_>) -> CallResult {
    let kwargs = arguments(call, &["refresh", "dist_upgrade"]);
    Ok(provider(call)?.upgrades(call, &kwargs)?.into())
}

pub(super) fn list_repo_pkgs(call: &Call<'_>) -> CallResult {
    let (provider, kwargs) = (provider(call)?, call.clean_kwargs());
    if kwargs.get("byrepo").is_some_and(host::is_true)
        && let Some(repos) = provider.by_repository(call, &names(call), &kwargs)?
    {
        return Ok(repos.into());
    }
    Ok(provider.available(call, &names(call), &kwargs)?.into())
}

pub(super) fn owner(call: &Call<'_>) -> CallResult {
    let paths = names(call);
    if paths.is_empty() {
        return Ok("".into());
    }
    let provider = provider(call)?;
    let mut owners = Map::new();
    for path in &paths {
        owners.insert(path.as_str(), provider.owner(call, path)?);
    }
    Ok(one_or_all(owners, true))
}

pub(super) fn which(call: &Call<'_>) -> CallResult {
    let path = call.text("path");
    if !path.starts_with('/') || !call.host().path(&path).exists() {
        return Ok(false.into());
    }
    let owner = provider(call)?.owner(call, &path)?;
    Ok(if owner.is_empty() {
        Value::Nil
    } else {
        owner.into()
    })
}

pub(super) fn file_list(call: &Call<'_>) -> CallResult {
    Ok(listed(provider(call)?.files(call, &names(call))?).into())
}

pub(super) fn file_dict(call: &Call<'_>) -> CallResult {
    Ok(by_package(provider(call)?.files(call, &names(call))?).into())
}

/// Files in one list.
pub(in crate::pkg) fn listed(found: Files) -> Map {
    let mut files: Vec<String> = found
        .packages
        .into_iter()
        .flat_map(|(_, files)| files)
        .collect();
    files.sort();
    files.dedup();
    Map::from([("errors", texts(found.errors)), ("files", texts(files))])
}

/// Files by package.
pub(in crate::pkg) fn by_package(found: Files) -> Map {
    let packages: Map = found
        .packages
        .into_iter()
        .map(|(name, files)| (name, texts(files)))
        .collect();
    Map::from([
        ("errors", texts(found.errors)),
        ("packages", packages.into()),
    ])
}

pub(super) fn info_installed(call: &Call<'_>) -> CallResult {
    let mut kwargs = call.clean_kwargs();
    let wanted = attributes_of(kwargs.get("attr"));
    kwargs.insert("attr", texts(wanted));
    Ok(provider(call)?.info(call, &names(call), &kwargs)?.into())
}

pub(super) fn show(call: &Call<'_>) -> CallResult {
    let provider = provider(call)?;
    if call.get("refresh").is_some_and(Value::is_true) {
        provider.refresh(call, &Map::new())?;
    }
    let names = names(call);
    if names.is_empty() || provider.name() != "apt" {
        return Ok(provider.available(call, &names, &Map::new())?.into());
    }
    let filter = call.get("filter").map(python::texts).unwrap_or_default();
    let filter: Vec<String> = filter.iter().map(|key| key.to_lowercase()).collect();
    Ok(apt::show(call, &names, &filter)?.into())
}

/// Package files in the cache of the package manager.
pub(super) fn list_downloaded(call: &Call<'_>) -> CallResult {
    let provider = provider(call)?;
    Ok(match provider.name() {
        "dnf" => dnf::list_downloaded(call)?,
        "zypper" => zypper::list_downloaded(call)?,
        _ => downloaded::list(call, provider, "/var/cache/apt", ".deb")?,
    }
    .into())
}

pub(super) fn parse_arch(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let (short, arch) = if provider(call)?.name() == "apt" {
        match name.rsplit_once(':') {
            Some((short, arch)) => (short, Some(arch)),
            None => (name.as_str(), None),
        }
    } else {
        rpm::parse_arch(&name)
    };
    Ok(Map::from([
        ("name", Value::from(short)),
        ("arch", arch.map_or(Value::Nil, Value::from)),
    ])
    .into())
}

pub(super) fn normalize_name(call: &Call<'_>) -> CallResult {
    Ok(provider(call)?.normalize(call, &call.text("name")).into())
}

pub(super) fn version_cmp(call: &Call<'_>) -> CallResult {
    let provider: &dyn Provider = provider(call)?;
    let (a, b) = (call.text("pkg1"), call.text("pkg2"));
    let order = if call.flag("ignore_epoch") {
        provider.compare(version::without_epoch(&a), version::without_epoch(&b))
    } else {
        provider.compare(&a, &b)
    };
    Ok((order as i32).into())
}

/// A list of texts.
pub(in crate::pkg) fn texts(items: Vec<String>) -> Value {
    Value::List(items.into_iter().map(Value::from).collect())
}
