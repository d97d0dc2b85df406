//! Answers derived from a package manager's own lists, for those that have nothing
//! better.

use halite_call::{Call, python};
use halite_proto::{Map, Value};

use super::error::PkgError;
use super::lists::{joined, versions};
use super::provider::{Listing, Provider};

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
