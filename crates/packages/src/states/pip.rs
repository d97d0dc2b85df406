//! States of Python packages.

use halite_modules::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

use crate::python::pep440;
use crate::python::pip::{Pip, arguments};
use crate::python::requirement::{Requirement, normal_name, parse};

pub(crate) const MODULE: Module = Module {
    name: "pip",
    functions: &[
        Function::new(
            "pip.installed",
            "(name, pkgs=None, pip_bin=None, requirements=None, bin_env=None, use_wheel=False, no_use_wheel=False, log=None, proxy=None, timeout=None, repo=None, editable=None, find_links=None, index_url=None, extra_index_url=None, no_index=False, mirrors=None, build=None, target=None, download=None, download_cache=None, source=None, upgrade=False, force_reinstall=False, ignore_installed=False, exists_action=None, no_deps=False, no_install=False, no_download=False, install_options=None, global_options=None, user=None, cwd=None, pre_releases=False, cert=None, allow_all_external=False, allow_external=None, allow_unverified=None, process_dependency_links=False, env_vars=None, use_vt=False, trusted_host=None, no_cache_dir=False, cache_dir=None, no_binary=None, extra_args=None, **kwargs)",
            installed,
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

fn state(call: &Call<'_>) -> StateReturn {
    StateReturn::new(call.arg("name").clone())
}

fn pip_of(call: &Call<'_>) -> Pip {
    let mut pip = Pip::of(call);
    if pip.bin_env.is_none() {
        let given = call.get("pip_bin").filter(|path| path.is_true());
        pip.bin_env = given.map(python::str);
    }
    pip
}

fn installed(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let lines: Vec<String> = match call.arg("pkgs") {
        Value::List(items) if !items.is_empty() => items.iter().map(python::str).collect(),
        other if other.is_true() => {
            return Ok(state(call)
                .failed("pkgs argument must be formatted as a list")
                .into());
        }
        _ => vec![name.clone()],
    };
    let mut state = StateReturn::new(lines.join(";"));
    state.result = None;
    let pip = pip_of(call);
    if let Err(error) = pip.version(call) {
        return match error {
            CallError::Command(text) | CallError::NotFound(text) => Ok(state
                .failed(format!("Error installing '{name}': {text}"))
                .into()),
            other => Err(other),
        };
    }
    let whole = call.flag("requirements") || call.flag("editable");
    let mut wanted: Vec<(Requirement, String)> = Vec::new();
    if !whole {
        let mut bad = Vec::new();
        for line in lines {
            match parse(&line) {
                Ok(requirement) => wanted.push((requirement, line)),
                Err(comment) => bad.push(comment),
            }
        }
        if !bad.is_empty() {
            return Ok(state.failed(bad.join("\n")).into());
        }
    }
    if let Some(user) = &pip.user {
        let known = call.salt("user.info", &[user.as_str().into()], Map::new())?;
        if !known.is_true() {
            return Ok(state.failed(format!("User {user} does not exist")).into());
        }
    }
    if whole {
        return install_whole(call, &pip, state);
    }
    install_named(call, &pip, wanted, state)
}

/// From a file of requirements or a source tree.
fn install_whole(call: &Call<'_>, pip: &Pip, mut state: StateReturn) -> CallResult {
    let (requirements, editable) = (call.text_opt("requirements"), call.text_opt("editable"));
    if call.is_test() {
        let mut comments = Vec::new();
        comments.extend(
            requirements.map(|file| format!("Requirements file '{file}' will be processed.")),
        );
        comments.extend(editable.map(|tree| {
            format!(
                "Package will be installed in editable mode (i.e. setuptools \"develop mode\") from {tree}."
            )
        }));
        return Ok(state.pending(comments.join(" ")).into());
    }
    let mut args = arguments(call);
    args.remove("pkgs");
    args.insert("disable_version_check", true);
    let ran = match pip.install(call, &args) {
        Ok(ran) => ran,
        Err(CallError::Command(text)) => return Ok(state.failed(text).into()),
        Err(other) => return Err(other),
    };
    if !ran.ok() {
        return Ok(not_installed(
            state,
            "requirements file",
            requirements,
            &ran,
        ));
    }
    let unchanged = [
        "Requirement already satisfied",
        "Requirement already up-to-date",
        "Requirement not upgraded",
        "Collecting",
        "Cloning",
        "Cleaning up...",
        "Looking in indexes",
    ];
    let mut comments = Vec::new();
    if let Some(file) = requirements {
        let changed = ran
            .stdout
            .lines()
            .any(|line| !unchanged.iter().any(|known| line.trim().starts_with(known)));
        if changed {
            state.changes.insert("requirements", true);
            comments.push(format!("Successfully processed requirements file {file}."));
        } else {
            comments.push("Requirements were already installed.".to_owned());
        }
    }
    if let Some(tree) = editable {
        comments.push(format!(
            "Package successfully installed from VCS checkout {tree}."
        ));
        state.changes.insert("editable", true);
    }
    Ok(state.ok(comments.join(" ")).into())
}

fn not_installed(
    state: StateReturn,
    what: &str,
    whole: Option<String>,
    ran: &halite_modules::host::Ran,
) -> Value {
    let error = format!("Error: {} {}", ran.stdout, ran.stderr);
    state
        .failed(match whole {
            Some(file) => format!("Unable to process {what} \"{file}\". {error}"),
            None => format!("Failed to install packages: {what}. {error}"),
        })
        .into()
}

fn install_named(
    call: &Call<'_>,
    pip: &Pip,
    wanted: Vec<(Requirement, String)>,
    mut state: StateReturn,
) -> CallResult {
    let list = pip.list(call, None).unwrap_or_else(|error| {
        tracing::warn!(%error, "could not list the Python packages");
        Map::new()
    });
    let mut already = Vec::new();
    let mut targets: Vec<(Requirement, String)> = Vec::new();
    let several = wanted.len() > 1;
    let all: Vec<String> = wanted.iter().map(|(_, line)| line.clone()).collect();
    for (requirement, line) in wanted {
        match is_there(call, pip, &requirement, &line, &list)? {
            Some(comment) => already.push(comment),
            None if call.is_test() => {
                return Ok(state
                    .pending(if several {
                        format!("Python package(s) set to be installed:\n{}", all.join("\n"))
                    } else {
                        format!("Python package {line} is set to be installed")
                    })
                    .into());
            }
            None => targets.push((requirement, line)),
        }
    }
    let with_already = |text: String| {
        let mut lines = already.clone();
        lines.push(text);
        lines.join("\n")
    };
    if targets.is_empty() {
        let newest = if call.flag("upgrade") {
            " and up-to-date"
        } else {
            ""
        };
        return Ok(state
            .ok(with_already(format!(
                "All specified packages are already installed{newest}"
            )))
            .into());
    }
    let mut args = arguments(call);
    let pkgs = targets
        .iter()
        .map(|(_, line)| line.replace(',', ";").into());
    args.insert("pkgs", Value::List(pkgs.collect()));
    args.insert("disable_version_check", true);
    let ran = match pip.install(call, &args) {
        Ok(ran) => ran,
        Err(CallError::Command(text)) => return Ok(state.failed(text).into()),
        Err(other) => return Err(other),
    };
    if !ran.ok() {
        let names: Vec<&str> = targets.iter().map(|(_, line)| line.as_str()).collect();
        return Ok(not_installed(state, &names.join(", "), None, &ran));
    }
    let satisfied: Vec<String> = ran
        .stdout
        .lines()
        .filter_map(|line| {
            line.strip_prefix("Requirement already satisfied: ")
                .or_else(|| line.strip_prefix("Requirement already up-to-date: "))
        })
        .filter_map(|rest| rest.split_whitespace().next())
        .map(|name| {
            normal_name(
                name.split(['=', '!', '<', '>', '~', '@'])
                    .next()
                    .unwrap_or(name),
            )
        })
        .collect();
    let now = pip.list(call, None)?;
    let mut missing = Vec::new();
    for (requirement, line) in &targets {
        if requirement.name.is_empty() {
            state.changes.insert(format!("{line}==???"), "Installed");
        } else if let Some(version) = now.get(&requirement.name) {
            if !satisfied.contains(&requirement.name) {
                let key = format!("{}=={}", requirement.name, python::str(version));
                state.changes.insert(key, "Installed");
            }
        } else {
            missing.push(format!(
                "There was no error installing package '{line}' although it does not show when calling 'pip.freeze'."
            ));
        }
    }
    Ok(state
        .ok(with_already(if missing.is_empty() {
            "All packages were successfully installed".to_owned()
        } else {
            missing.join("\n")
        }))
        .into())
}

/// The comment for a package that needs nothing.
fn is_there(
    call: &Call<'_>,
    pip: &Pip,
    requirement: &Requirement,
    line: &str,
    list: &Map,
) -> Result<Option<String>, CallError> {
    let Some(version) = list.get(&requirement.name).map(python::str) else {
        return Ok(None);
    };
    if requirement.name.is_empty() || call.flag("ignore_installed") || call.flag("force_reinstall")
    {
        return Ok(None);
    }
    let installed = format!("Python package {line} was already installed");
    if !call.flag("upgrade") {
        let fits = pep440::fulfills(&version, &requirement.conditions);
        return Ok(fits.then_some(installed));
    }
    let mut index = Vec::new();
    for (name, option) in [
        ("index_url", "--index-url"),
        ("extra_index_url", "--extra-index-url"),
    ] {
        if call.flag(name) {
            index.extend([option.to_owned(), call.text(name)]);
        }
    }
    let versions = pip.versions(call, &requirement.name, &index)?;
    let newest = versions
        .iter()
        .rev()
        .find(|version| pep440::fulfills(version, &requirement.conditions));
    Ok(match newest {
        None => Some(format!(
            "Python package {} was already installed and\nthe available upgrade doesn't fulfills the version requirements",
            requirement.name
        )),
        Some(newest)
            if pep440::compare(&version, newest).is_some_and(std::cmp::Ordering::is_eq) =>
        {
            Some(installed)
        }
        Some(_) => None,
    })
}

fn removed(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let mut state = state(call);
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
    let state = state(call).failed("Failed to update.");
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
