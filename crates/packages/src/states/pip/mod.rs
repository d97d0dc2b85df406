//! States of Python packages.

mod installed;

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

use crate::python::pip::Pip;
use crate::python::requirement::normal_name;

pub(crate) const MODULE: Module = Module {
    name: "pip",
    functions: &[
        Function::new(
            "pip.installed",
            "(name, pkgs=None, pip_bin=None, requirements=None, bin_env=None, use_wheel=False, no_use_wheel=False, log=None, proxy=None, timeout=None, repo=None, editable=None, find_links=None, index_url=None, extra_index_url=None, no_index=False, mirrors=None, build=None, target=None, download=None, download_cache=None, source=None, upgrade=False, force_reinstall=False, ignore_installed=False, exists_action=None, no_deps=False, no_install=False, no_download=False, install_options=None, global_options=None, user=None, cwd=None, pre_releases=False, cert=None, allow_all_external=False, allow_external=None, allow_unverified=None, process_dependency_links=False, env_vars=None, use_vt=False, trusted_host=None, no_cache_dir=False, cache_dir=None, no_binary=None, extra_args=None, **kwargs)",
            installed::installed,
            "Python packages are installed, at a version if one is wanted.",
        ),
        Function::new(
            "pip.mod_aggregate",
            "(low, chunks, running)",
            mod_aggregate,
            "Leaves the packages of several states apart.",
        ),
        Function::new(
            "pip.removed",
            "(name, requirements=None, bin_env=None, log=None, proxy=None, timeout=None, user=None, cwd=None, use_vt=False)",
            removed,
            "A Python package is not installed.",
        ),
        Function::new(
            "pip.uptodate",
            "(name, bin_env=None, user=None, cwd=None, use_vt=False)",
            uptodate,
            "All Python packages are in their newest version.",
        ),
    ],
};

fn mod_aggregate(call: &Call<'_>) -> CallResult {
    Ok(call.arg("low").clone())
}

fn pip_of(call: &Call<'_>) -> Pip {
    let mut pip = Pip::of(call);
    if pip.bin_env.is_none() {
        let given = call.get("pip_bin").filter(|path| path.is_true());
        pip.bin_env = given.map(python::str);
    }
    pip
}

fn removed(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let mut state = StateReturn::of(call);
    let pip = pip_of(call);
    let list = match pip.list(call, None) {
        Ok(list) => list,
        Err(CallError::Command(text) | CallError::NotFound(text)) => {
            return Ok(state
                .failed(format!("Error uninstalling '{name}': {text}"))
                .into());
        }
        Err(other) => return Err(other),
    };
    let normal = normal_name(&name);
    if !list.contains_key(&normal) {
        return Ok(state.ok("Package is not installed.").into());
    }
    if call.is_test() {
        return Ok(state
            .pending(format!("Package {name} is set to be removed"))
            .into());
    }
    let mut kwargs = Map::from([("pkgs", Value::from(name.as_str()))]);
    for arg in [
        "requirements",
        "bin_env",
        "log",
        "proxy",
        "timeout",
        "user",
        "cwd",
    ] {
        kwargs.insert(arg, call.arg(arg).clone());
    }
    let ran = call.salt("pip.uninstall", &[], kwargs)?;
    if ran.get("retcode").and_then(Value::as_i64) == Some(0) {
        state.changes.insert(name, "Removed");
        return Ok(state.ok("Package was successfully removed.").into());
    }
    Ok(state.failed("Could not remove package.").into())
}

fn uptodate(call: &Call<'_>) -> CallResult {
    let state = StateReturn::of(call).failed("Failed to update.");
    let kwargs = || -> Map {
        ["bin_env", "user", "cwd"]
            .iter()
            .map(|name| (*name, call.arg(name).clone()))
            .collect()
    };
    let upgrades = match call.salt("pip.list_upgrades", &[], kwargs()) {
        Ok(upgrades) => upgrades,
        Err(error) => {
            let name = call.text("name");
            return Ok(state
                .failed(format!("Error uptodating '{name}': {error}"))
                .into());
        }
    };
    if !upgrades.is_true() {
        return Ok(state.ok("System is already up-to-date.").into());
    }
    if call.is_test() {
        return Ok(state.pending("System update will be performed").into());
    }
    let updated = call.salt("pip.upgrade", &[], kwargs())?;
    let mut state = state;
    if updated.get("result") == Some(&Value::Bool(false)) {
        if let Some(Value::Map(changes)) = updated.get("changes") {
            state.changes = changes.clone();
        }
        let comment = updated.get("comment").cloned().unwrap_or_default();
        return Ok(state.failed(comment).into());
    }
    if let Some(Value::Map(changes)) = updated.get("changes") {
        state.changes = changes.clone();
    }
    Ok(state.ok("Upgrade successful.").into())
}
