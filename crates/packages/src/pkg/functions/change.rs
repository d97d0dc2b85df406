//! What changes packages.

use halite_call::{Call, CallError, CallResult, python};
use halite_proto::{Map, Value};
use halite_target::pcre;

use crate::pkg::this_machine::provider;

/// The named arguments and those without a place, as one map.
pub(super) fn arguments(call: &Call<'_>, names: &[&str]) -> Map {
    let mut all = Map::new();
    for name in names {
        all.insert(*name, call.arg(name).clone());
    }
    all.extend(call.clean_kwargs());
    all
}

pub(super) fn upgrade(call: &Call<'_>) -> CallResult {
    let (provider, kwargs) = (
        provider(call)?,
        arguments(call, &["refresh", "dist_upgrade"]),
    );
    match provider.upgrade_is_tried(call, &kwargs)? {
        Some(said) => Ok(said),
        None => Ok(provider.upgrade(call, &kwargs)?.into()),
    }
}

pub(super) fn update(call: &Call<'_>) -> CallResult {
    let provider = super::more::only(call, &["dnf"])?;
    let kwargs = arguments(
        call,
        &[
            "name",
            "pkgs",
            "refresh",
            "skip_verify",
            "normalize",
            "minimal",
            "obsoletes",
        ],
    );
    Ok(provider.upgrade(call, &kwargs)?.into())
}

pub(super) fn refresh_db(call: &Call<'_>) -> CallResult {
    let kwargs = match call.get("cache_valid_time") {
        Some(_) => arguments(call, &["cache_valid_time", "failhard"]),
        None => call.clean_kwargs(),
    };
    Ok(provider(call)?.refresh(call, &kwargs)?)
}

pub(super) fn install(call: &Call<'_>) -> CallResult {
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

pub(super) fn remove(call: &Call<'_>) -> CallResult {
    let kwargs = arguments(call, &["name", "pkgs"]);
    Ok(provider(call)?.remove(call, false, &kwargs)?.into())
}

pub(super) fn purge(call: &Call<'_>) -> CallResult {
    let kwargs = arguments(call, &["name", "pkgs"]);
    Ok(provider(call)?.remove(call, true, &kwargs)?.into())
}

pub(super) fn autoremove(call: &Call<'_>) -> CallResult {
    let (list, purge) = (call.flag("list_only"), call.flag("purge"));
    Ok(provider(call)?.autoremove(call, list, purge)?)
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

pub(super) fn hold(call: &Call<'_>) -> CallResult {
    hold_or_free(call, true)
}

pub(super) fn unhold(call: &Call<'_>) -> CallResult {
    hold_or_free(call, false)
}

pub(super) fn hold_or_free(call: &Call<'_>, hold: bool) -> CallResult {
    let names = hold_targets(call.arg("name"), call.arg("pkgs"), call.arg("sources"))?;
    Ok(provider(call)?.hold(call, hold, &names)?.into())
}

pub(super) fn list_holds(call: &Call<'_>) -> CallResult {
    let provider = provider(call)?;
    let held = if call.get("full").is_none_or(Value::is_true) {
        provider.held_in_full(call)?
    } else {
        provider.held(call)?
    };
    let pattern = call.text_opt("pattern").filter(|text| !text.is_empty());
    let fits = |line: &String| match &pattern {
        Some(pattern) => pcre::match_start(pattern, line).unwrap_or(false),
        None => true,
    };
    Ok(super::texts(held.into_iter().filter(fits).collect()))
}
