//! States of Python environments.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

use crate::python::pip::Pip;
use crate::python::virtualenv::{create, python_version};

pub(crate) const MODULE: Module = Module {
    name: "virtualenv",
    functions: &[
        Function::new(
            "virtualenv.manage",
            SIGNATURE,
            managed,
            "The same as virtualenv.managed.",
        ),
        Function::new(
            "virtualenv.managed",
            SIGNATURE,
            managed,
            "A Python environment exists, with these packages.",
        ),
    ],
};

const SIGNATURE: &str = "(name, venv_bin=None, requirements=None, system_site_packages=False, distribute=False, use_wheel=False, clear=False, python=None, extra_search_dir=None, never_download=None, prompt=None, user=None, cwd=None, index_url=None, extra_index_url=None, pre_releases=False, no_deps=False, pip_download=None, pip_download_cache=None, pip_exists_action=None, pip_ignore_installed=False, proxy=None, use_vt=False, env_vars=None, no_use_wheel=False, pip_upgrade=False, pip_pkgs=None, pip_no_cache_dir=False, pip_cache_dir=None, process_dependency_links=False, no_binary=None, **kwargs)";

fn managed(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let state = StateReturn::of(call);
    let exists = call.host().path(&name).join("bin/python").exists();
    let clear = call.flag("clear");
    if call.is_test() {
        return Ok(match (exists, clear) {
            (true, true) => state.pending(format!("Virtualenv {name} is set to be cleared")),
            (true, false) => state.ok(format!("Virtualenv {name} is already created")),
            (false, _) => state.pending(format!("Virtualenv {name} is set to be created")),
        }
        .into());
    }
    let mut state = state;
    Ok(match manage(call, &name, exists, clear, &mut state) {
        Ok(()) => state,
        Err(CallError::NotFound(text)) => {
            state.failed(format!("Failed to create virtualenv: {text}"))
        }
        Err(CallError::Command(text)) => state.failed(text),
        Err(other) => return Err(other),
    }
    .into())
}

fn manage(
    call: &Call<'_>,
    name: &str,
    exists: bool,
    clear: bool,
    state: &mut StateReturn,
) -> Result<(), CallError> {
    let pip = Pip {
        bin_env: Some(name.to_owned()),
        user: call.text_opt("user"),
        cwd: call.text_opt("cwd"),
        env: call.arg("env_vars").clone(),
    };
    if exists && clear {
        let packages = pip.freeze(call)?;
        let packages = packages.into_iter().map(Value::from).collect();
        state
            .changes
            .insert("cleared_packages", Value::List(packages));
        state.changes.insert("old", python_version(call, name)?);
    }
    if exists && !clear {
        state.comment = "virtualenv exists".into();
    } else {
        make(call, name)?;
        state.changes.insert("new", python_version(call, name)?);
        state.comment = if clear {
            "Cleared existing virtualenv".into()
        } else {
            "Created new virtualenv".into()
        };
    }
    if call.flag("requirements") || call.flag("pip_pkgs") {
        install(call, &pip, state)?;
    }
    Ok(())
}

/// Makes or clears the environment.
fn make(call: &Call<'_>, name: &str) -> Result<(), CallError> {
    let args: Map = MAKE_ARGUMENTS
        .iter()
        .map(|name| (*name, call.arg(name).clone()))
        .collect();
    let ran = create(call, name, &args)?;
    if !ran.ok() {
        let text = format!("{}{}", ran.stdout, ran.stderr);
        return Err(CallError::command(text));
    }
    Ok(())
}

/// Installs what is asked for into the environment, and says what it changed.
fn install(call: &Call<'_>, pip: &Pip, state: &mut StateReturn) -> Result<(), CallError> {
    let before = pip.freeze(call)?;
    let env = call
        .job
        .state
        .as_ref()
        .and_then(|state| state.low.get("__env__").cloned());
    let mut args = Map::from([("saltenv", env.unwrap_or_else(|| "base".into()))]);
    for (own, pips) in PIP_ARGUMENTS {
        args.insert(*pips, call.arg(own).clone());
    }
    let ran = pip.install(call, &args)?;
    if !ran.ok() {
        state.result = Some(false);
        let comment = python::str(&state.comment);
        state.comment = format!("{comment}\n{}\n{}", ran.stdout, ran.stderr).into();
    }
    let after = pip.freeze(call)?;
    let (new, old) = (missing(&after, &before), missing(&before, &after));
    if new.is_true() || old.is_true() {
        state
            .changes
            .insert("packages", Map::from([("new", new), ("old", old)]));
    }
    Ok(())
}

/// The packages of one list that are not in another one.
fn missing(from: &[String], other: &[String]) -> Value {
    let lines: Vec<Value> = from
        .iter()
        .filter(|line| !other.contains(line))
        .map(|line| line.as_str().into())
        .collect();
    if lines.is_empty() {
        "".into()
    } else {
        Value::List(lines)
    }
}

/// Arguments that are for whoever makes the environment.
const MAKE_ARGUMENTS: &[&str] = &[
    "venv_bin",
    "system_site_packages",
    "clear",
    "python",
    "extra_search_dir",
    "never_download",
    "prompt",
    "user",
];

/// Arguments that are for pip, and their names there.
const PIP_ARGUMENTS: &[(&str, &str)] = &[
    ("pip_pkgs", "pkgs"),
    ("requirements", "requirements"),
    ("index_url", "index_url"),
    ("extra_index_url", "extra_index_url"),
    ("pip_download", "download"),
    ("pip_download_cache", "download_cache"),
    ("pre_releases", "pre_releases"),
    ("pip_exists_action", "exists_action"),
    ("pip_ignore_installed", "ignore_installed"),
    ("pip_upgrade", "upgrade"),
    ("no_deps", "no_deps"),
    ("proxy", "proxy"),
    ("pip_no_cache_dir", "no_cache_dir"),
    ("pip_cache_dir", "cache_dir"),
    ("no_binary", "no_binary"),
];
