//! States of packages.

mod aggregate;
mod group;
mod hold;
mod install;
mod latest;
mod other;
mod remove;
mod targets;

use halite_call::{
    BEACON_INTERVAL, Call, CallResult, Function, Module, StateReturn, add_state_beacon,
    beacon_value, paths, python,
};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "pkg",
    functions: &[
        Function::new(
            "pkg.downloaded",
            "(name, version=None, pkgs=None, fromrepo=None, ignore_epoch=None, **kwargs)",
            other::downloaded,
            "Packages are in the cache of the package manager.",
        ),
        Function::new(
            "pkg.group_installed",
            "(name, skip=None, include=None, **kwargs)",
            group::group_installed,
            "A group of packages is installed.",
        ),
        Function::new(
            "pkg.held",
            "(name, version=None, pkgs=None, replace=False, **kwargs)",
            hold::held,
            "Packages are held at their version.",
        ),
        Function::new(
            "pkg.installed",
            "(name, version=None, refresh=None, fromrepo=None, skip_verify=False, skip_suggestions=False, pkgs=None, sources=None, allow_updates=False, pkg_verify=False, normalize=True, ignore_epoch=None, reinstall=False, update_holds=False, **kwargs)",
            install::installed,
            "Packages are installed, at a version if one is wanted.",
        ),
        Function::new(
            "pkg.latest",
            "(name, refresh=None, fromrepo=None, skip_verify=False, pkgs=None, watch_flags=True, **kwargs)",
            latest::latest,
            "Packages are installed in their newest version.",
        ),
        Function::new(
            "pkg.mod_aggregate",
            "(low, chunks, running)",
            aggregate::mod_aggregate,
            "Puts the packages of several states into one.",
        ),
        Function::new(
            "pkg.mod_beacon",
            "(name, **kwargs)",
            mod_beacon,
            "Has packages that can be upgraded reported by a beacon: beacon, beacon_data\n(interval, refresh).",
        ),
        Function::new(
            "pkg.mod_init",
            "(low)",
            mod_init,
            "Marks that lists are to be read again before the first package of a run.",
        ),
        Function::new(
            "pkg.mod_watch",
            "(name, **kwargs)",
            mod_watch,
            "Carries out the state again when what it watches has changed.",
        ),
        Function::new(
            "pkg.patch_downloaded",
            "(name, advisory_ids=None, **kwargs)",
            other::patch,
            "Patches are in the cache of the package manager.",
        ),
        Function::new(
            "pkg.patch_installed",
            "(name, advisory_ids=None, downloadonly=None, **kwargs)",
            other::patch,
            "Patches are installed.",
        ),
        Function::new(
            "pkg.purged",
            "(name, version=None, pkgs=None, normalize=True, ignore_epoch=None, **kwargs)",
            remove::purged,
            "Packages and their configuration are not there.",
        ),
        Function::new(
            "pkg.removed",
            "(name, version=None, pkgs=None, normalize=True, ignore_epoch=None, **kwargs)",
            remove::removed,
            "Packages are not installed.",
        ),
        Function::new(
            "pkg.unheld",
            "(name, version=None, pkgs=None, all=False, **kwargs)",
            hold::unheld,
            "Packages are not held.",
        ),
        Function::new(
            "pkg.uptodate",
            "(name, refresh=False, pkgs=None, **kwargs)",
            other::uptodate,
            "All packages are in their newest version.",
        ),
    ],
};

/// The arguments without a place, with the environment of the state.
fn extra(call: &Call<'_>) -> Map {
    let mut kwargs = call.clean_kwargs();
    let env = call
        .job
        .state
        .as_ref()
        .and_then(|state| state.low.get("__env__").cloned());
    kwargs.insert("saltenv", env.unwrap_or_else(|| "base".into()));
    kwargs
}

fn is_empty_list(value: &Value) -> bool {
    matches!(value, Value::List(items) if items.is_empty())
}

fn mod_init(call: &Call<'_>) -> CallResult {
    let fun = call
        .arg("low")
        .get("fun")
        .map(python::str)
        .unwrap_or_default();
    if fun != "installed" && fun != "latest" {
        return Ok(false.into());
    }
    let tag = crate::pkg::refresh_tag(call);
    if !tag.exists()
        && let Err(error) = paths::write(&tag, "")
    {
        tracing::warn!(%error, "could not record that package lists must be read again");
    }
    Ok(true.into())
}

fn mod_beacon(call: &Call<'_>) -> CallResult {
    let supported = (&["installed", "removed"][..], "mod_beacon");
    add_state_beacon(call, "pkg", supported, |name, data| {
        let pkgs = match call.get("pkgs") {
            Some(pkgs) if pkgs.is_true() => pkgs.clone(),
            _ => vec![Value::from(name)].into(),
        };
        let mut beacon = Map::from([("pkgs", pkgs)]);
        if let Some(refresh) = data.get("refresh") {
            beacon.insert("refresh", refresh.clone());
        }
        beacon.insert("interval", beacon_value(data, "interval", BEACON_INTERVAL));
        beacon
    })
}

/// What `mod_watch` may repeat, as state functions of this module.
fn mod_watch(call: &Call<'_>) -> CallResult {
    let sfun = call.get("sfun").map(python::str).unwrap_or_default();
    let known = ["installed", "latest", "removed", "purged"];
    if !known.contains(&sfun.as_str()) {
        return Ok(StateReturn::of(call)
            .failed(format!("pkg.{sfun} does not work with the watch requisite"))
            .into());
    }
    let fun = format!("pkg.{sfun}");
    let mut kwargs = call.clean_kwargs();
    kwargs.remove("sfun");
    kwargs.insert("name", call.arg("name").clone());
    halite_call::run_state_function(call.ctx, &fun, Vec::new(), kwargs, call.job)
}
