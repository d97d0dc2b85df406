//! What is left to do: the difference between the packages that are wanted and
//! those that are there.

use halite_call::{Call, CallError, StateReturn, python};
use halite_proto::{Map, Value};

use crate::pkg::error::PkgError;
use crate::pkg::lists;
use crate::pkg::provider::{Listing, Provider};
use crate::pkg::requirement;
use crate::pkg::targets::{
    PackageRequest, Targets, local_file, pack_sources, parse_targets, repack_pkgs,
};

/// The arguments of `pkg.installed` that decide what is to be done.
pub(super) struct Request<'a> {
    pub(super) pkgs: Value,
    pub(super) sources: &'a Value,
    pub(super) skip_suggestions: bool,
    pub(super) normalize: bool,
    pub(super) ignore_epoch: Option<bool>,
    pub(super) reinstall: bool,
    pub(super) refresh: bool,
    pub(super) allow_updates: bool,
    pub(super) kwargs: Map,
}

/// What is to be installed.
pub(super) struct Todo {
    pub(super) desired: PackageRequest,
    pub(super) targets: PackageRequest,
    pub(super) unpurge: Vec<String>,
    pub(super) reinstall: PackageRequest,
    pub(super) warnings: Vec<String>,
    pub(super) refreshed: bool,
}

/// Nothing to be done: the state's result says why.
pub(super) type Done = Box<StateReturn>;

/// A package by name.
pub(super) fn version_of<'w>(wanted: &'w PackageRequest, name: &str) -> Option<&'w Option<String>> {
    wanted
        .iter()
        .find(|(known, _)| known == name)
        .map(|(_, version)| version)
}

/// The package with its version as people write it.
pub(super) fn written(name: &str, wanted: &PackageRequest) -> String {
    match version_of(wanted, name).and_then(Option::as_deref) {
        None | Some("") => name.to_owned(),
        Some(version) if version.starts_with(['<', '>', '=']) => format!("{name}{version}"),
        Some(version) => format!("{name}={version}"),
    }
}

/// Finds what `pkg.installed` has to do.
pub(super) fn to_install(
    call: &Call<'_>,
    provider: &dyn Provider,
    request: &Request<'_>,
) -> Result<Result<Todo, Done>, PkgError> {
    let state = || StateReturn::of(call);
    let done = |state: StateReturn| Ok(Err(Box::new(state)));
    let sources = request.sources;
    if request.pkgs.is_true() && sources.is_true() {
        return done(state().failed("Only one of \"pkgs\" and \"sources\" is permitted."));
    }
    let current = match provider.list(call, Listing::Installed) {
        Ok(current) => current,
        Err(error) => return done(state().failed(error.to_string())),
    };
    let from_files = sources.is_true();
    let mut desired = if from_files {
        pack_sources(call, provider, sources, request.normalize)
    } else {
        repack_pkgs(call, provider, &request.pkgs, false)?
    };
    if desired.is_empty() {
        let what = if from_files { "sources" } else { "pkgs" };
        return done(state().failed(format!(
            "Invalidly formatted '{what}' parameter. See minion log."
        )));
    }
    let purged = provider.list(call, Listing::PurgeDesired)?;
    let unpurge: Vec<String> = desired
        .iter()
        .map(|(name, _)| name.clone())
        .filter(|name| purged.contains_key(name))
        .collect();
    if !from_files
        && !request.skip_suggestions
        && let Some(comment) = suggestions(call, provider, &desired, &current, request)
    {
        return done(state().failed(comment));
    }
    let mut refreshed = false;
    if !from_files {
        refreshed = resolve_latest(call, provider, &mut desired, &current, request)?;
    }
    let mut todo = Todo {
        desired,
        targets: PackageRequest::new(),
        unpurge,
        reinstall: PackageRequest::new(),
        warnings: Vec::new(),
        refreshed,
    };
    let at_version = match compare(call, provider, request, &current, &mut todo) {
        Ok(at_version) => at_version,
        Err(problems) => return done(state().failed(problems)),
    };
    if todo.targets.is_empty() && todo.unpurge.is_empty() && todo.reinstall.is_empty() {
        let at_version = if at_version && !from_files {
            " and are at the desired version"
        } else {
            ""
        };
        let mut state = state().ok(format!(
            "All specified packages are already installed{at_version}"
        ));
        add_warnings(&mut state, &todo.warnings);
        return done(state);
    }
    Ok(Ok(todo))
}

