//! Which packages are selected: the arguments `name`, `pkgs` and `sources`.

use halite_call::{Call, CallError, python};
use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

use super::error::PkgError;
use super::lists::versions;
use super::provider::{Listing, Provider};

/// Packages by name, with the version that is wanted.
pub(crate) type PackageRequest = Vec<(String, Option<String>)>;

/// What is to be installed or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Targets {
    /// Nothing that can be read.
    None,
    /// Packages of repositories.
    Repository(PackageRequest),
    /// Package files.
    Files(Vec<String>),
}

/// A list of texts and maps as one map; the last of several equal names wins.
/// Empty when the list is badly formed.
pub(crate) fn repack_dictlist(data: &Value) -> PackageRequest {
    let loaded;
    let data = match data {
        Value::Str(text) => match halite_yaml::load(text, "pkgs") {
            Ok(node) => {
                loaded = node.into_value();
                &loaded
            }
            Err(error) => {
                tracing::error!(%error, "badly formed list of packages");
                return PackageRequest::new();
            }
        },
        other => other,
    };
    let Value::List(items) = data else {
        tracing::error!(
            "Invalid input for a list of packages: {}",
            python::repr(data)
        );
        return PackageRequest::new();
    };
    let mut wanted = PackageRequest::new();
    for item in items {
        let (name, version) = match item {
            Value::Map(map) if map.len() == 1 => match map.iter().next() {
                Some((name, version)) => (python::str(name), version),
                None => continue,
            },
            Value::Map(_) => {
                tracing::error!(
                    "Invalid input for a list of packages: {}",
                    python::repr(item)
                );
                return PackageRequest::new();
            }
            Value::List(_) | Value::Nil => {
                tracing::error!("Invalid input: a list of packages holds a list");
                return PackageRequest::new();
            }
            other => (python::str(other), &Value::Nil),
        };
        let version = (!version.is_nil()).then(|| python::str(version));
        put(&mut wanted, name, version);
    }
    wanted
}

/// Sets the version of a package in its place.
pub(crate) fn put(wanted: &mut PackageRequest, name: String, version: Option<String>) {
    match wanted.iter_mut().find(|(known, _)| *known == name) {
        Some((_, old)) => *old = version,
        None => wanted.push((name, version)),
    }
}

/// `pkgs` with normal names.
///
/// # Errors
/// When a package is there twice.
pub(crate) fn repack_pkgs(
    call: &Call<'_>,
    provider: &dyn Provider,
    pkgs: &Value,
    normalize: bool,
) -> Result<PackageRequest, PkgError> {
    let mut wanted = PackageRequest::new();
    for (name, version) in repack_dictlist(pkgs) {
        put(
            &mut wanted,
            normal(call, provider, &name, normalize),
            version,
        );
    }
    let count = match pkgs {
        Value::List(items) => items.len(),
        Value::Map(map) => map.len(),
        _ => wanted.len(),
    };
    if count != wanted.len() {
        return Err(PkgError::invocation(format!(
            "You are passing a list of packages that contains duplicated packages names: {}. \
             This cannot be processed. In case you are targeting different versions of the same \
             package, please target them individually",
            python::repr(pkgs)
        )));
    }
    Ok(wanted)
}

