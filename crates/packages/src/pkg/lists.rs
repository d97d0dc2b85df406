//! Lists of packages with their versions: Salt's shapes of them.

use halite_modules::host::Ran;
use halite_modules::{Call, python};
use halite_proto::{Map, Value};

use super::error::PkgError;
use super::provider::{Listing, Provider};
use super::targets::{Targets, parse_targets};

/// Adds a version of a package.
pub(crate) fn add(list: &mut Map, name: &str, version: &str) {
    push(list, name, version.into());
}

/// Adds something to the list of a package.
pub(crate) fn push(list: &mut Map, name: &str, item: Value) {
    let items = list.get_or_insert_with(Value::from(name), || Value::List(Vec::new()));
    if let Value::List(items) = items {
        items.push(item);
    }
}

/// The versions of what repositories offer: name, version and repository each.
pub(crate) fn offered(all: Vec<(String, String, String)>) -> Map {
    let mut versions = Map::new();
    for (name, version, _) in all {
        add(&mut versions, &name, &version);
    }
    versions
}

/// The same by repository.
pub(crate) fn offered_by_repository(all: Vec<(String, String, String)>) -> Map {
    let mut repos = Map::new();
    for (name, version, repo) in all {
        let versions = repos.get_or_insert_with(Value::from(repo), || Value::Map(Map::new()));
        if let Value::Map(versions) = versions {
            add(versions, &name, &version);
        }
    }
    repos
}

/// Sorts the versions of each package and drops repeated ones.
pub(crate) fn sort(list: &mut Map) {
    for (_, versions) in list.iter_mut() {
        if let Value::List(versions) = versions {
            versions.sort_by_key(python::str);
            versions.dedup();
        }
    }
}

/// The versions of each as one text.
pub(crate) fn joined(list: &Map) -> Map {
    list.iter()
        .map(|(name, versions)| (name.clone(), Value::Str(join(versions))))
        .collect()
}

/// Versions as one text.
pub(crate) fn join(versions: &Value) -> String {
    match versions {
        Value::List(items) => items.iter().map(python::str).collect::<Vec<_>>().join(","),
        other => python::str(other),
    }
}

/// The versions of one package.
pub(crate) fn versions(list: &Map, name: &str) -> Vec<String> {
    match list.get(name) {
        Some(Value::List(items)) => items.iter().map(python::str).collect(),
        _ => Vec::new(),
    }
}

/// What differs, as `{name: {old, new}}`, in the order of the names.
pub(crate) fn differences(old: &Map, new: &Map) -> Map {
    let empty = Value::from("");
    let mut names: Vec<&Value> = old.keys().chain(new.keys()).collect();
    names.sort_by_key(|name| python::str(name));
    names.dedup();
    let mut changes = Map::new();
    for name in names {
        let (before, after) = (old.get_value(name), new.get_value(name));
        if before != after {
            let change = Map::from([
                ("old", before.unwrap_or(&empty).clone()),
                ("new", after.unwrap_or(&empty).clone()),
            ]);
            changes.insert(name.clone(), change);
        }
    }
    changes
}

/// `{name: {old, new}}` of one package.
pub(crate) fn change(old: impl Into<Value>, new: impl Into<Value>) -> Value {
    Map::from([("new", new.into()), ("old", old.into())]).into()
}

/// What a state run keeps under `key`, if its stamp is still `stamp`.
pub(crate) fn remembered(call: &Call<'_>, key: &str, stamp: &Value) -> Option<Value> {
    let state = call.job.state.as_ref()?;
    let memo = state.memo.lock().ok()?;
    let kept = memo.get(key)?;
    (kept.get("stamp") == Some(stamp)).then(|| kept.get("value").cloned())?
}

/// Keeps something for the length of the state run.
pub(crate) fn remember(call: &Call<'_>, key: &str, stamp: Value, value: Value) {
    if let Some(state) = &call.job.state
        && let Ok(mut memo) = state.memo.lock()
    {
        memo.insert(key, Map::from([("stamp", stamp), ("value", value)]));
    }
}

