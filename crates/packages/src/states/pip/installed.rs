//! The state `pip.installed`.

use std::cmp::Ordering;

use halite_call::host::Ran;
use halite_call::{Call, CallError, CallResult, StateReturn, python};
use halite_proto::{Map, Value};

use super::pip_of;
use crate::python::pep440;
use crate::python::pip::{Pip, arguments, index_options};
use crate::python::requirement::{Requirement, normal_name, parse};

pub(super) fn installed(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let lines: Vec<String> = match call.arg("pkgs") {
        Value::List(items) if !items.is_empty() => items.iter().map(python::str).collect(),
        other if other.is_true() => {
            return Ok(StateReturn::of(call)
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

fn not_installed(state: StateReturn, what: &str, whole: Option<String>, ran: &Ran) -> Value {
    let error = format!("Error: {} {}", ran.stdout, ran.stderr);
    state
        .failed(match whole {
            Some(file) => format!("Unable to process {what} \"{file}\". {error}"),
            None => format!("Failed to install packages: {what}. {error}"),
        })
        .into()
}

/// Packages by name.
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
    let all: Vec<String> = wanted.iter().map(|(_, line)| line.clone()).collect();
    for (requirement, line) in wanted {
        match is_there(call, pip, &requirement, &line, &list)? {
            Some(comment) => already.push(comment),
            None if call.is_test() => {
                return Ok(state.pending(prediction(&all)).into());
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
    let now = pip.list(call, None)?;
    let (changes, missing) = compare(&targets, &now, &satisfied(&ran.stdout));
    state.changes = changes;
    Ok(state
        .ok(with_already(if missing.is_empty() {
            "All packages were successfully installed".to_owned()
        } else {
            missing.join("\n")
        }))
        .into())
}

/// What test mode says when one of these packages is not there.
fn prediction(lines: &[String]) -> String {
    match lines {
        [line] => format!("Python package {line} is set to be installed"),
        lines => format!(
            "Python package(s) set to be installed:\n{}",
            lines.join("\n")
        ),
    }
}

/// The packages of which pip says that they were there already.
fn satisfied(output: &str) -> Vec<String> {
    output
        .lines()
        .filter_map(|line| {
            line.strip_prefix("Requirement already satisfied: ")
                .or_else(|| line.strip_prefix("Requirement already up-to-date: "))
        })
        .filter_map(|rest| rest.split_whitespace().next())
        .map(|name| {
            let bare = name.split(['=', '!', '<', '>', '~', '@']).next();
            normal_name(bare.unwrap_or(name))
        })
        .collect()
}

/// What the installation of `targets` has changed, and a line for each package
/// that is not there all the same.
fn compare(
    targets: &[(Requirement, String)],
    now: &Map,
    satisfied: &[String],
) -> (Map, Vec<String>) {
    let mut changes = Map::new();
    let mut missing = Vec::new();
    for (requirement, line) in targets {
        if requirement.name.is_empty() {
            changes.insert(format!("{line}==???"), "Installed");
        } else if let Some(version) = now.get(&requirement.name) {
            if !satisfied.contains(&requirement.name) {
                let key = format!("{}=={}", requirement.name, python::str(version));
                changes.insert(key, "Installed");
            }
        } else {
            missing.push(format!(
                "There was no error installing package '{line}' although it does not show when calling 'pip.freeze'."
            ));
        }
    }
    (changes, missing)
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
    let versions = pip.versions(call, &requirement.name, &index_options(call))?;
    let newest = versions
        .iter()
        .rev()
        .find(|version| pep440::fulfills(version, &requirement.conditions));
    Ok(match newest {
        None => Some(format!(
            "Python package {} was already installed and\nthe available upgrade doesn't fulfills the version requirements",
            requirement.name
        )),
        Some(newest) if pep440::compare(&version, newest).is_some_and(Ordering::is_eq) => {
            Some(installed)
        }
        Some(_) => None,
    })
}
