//! The functions of `pkg`: arguments in, the provider's work, Salt's shapes out.

use halite_modules::{Call, CallError, CallResult, Function, Module, host, python};
use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

use super::error::PkgError;
use super::provider::{Listing, Provider, provider};
use super::{apt, lists, repo_functions, version};

const INSTALL: &str = "(name=None, refresh=False, fromrepo=None, skip_verify=False, debconf=None, pkgs=None, sources=None, reinstall=False, downloadonly=False, ignore_epoch=False, normalize=True, **kwargs)";

pub(crate) const MODULE: Module = Module {
    name: "pkg",
    functions: &[
        Function::new(
            "pkg.add_repo_key",
            "(path=None, text=None, keyserver=None, keyid=None, saltenv='base', aptkey=True, keydir=None, keyfile=None)",
            repo_functions::add_repo_key,
            "Takes over a key that signs a repository.",
        ),
        Function::new(
            "pkg.autoremove",
            "(list_only=False, purge=False)",
            autoremove,
            "Removes packages that nothing needs any more, or lists them.",
        ),
        Function::new(
            "pkg.available_version",
            "(*names, **kwargs)",
            latest_version,
            "The newest version that repositories have, empty if it is installed.",
        ),
        Function::new(
            "pkg.clean_metadata",
            "(**kwargs)",
            refresh_db,
            "Reads the lists of the repositories again.",
        ),
        Function::new(
            "pkg.del_repo",
            "(repo, **kwargs)",
            repo_functions::del_repo,
            "Deletes a repository.",
        ),
        Function::new(
            "pkg.file_dict",
            "(*packages, **kwargs)",
            file_dict,
            "The files of packages, by package.",
        ),
        Function::new(
            "pkg.file_list",
            "(*packages, **kwargs)",
            file_list,
            "The files of packages in one list.",
        ),
        Function::new(
            "pkg.get_repo",
            "(repo, **kwargs)",
            repo_functions::get_repo,
            "What is known of a repository; empty if it is not set up.",
        ),
        Function::new(
            "pkg.get_selections",
            "(pattern=None, state=None)",
            get_selections,
            "Packages by what is wanted of them (install, hold, deinstall, purge).",
        ),
        Function::new(
            "pkg.hold",
            "(name=None, pkgs=None, sources=None, **kwargs)",
            hold,
            "Keeps packages at their version.",
        ),
        Function::new(
            "pkg.info_installed",
            "(*names, **kwargs)",
            info_installed,
            "What is known of installed packages.",
        ),
        Function::new(
            "pkg.install",
            INSTALL,
            install,
            "Installs packages: name (with version), pkgs, or files in sources.\nReturns what was changed.",
        ),
        Function::new(
            "pkg.latest_version",
            "(*names, **kwargs)",
            latest_version,
            "The newest version that repositories have, empty if it is installed.",
        ),
        Function::new(
            "pkg.list_downloaded",
            "(root=None, **kwargs)",
            list_downloaded,
            "Package files in the cache of the package manager.",
        ),
        Function::new(
            "pkg.list_holds",
            "(**kwargs)",
            list_holds,
            "The packages that are held.",
        ),
        Function::new(
            "pkg.list_pkgs",
            "(versions_as_list=False, removed=False, purge_desired=False, **kwargs)",
            list_pkgs,
            "The installed packages and their versions.",
        ),
        Function::new(
            "pkg.list_repo_pkgs",
            "(*args, **kwargs)",
            list_repo_pkgs,
            "The versions that repositories have.",
        ),
        Function::new(
            "pkg.list_repos",
            "(**kwargs)",
            repo_functions::list_repos,
            "The repositories that are set up.",
        ),
        Function::new(
            "pkg.list_upgrades",
            "(refresh=True, dist_upgrade=True, **kwargs)",
            list_upgrades,
            "The packages that can be upgraded, with their new versions.",
        ),
        Function::new(
            "pkg.mod_repo",
            "(repo, saltenv='base', aptkey=True, **kwargs)",
            repo_functions::mod_repo,
            "Sets up a repository, or changes one.",
        ),
        Function::new(
            "pkg.normalize_name",
            "(name)",
            normalize_name,
            "The name of a package without an architecture that goes without saying.",
        ),
        Function::new(
            "pkg.owner",
            "(*paths, **kwargs)",
            owner,
            "The package that a file belongs to.",
        ),
        Function::new(
            "pkg.purge",
            "(name=None, pkgs=None, **kwargs)",
            purge,
            "Removes packages and their configuration.",
        ),
        Function::new(
            "pkg.refresh_db",
            "(cache_valid_time=0, failhard=False, **kwargs)",
            refresh_db,
            "Reads the lists of the repositories again.",
        ),
        Function::new(
            "pkg.remove",
            "(name=None, pkgs=None, **kwargs)",
            remove,
            "Removes packages; their configuration stays.",
        ),
        Function::new(
            "pkg.set_selections",
            "(path=None, selection=None, clear=False, saltenv='base')",
            set_selections,
            "Sets what is wanted of packages.",
        ),
        Function::new(
            "pkg.show",
            "(*names, **kwargs)",
            show,
            "What repositories say about packages.",
        ),
        Function::new(
            "pkg.unhold",
            "(name=None, pkgs=None, sources=None, **kwargs)",
            unhold,
            "Lets held packages be upgraded again.",
        ),
        Function::new(
            "pkg.upgrade",
            "(refresh=True, dist_upgrade=False, **kwargs)",
            upgrade,
            "Upgrades all packages. Returns what was changed.",
        ),
        Function::new(
            "pkg.upgrade_available",
            "(name, **kwargs)",
            upgrade_available,
            "Whether a newer version of a package is there.",
        ),
        Function::new(
            "pkg.version",
            "(*names, **kwargs)",
            version_,
            "The installed version of packages, empty if there is none.",
        ),
        Function::new(
            "pkg.version_cmp",
            "(pkg1, pkg2, ignore_epoch=False, **kwargs)",
            version_cmp,
            "-1, 0 or 1: the order of two versions.",
        ),
        Function::new(
            "pkg.which",
            "(path)",
            which,
            "The package that a file belongs to.",
        ),
    ],
};