/// What a run changes of what is installed.
///
/// # Errors
/// When it fails, with what it has changed before.
pub(crate) fn changed_by(
    provider: &dyn Provider,
    call: &Call<'_>,
    message: &str,
    run: impl FnOnce() -> Result<Ran, PkgError>,
) -> Result<Map, PkgError> {
    let installed =
        || -> Result<Map, PkgError> { Ok(joined(&provider.list(call, Listing::Installed)?)) };
    let old = installed()?;
    let ran = run()?;
    change_or_error(ran, differences(&old, &installed()?), message)
}

/// The changes of a run, or what it says when it fails.
pub(crate) fn change_or_error(ran: Ran, changes: Map, message: &str) -> Result<Map, PkgError> {
    if ran.ok() {
        return Ok(changes);
    }
    let errors = Value::List(vec![ran.complaint().into()]);
    Err(PkgError::Tool {
        message: message.to_owned(),
        info: Map::from([("errors", errors), ("changes", changes.into())]),
    })
}

/// The changes of an upgrade, or all that is known of one that failed.
pub(crate) fn upgraded(ran: Ran, changes: Map) -> Result<Map, PkgError> {
    if ran.ok() {
        return Ok(changes);
    }
    let result = Map::from([
        ("retcode", Value::from(ran.code)),
        ("stdout", ran.stdout.into()),
        ("stderr", ran.stderr.into()),
    ]);
    Err(PkgError::Tool {
        message: "Problem encountered upgrading packages".to_owned(),
        info: Map::from([("changes", changes), ("result", result)]),
    })
}

/// A wanted version in the notation that several programs share.
pub(crate) fn target(name: &str, version: Option<&str>) -> String {
    match version {
        None | Some("") => name.to_owned(),
        Some(version) if version.starts_with(['<', '>', '=']) => format!("{name}{version}"),
        Some(version) => format!("{name}={version}"),
    }
}

/// Those of the named packages that are installed.
pub(crate) fn installed_targets(
    provider: &dyn Provider,
    call: &Call<'_>,
    kwargs: &Map,
) -> Result<Vec<String>, PkgError> {
    let mut asked = kwargs.clone();
    asked.retain(|key, _| matches!(key.as_str(), Some("name" | "pkgs")));
    let Targets::Repository(wanted) = parse_targets(call, provider, &asked, true)? else {
        return Ok(Vec::new());
    };
    let current = provider.list(call, Listing::Installed)?;
    Ok(wanted
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| current.contains_key(name))
        .collect())
}

/// The newest version of each that is offered, empty where it is installed.
pub(crate) fn newest(
    provider: &dyn Provider,
    call: &Call<'_>,
    names: &[String],
    show_installed: bool,
    kwargs: &Map,
) -> Result<Map, PkgError> {
    let current = provider.list(call, Listing::Installed)?;
    let available = provider.available(call, names, kwargs)?;
    let mut latest = Map::new();
    for name in names {
        let newest = versions(&available, name)
            .into_iter()
            .max_by(|a, b| provider.compare(a, b))
            .unwrap_or_default();
        let has = versions(&current, name);
        let is_old = has.iter().any(|old| provider.compare(old, &newest).is_ge());
        let shown = if is_old && !show_installed {
            ""
        } else {
            &newest
        };
        latest.insert(name.as_str(), shown);
    }
    Ok(latest)
}

/// What is known of installed packages where that is their version only.
pub(crate) fn versions_only(
    provider: &dyn Provider,
    call: &Call<'_>,
    names: &[String],
) -> Result<Map, PkgError> {
    let list = joined(&provider.list(call, Listing::Installed)?);
    let is_wanted = |name: &Value| {
        let name = python::str(name);
        names.is_empty() || names.contains(&name)
    };
    Ok(list
        .iter()
        .filter(|(name, _)| is_wanted(name))
        .map(|(name, version)| {
            let about = Map::from([("version", version.clone())]);
            (name.clone(), Value::from(about))
        })
        .collect())
}