/// `sources` as names and places; empty when badly formed.
pub(crate) fn pack_sources(
    call: &Call<'_>,
    provider: &dyn Provider,
    sources: &Value,
    normalize: bool,
) -> PackageRequest {
    let list = match sources {
        Value::List(items) => items.clone(),
        Value::Str(text) => {
            match halite_yaml::load(text, "sources").map(|node| node.into_value()) {
                Ok(Value::List(items)) => items,
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    };
    let mut packed = PackageRequest::new();
    for source in &list {
        let Some((name, place)) = one_entry(source) else {
            tracing::error!("Invalid input: {}", python::repr(sources));
            return PackageRequest::new();
        };
        let name = normal(call, provider, &name, normalize);
        put(&mut packed, name, Some(python::str(place)));
    }
    packed
}

/// The entry of a map that has one.
pub(crate) fn one_entry(value: &Value) -> Option<(String, &Value)> {
    let map = value.as_map().filter(|map| map.len() == 1)?;
    let (key, value) = map.iter().next()?;
    Some((python::str(key), value))
}

fn normal(call: &Call<'_>, provider: &dyn Provider, name: &str, normalize: bool) -> String {
    if normalize {
        provider.normalize(call, name)
    } else {
        name.to_owned()
    }
}

/// Reads `name`, `pkgs`, `sources`, `version` of `kwargs`.
///
/// # Errors
/// When a source cannot be fetched, or names are there twice.
pub(crate) fn parse_targets(
    call: &Call<'_>,
    provider: &dyn Provider,
    kwargs: &Map,
    normalize: bool,
) -> Result<Targets, PkgError> {
    let get = |name: &str| kwargs.get(name).unwrap_or(&Value::Nil);
    let (pkgs, sources) = (get("pkgs"), get("sources"));
    if pkgs.is_true() && sources.is_true() {
        tracing::error!("Only one of \"pkgs\" and \"sources\" can be used.");
        return Ok(Targets::None);
    }
    if pkgs.is_true() {
        let wanted = repack_pkgs(call, provider, pkgs, normalize)?;
        return Ok(if wanted.is_empty() {
            Targets::None
        } else {
            Targets::Repository(wanted)
        });
    }
    if sources.is_true() {
        let packed = pack_sources(call, provider, sources, normalize);
        if packed.is_empty() {
            return Ok(Targets::None);
        }
        let saltenv = kwargs
            .get("saltenv")
            .map_or_else(|| "base".to_owned(), python::str);
        let files = packed
            .iter()
            .map(|(name, place)| {
                let place = place.as_deref().unwrap_or_default();
                local_file(call, place, &saltenv)?.ok_or_else(|| {
                    PkgError::command(format!("Unable to cache source {place} for package {name}"))
                })
            })
            .map(|file| file.map_err(|error| name_not_absolute(error, &packed)));
        return Ok(Targets::Files(files.collect::<Result<_, _>>()?));
    }
    let name = get("name");
    if !name.is_true() {
        tracing::error!("No package sources provided");
        return Ok(Targets::None);
    }
    let version = get("version");
    let version = (!version.is_nil()).then(|| python::str(version));
    let mut wanted = PackageRequest::new();
    for name in python::str(name).split(',') {
        let name = normal(call, provider, name, normalize);
        put(&mut wanted, name, version.clone());
    }
    Ok(Targets::Repository(wanted))
}

/// A wanted version in the notation that several programs share.
pub(crate) fn target(name: &str, version: Option<&str>) -> String {
    match version {
        None | Some("") => name.to_owned(),
        Some(version) if version.starts_with(['<', '>', '=']) => format!("{name}{version}"),
        Some(version) => format!("{name}={version}"),
    }
}

/// Which packages are to be removed; `arguments` says what is heeded. Nothing
/// if `kwargs` name none.
///
/// # Errors
/// When names are there twice.
pub(crate) fn parse_removed(
    call: &Call<'_>,
    provider: &dyn Provider,
    kwargs: &Map,
    arguments: &[&str],
) -> Result<Option<PackageRequest>, PkgError> {
    let mut asked = kwargs.clone();
    asked.retain(|key, _| key.as_str().is_some_and(|key| arguments.contains(&key)));
    Ok(match parse_targets(call, provider, &asked, true)? {
        Targets::Repository(wanted) => Some(wanted),
        Targets::None | Targets::Files(_) => None,
    })
}

/// The installed packages that are to be removed, by name or by pattern and
/// where a version is wanted by that; `versioned` spells one with its version.
pub(crate) fn removed_targets(
    installed: &Map,
    wanted: PackageRequest,
    versioned: impl Fn(&str, &str) -> String,
) -> Vec<String> {
    let mut targets = Vec::new();
    for (name, version) in wanted {
        let is_meant =
            |known: &String| *known == name || (name.contains('*') && fnmatch(&name, known));
        for known in installed.keys().map(python::str).filter(is_meant) {
            match &version {
                None => targets.push(known),
                Some(version) if versions(installed, &known).contains(version) => {
                    targets.push(versioned(&known, version));
                }
                Some(_) => {}
            }
        }
    }
    targets
}

/// Those of the named packages that are installed.
pub(crate) fn installed_targets(
    provider: &dyn Provider,
    call: &Call<'_>,
    kwargs: &Map,
) -> Result<Vec<String>, PkgError> {
    let Some(wanted) = parse_removed(call, provider, kwargs, &["name", "pkgs"])? else {
        return Ok(Vec::new());
    };
    let current = provider.list(call, Listing::Installed)?;
    Ok(wanted
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| current.contains_key(name))
        .collect())
}

fn name_not_absolute(error: PkgError, packed: &PackageRequest) -> PkgError {
    match error {
        PkgError::Call(CallError::Invocation(place)) => {
            let name = packed
                .iter()
                .find(|(_, known)| known.as_deref() == Some(&place))
                .map_or("", |(name, _)| name);
            PkgError::invocation(format!(
                "Path {place} for package {name} is either not absolute or an invalid protocol"
            ))
        }
        other => other,
    }
}

/// The place on this machine of a package file: itself, or a cached copy.
///
/// # Errors
/// When it cannot be fetched; an `Invocation` that holds the place when it is
/// neither a URL nor absolute.
pub(crate) fn local_file(
    call: &Call<'_>,
    place: &str,
    saltenv: &str,
) -> Result<Option<String>, PkgError> {
    let is_url = [
        "salt://", "http://", "https://", "ftp://", "s3://", "swift://", "file://",
    ]
    .iter()
    .any(|scheme| place.starts_with(scheme));
    if is_url {
        let cached = call.salt("cp.cache_file", &[place.into(), saltenv.into()], Map::new())?;
        return Ok(cached.is_true().then(|| python::str(&cached)));
    }
    if place.starts_with('/') {
        Ok(Some(place.to_owned()))
    } else {
        Err(PkgError::invocation(place))
    }
}