/// What a wanted package needs.
enum Need {
    Install,
    Reinstall,
    /// Nothing: it is there.
    Nothing,
    /// Nothing: it is there at the wanted version.
    AtVersion,
    /// That cannot be said: the file at this place does not tell its version.
    Unknown(String),
}

/// Puts each wanted package where it belongs in `todo`. Whether some are at the
/// version that is wanted; or what is wrong with files of packages.
fn compare(
    call: &Call<'_>,
    provider: &dyn Provider,
    request: &Request<'_>,
    current: &Map,
    todo: &mut Todo,
) -> Result<bool, String> {
    let mut problems = Vec::new();
    let mut at_version = false;
    for (name, version) in todo.desired.clone() {
        let has = installed_versions(call, provider, current, &name);
        match need(call, provider, request, &has, version.as_ref()) {
            Ok(Need::Install) => todo.targets.push((name, version)),
            Ok(Need::Reinstall) => todo.reinstall.push((name, version)),
            Ok(Need::Nothing) => {}
            Ok(Need::AtVersion) => at_version = true,
            Ok(Need::Unknown(place)) => {
                let warning = format!("Failed to parse metadata for {place}");
                todo.warnings.push(warning);
            }
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() {
        Ok(at_version)
    } else {
        Err(problems.join(" "))
    }
}

/// The installed versions of a package, by the name as written or as the package
/// manager writes it.
fn installed_versions(
    call: &Call<'_>,
    provider: &dyn Provider,
    current: &Map,
    name: &str,
) -> Vec<String> {
    let has = lists::versions(current, name);
    if has.is_empty() {
        lists::versions(current, &provider.normalize(call, name))
    } else {
        has
    }
}

/// What a package needs of which the versions `has` are there; or why the file
/// that it comes from cannot be read.
fn need(
    call: &Call<'_>,
    provider: &dyn Provider,
    request: &Request<'_>,
    has: &[String],
    version: Option<&String>,
) -> Result<Need, String> {
    if has.is_empty() {
        return Ok(Need::Install);
    }
    if request.reinstall {
        return Ok(Need::Reinstall);
    }
    let from_files = request.sources.is_true();
    let wanted = if from_files {
        let place = version.cloned().unwrap_or_default();
        match source_version(call, provider, &place, request)? {
            Some(found) => found,
            None => return Ok(Need::Unknown(place)),
        }
    } else {
        match version {
            Some(version) => version.clone(),
            None => return Ok(Need::Nothing),
        }
    };
    let updates = request.allow_updates && !from_files;
    let fulfills = requirement::fulfills(provider, has, &wanted, request.ignore_epoch, updates);
    Ok(if fulfills {
        Need::AtVersion
    } else {
        Need::Install
    })
}

/// Adds warnings, if there are any.
pub(super) fn add_warnings(state: &mut StateReturn, warnings: &[String]) {
    if !warnings.is_empty() {
        let warnings: Vec<Value> = warnings.iter().map(|text| text.as_str().into()).collect();
        state.more.insert("warnings", Value::List(warnings));
    }
}

fn source_version(
    call: &Call<'_>,
    provider: &dyn Provider,
    place: &str,
    request: &Request<'_>,
) -> Result<Option<String>, String> {
    let saltenv = request
        .kwargs
        .get("saltenv")
        .map_or_else(|| "base".to_owned(), python::str);
    let cached = match local_file(call, place, &saltenv) {
        Ok(Some(cached)) => cached,
        Ok(None) => return Err(format!("Unable to cache {place}: file not found")),
        Err(PkgError::Call(CallError::Invocation(_))) => {
            return Err(format!(
                "Unable to cache {place}: Path '{place}' is not absolute"
            ));
        }
        Err(error) => return Err(format!("Unable to cache {place}: {error}")),
    };
    if !call.host().path(&cached).exists() {
        return Err(format!("{place} does not exist on minion"));
    }
    match provider.file_info(call, &cached) {
        Ok(info) => Ok(info.map(|info| info.version)),
        Err(error) => Err(error.to_string()),
    }
}

/// Replaces `latest` by the version it is; whether lists were read again.
fn resolve_latest(
    call: &Call<'_>,
    provider: &dyn Provider,
    desired: &mut PackageRequest,
    current: &Map,
    request: &Request<'_>,
) -> Result<bool, PkgError> {
    let names: Vec<String> = desired
        .iter()
        .filter(|(_, version)| version.as_deref() == Some("latest"))
        .map(|(name, _)| name.clone())
        .collect();
    if names.is_empty() {
        return Ok(false);
    }
    let mut kwargs = request.kwargs.clone();
    kwargs.insert("refresh", request.refresh);
    let latest = provider.latest(call, &names, false, &kwargs)?;
    for (name, version) in desired.iter_mut() {
        if version.as_deref() == Some("latest") {
            *version = latest
                .get(name)
                .filter(|version| version.is_true())
                .map(python::str)
                .or_else(|| lists::versions(current, name).pop());
        }
    }
    Ok(request.refresh)
}

/// What is unknown to all repositories, in words.
fn suggestions(
    call: &Call<'_>,
    provider: &dyn Provider,
    desired: &PackageRequest,
    current: &Map,
    request: &Request<'_>,
) -> Option<String> {
    let missing: PackageRequest = desired
        .iter()
        .filter(|(name, version)| {
            let has = lists::versions(current, name);
            let fulfilled = version.as_ref().is_none_or(|version| {
                requirement::fulfills(provider, &has, version, request.ignore_epoch, false)
            });
            has.is_empty() || !fulfilled
        })
        .cloned()
        .collect();
    if missing.is_empty() {
        return None;
    }
    let unknown = provider.unknown(call, &missing, &request.kwargs)?;
    let mut comments = Vec::new();
    if !unknown.none.is_empty() {
        let mut names = unknown.none;
        names.sort();
        comments.push(format!(
            "The following package(s) were not found, and no possible matches were found in the package db: {}",
            names.join(", ")
        ));
    }
    for (name, similar) in unknown.suggestions {
        comments.push(format!(
            "Package '{name}' not found (possible matches: {})",
            similar.join(", ")
        ));
    }
    if comments.len() > 1 {
        comments.push(String::new());
    }
    (!comments.is_empty()).then(|| comments.join(". ").trim_end().to_owned())
}

/// Those of `desired` that are there at their version, and those that are not.
pub(super) fn verify(
    call: &Call<'_>,
    provider: &dyn Provider,
    desired: &PackageRequest,
    ignore_epoch: Option<bool>,
) -> Result<(Vec<String>, Vec<String>), PkgError> {
    let current = provider.list(call, Listing::Installed)?;
    let (mut fine, mut failed) = (Vec::new(), Vec::new());
    for (name, version) in desired {
        let lookup = name.split('=').next().unwrap_or(name);
        let has = installed_versions(call, provider, &current, lookup);
        let is_there = match version.as_deref() {
            _ if has.is_empty() => false,
            None | Some("" | "latest") => true,
            Some(version) => {
                let prefix = version.strip_suffix('*');
                prefix.is_some_and(|prefix| has[0].starts_with(prefix))
                    || requirement::fulfills(provider, &has, version, ignore_epoch, false)
            }
        };
        if is_there {
            fine.push(name.clone());
        } else {
            failed.push(name.clone());
        }
    }
    Ok((fine, failed))
}

/// The installed packages that are to go; a result when there are none.
pub(super) fn to_remove(
    call: &Call<'_>,
    provider: &dyn Provider,
    kwargs: &Map,
    normalize: bool,
    ignore_epoch: Option<bool>,
) -> Result<Result<Vec<String>, Done>, PkgError> {
    let state = || StateReturn::of(call);
    let current = provider.list(call, Listing::Installed)?;
    let Targets::Repository(wanted) = parse_targets(call, provider, kwargs, normalize)? else {
        return Ok(Err(Box::new(
            state().failed("Invalidly formatted pkgs parameter. See minion log."),
        )));
    };
    let mut targets = Vec::new();
    let mut versions_compared = false;
    for (name, version) in wanted {
        let has = lists::versions(&current, &name);
        if has.is_empty() {
            continue;
        }
        match version {
            None => targets.push(name),
            Some(version) => {
                versions_compared = true;
                if requirement::fulfills(provider, &has, &version, ignore_epoch, false) {
                    targets.push(name);
                }
            }
        }
    }
    if targets.is_empty() {
        let matching = if versions_compared {
            " (matching specified versions)"
        } else {
            ""
        };
        return Ok(Err(Box::new(state().ok(format!(
            "All specified packages{matching} are already absent"
        )))));
    }
    Ok(Ok(targets))
}
