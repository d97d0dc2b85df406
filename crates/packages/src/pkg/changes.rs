//! What a run of a package manager has changed, and its errors: Salt's shapes.

use halite_call::host::Ran;
use halite_call::{Call, python};
use halite_proto::{Map, Value};

use super::error::PkgError;
use super::lists::joined;
use super::provider::{Listing, Provider};

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
    changed_or_error(ran, differences(&old, &installed()?), message)
}

/// The changes of a run, or what it says when it fails.
fn changed_or_error(ran: Ran, changes: Map, message: &str) -> Result<Map, PkgError> {
    if ran.ok() {
        return Ok(changes);
    }
    changed_or_errors(message, vec![ran.complaint().to_owned()], changes)
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

/// The changes, or the errors with them.
pub(crate) fn changed_or_errors(
    message: &str,
    errors: Vec<String>,
    changes: Map,
) -> Result<Map, PkgError> {
    if errors.is_empty() {
        return Ok(changes);
    }
    let errors = Value::List(errors.into_iter().map(Value::from).collect());
    Err(PkgError::Tool {
        message: message.to_owned(),
        info: Map::from([("errors", errors), ("changes", changes.into())]),
    })
}