/// The named arguments and those without a place, as one map.
pub(super) fn arguments(call: &Call<'_>, names: &[&str]) -> Map {
    let mut all = Map::new();
    for name in names {
        all.insert(*name, call.arg(name).clone());
    }
    all.extend(call.clean_kwargs());
    all
}

fn names(call: &Call<'_>) -> Vec<String> {
    call.varargs().iter().map(python::str).collect()
}

/// One value for one name, else a map.
fn one_or_all(mut map: Map, single: bool) -> Value {
    if single
        && map.len() == 1
        && let Some(value) = map.values().next()
    {
        return value.clone();
    }
    map.retain(|_, _| true);
    map.into()
}

fn list_pkgs(call: &Call<'_>) -> CallResult {
    let listing = if host::is_true(call.arg("removed")) {
        Listing::Removed
    } else if host::is_true(call.arg("purge_desired")) {
        Listing::PurgeDesired
    } else {
        Listing::Installed
    };
    let list = provider(call)?.list(call, listing)?;
    Ok(if host::is_true(call.arg("versions_as_list")) {
        list.into()
    } else {
        lists::joined(&list).into()
    })
}

fn version_(call: &Call<'_>) -> CallResult {
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

fn latest_version(call: &Call<'_>) -> CallResult {
    let names = names(call);
    if names.is_empty() {
        return Ok("".into());
    }
    let kwargs = call.clean_kwargs();
    let show = kwargs.get("show_installed").is_some_and(host::is_true);
    let latest = provider(call)?.latest(call, &names, show, &kwargs)?;
    Ok(one_or_all(latest, names.len() == 1))
}

fn upgrade_available(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let latest = provider(call)?.latest(call, std::slice::from_ref(&name), false, &Map::new())?;
    Ok(latest.get(&name).is_some_and(Value::is_true).into())
}

fn list_upgrades(call: &Call<'_>) -> CallResult {
    let kwargs = arguments(call, &["refresh", "dist_upgrade"]);
    Ok(provider(call)?.upgrades(call, &kwargs)?.into())
}

fn upgrade(call: &Call<'_>) -> CallResult {
    let kwargs = arguments(call, &["refresh", "dist_upgrade"]);
    Ok(provider(call)?.upgrade(call, &kwargs)?.into())
}

fn refresh_db(call: &Call<'_>) -> CallResult {
    let kwargs = match call.get("cache_valid_time") {
        Some(_) => arguments(call, &["cache_valid_time", "failhard"]),
        None => call.clean_kwargs(),
    };
    Ok(provider(call)?.refresh(call, &kwargs)?)
}

fn install(call: &Call<'_>) -> CallResult {
    let mut kwargs = arguments(
        call,
        &[
            "name",
            "refresh",
            "fromrepo",
            "skip_verify",
            "debconf",
            "pkgs",
            "sources",
            "reinstall",
            "downloadonly",
            "ignore_epoch",
            "normalize",
        ],
    );
    // On the command line lists are text.
    for name in ["pkgs", "sources"] {
        if let Some(Value::Str(text)) = kwargs.get(name)
            && let Ok(node) = halite_yaml::load(text, name)
        {
            kwargs.insert(name, node.into_value());
        }
    }
    Ok(provider(call)?.install(call, &kwargs)?.into())
}

fn remove(call: &Call<'_>) -> CallResult {
    let kwargs = arguments(call, &["name", "pkgs"]);
    Ok(provider(call)?.remove(call, false, &kwargs)?.into())
}

fn purge(call: &Call<'_>) -> CallResult {
    let kwargs = arguments(call, &["name", "pkgs"]);
    Ok(provider(call)?.remove(call, true, &kwargs)?.into())
}

fn autoremove(call: &Call<'_>) -> CallResult {
    let (list, purge) = (call.flag("list_only"), call.flag("purge"));
    Ok(provider(call)?.autoremove(call, list, purge)?)
}

fn list_repo_pkgs(call: &Call<'_>) -> CallResult {
    let kwargs = call.clean_kwargs();
    Ok(provider(call)?
        .available(call, &names(call), &kwargs)?
        .into())
}

/// The packages that `hold` and `unhold` are about.
pub(crate) fn hold_targets(
    name: &Value,
    pkgs: &Value,
    sources: &Value,
) -> Result<Vec<String>, CallError> {
    if !name.is_true() && !pkgs.is_true() && !sources.is_true() {
        return Err(CallError::invocation(
            "One of name, pkgs, or sources must be specified.",
        ));
    }
    if pkgs.is_true() && sources.is_true() {
        return Err(CallError::invocation(
            "Only one of pkgs or sources can be specified.",
        ));
    }
    let list = if pkgs.is_true() { pkgs } else { sources };
    let first = |value: &Value| match value {
        Value::Map(map) => map.keys().next().map(python::str).unwrap_or_default(),
        other => python::str(other),
    };
    Ok(match list {
        Value::List(items) if !items.is_empty() => items.iter().map(first).collect(),
        Value::Map(map) => map.keys().map(python::str).collect(),
        Value::Str(text) if !text.is_empty() => python::texts(list),
        _ => vec![python::str(name)],
    })
}

fn hold(call: &Call<'_>) -> CallResult {
    hold_or_free(call, true)
}

fn unhold(call: &Call<'_>) -> CallResult {
    hold_or_free(call, false)
}

fn hold_or_free(call: &Call<'_>, hold: bool) -> CallResult {
    let names = hold_targets(call.arg("name"), call.arg("pkgs"), call.arg("sources"))?;
    Ok(provider(call)?.hold(call, hold, &names)?.into())
}

fn list_holds(call: &Call<'_>) -> CallResult {
    let held = provider(call)?.held(call)?;
    Ok(Value::List(held.into_iter().map(Value::from).collect()))
}

fn get_selections(call: &Call<'_>) -> CallResult {
    only_apt(call)?;
    let all = apt::get_selections(call, call.text_opt("pattern").as_deref())?;
    Ok(match call.text_opt("state") {
        Some(state) => {
            let names = all.get(&state).cloned().unwrap_or(Value::List(Vec::new()));
            Map::from([(state.as_str(), names)]).into()
        }
        None => all.into(),
    })
}

fn set_selections(call: &Call<'_>) -> CallResult {
    only_apt(call)?;
    let (path, selection) = (call.arg("path"), call.arg("selection"));
    if path.is_true() && selection.is_true() {
        return Err(CallError::invocation(
            "The 'selection' and 'path' arguments to pkg.set_selections are mutually exclusive, \
             and cannot be specified together",
        ));
    }
    let selection = if path.is_true() {
        let args = [path.clone(), call.arg("saltenv").clone()];
        let cached = call.salt("cp.cache_file", &args, Map::new())?;
        apt::parse_selections(&call.host().read(python::str(&cached)))
    } else {
        match selection {
            Value::Map(map) => map.clone(),
            Value::Str(text) => match halite_yaml::load(text, "selection") {
                Ok(node) => match node.into_value() {
                    Value::Map(map) => map,
                    _ => Map::new(),
                },
                Err(error) => {
                    return Err(CallError::invocation(format!(
                        "Improperly-formatted selection: {error}"
                    )));
                }
            },
            _ => Map::new(),
        }
    };
    if selection.is_empty() {
        return Ok(selection.into());
    }
    Ok(apt::set_selections(call, &selection, call.flag("clear"))?.into())
}

/// Selections are dpkg's own.
fn only_apt(call: &Call<'_>) -> Result<(), PkgError> {
    let name = provider(call)?.name();
    if name == "apt" {
        Ok(())
    } else {
        Err(PkgError::command(format!("{name} has no such function")))
    }
}

fn owner(call: &Call<'_>) -> CallResult {
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

fn which(call: &Call<'_>) -> CallResult {
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

fn file_list(call: &Call<'_>) -> CallResult {
    let mut files: Vec<String> = provider(call)?
        .files(call, &names(call))?
        .into_iter()
        .flat_map(|(_, files)| files)
        .collect();
    files.sort();
    files.dedup();
    Ok(Map::from([("errors", Value::List(Vec::new())), ("files", texts(files))]).into())
}

fn file_dict(call: &Call<'_>) -> CallResult {
    let packages: Map = provider(call)?
        .files(call, &names(call))?
        .into_iter()
        .map(|(name, files)| (name, texts(files)))
        .collect();
    Ok(Map::from([
        ("errors", Value::List(Vec::new())),
        ("packages", packages.into()),
    ])
    .into())
}

/// A list of texts.
pub(super) fn texts(items: Vec<String>) -> Value {
    Value::List(items.into_iter().map(Value::from).collect())
}

fn info_installed(call: &Call<'_>) -> CallResult {
    let failhard = call.get("failhard").is_none_or(Value::is_true);
    Ok(provider(call)?.info(call, &names(call), failhard)?.into())
}

fn show(call: &Call<'_>) -> CallResult {
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

fn list_downloaded(call: &Call<'_>) -> CallResult {
    let provider = provider(call)?;
    let mut found = Map::new();
    let root = call.host().path("/var/cache/apt");
    let mut directories = vec![root];
    while let Some(directory) = directories.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else {
            continue;
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() && !path.is_symlink() {
                directories.push(path);
                continue;
            }
            let text = path.display().to_string();
            if !text.ends_with(".deb") {
                continue;
            }
            let (Ok(meta), Some(info)) = (path.metadata(), provider.file_info(call, &text)?) else {
                continue;
            };
            let seconds = std::os::unix::fs::MetadataExt::ctime(&meta);
            let time = crate::time::utc(seconds);
            let about = Map::from([
                ("path", Value::from(text)),
                ("size", meta.len().into()),
                ("creation_date_time_t", seconds.into()),
                ("creation_date_time", time.trim_end_matches('Z').into()),
            ]);
            let versions =
                found.get_or_insert_with(Value::Str(info.name), || Value::Map(Map::new()));
            if let Value::Map(versions) = versions {
                versions.insert(info.version, about);
            }
        }
    }
    Ok(found.into())
}

fn normalize_name(call: &Call<'_>) -> CallResult {
    Ok(provider(call)?.normalize(call, &call.text("name")).into())
}

fn version_cmp(call: &Call<'_>) -> CallResult {
    let provider: &dyn Provider = provider(call)?;
    let (a, b) = (call.text("pkg1"), call.text("pkg2"));
    let order = if call.flag("ignore_epoch") {
        provider.compare(version::without_epoch(&a), version::without_epoch(&b))
    } else {
        provider.compare(&a, &b)
    };
    Ok((order as i32).into())
}
