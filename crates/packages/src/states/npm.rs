//! States of Node's packages.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "npm",
    functions: &[
        Function::new(
            "npm.bootstrap",
            "(name, user=None, silent=True)",
            bootstrap,
            "What the package.json of a directory names is installed there.",
        ),
        Function::new(
            "npm.installed",
            "(name, pkgs=None, dir=None, user=None, force_reinstall=False, registry=None, env=None)",
            installed,
            "Packages are there, in a directory or for everybody; as name@version in just\nthat version.",
        ),
        Function::new(
            "npm.removed",
            "(name, dir=None, user=None)",
            removed,
            "A package is not there.",
        ),
    ],
};

/// A package as it is asked for: `@scope/name@1.2` has a name and a version.
fn parted(package: &str) -> (&str, Option<&str>) {
    match package.rfind('@') {
        None | Some(0) => (package, None),
        Some(at) => (&package[..at], Some(&package[at + 1..])),
    }
}

/// What is there already, by name.
fn there(call: &Call<'_>) -> Result<Map, CallError> {
    let mut kwargs = Map::from([("depth", Value::from(0))]);
    for (ours, theirs) in [("dir", "dir"), ("user", "runas"), ("env", "env")] {
        kwargs.extend(
            call.get(ours)
                .map(|value| (Value::from(theirs), value.clone())),
        );
    }
    match call.salt("npm.list", &[], kwargs)? {
        Value::Map(there) => Ok(there),
        _ => Ok(Map::new()),
    }
}

fn joined(items: &[String]) -> String {
    items.join(", ")
}

/// A list of texts as a value.
fn texts(items: &[String]) -> Value {
    items
        .iter()
        .map(|item| Value::from(item.as_str()))
        .collect::<Vec<_>>()
        .into()
}

fn installed(call: &Call<'_>) -> CallResult {
    let state = StateReturn::of(call);
    let packages = if call.flag("pkgs") {
        call.texts("pkgs")
    } else {
        vec![call.text("name")]
    };
    let all = joined(&packages);
    let there = match there(call) {
        Ok(there) => there,
        Err(CallError::Command(why) | CallError::NotFound(why)) => {
            let comment = format!("Error looking up '{all}': {why}");
            return Ok(state.failed(comment).into());
        }
        Err(other) => return Err(other),
    };
    let (satisfied, missing) = compare(&packages, &there, call.flag("force_reinstall"));
    let by = format!("Package(s) '{all}' satisfied by {}", joined(&satisfied));
    if missing.is_empty() {
        return Ok(state.ok(by).into());
    }
    let changed = |state: StateReturn| {
        state
            .change("old", Vec::<Value>::new())
            .change("new", texts(&missing))
    };
    if call.is_test() {
        let mut comment = format!(
            "NPM package(s) '{}' are set to be installed",
            joined(&missing)
        );
        if !satisfied.is_empty() {
            comment += &format!(". {by}");
        }
        return Ok(changed(state.pending(comment)).into());
    }
    let mut kwargs = Map::from([("pkgs", texts(&packages))]);
    for (ours, theirs) in [
        ("dir", "dir"),
        ("user", "runas"),
        ("registry", "registry"),
        ("env", "env"),
    ] {
        kwargs.insert(theirs, call.arg(ours).clone());
    }
    match call.salt("npm.install", &[], kwargs) {
        Ok(done) if done.is_true() => {
            let comment = format!("Package(s) '{}' successfully installed", joined(&missing));
            Ok(changed(state.ok(comment)).into())
        }
        Ok(_) => Ok(state
            .failed(format!("Could not install package(s) '{all}'"))
            .into()),
        Err(CallError::Command(why) | CallError::NotFound(why)) => Ok(state
            .failed(format!("Error installing '{all}': {why}"))
            .into()),
        Err(other) => Err(other),
    }
}

/// Divides the wanted packages into those that are installed, each with its version,
/// and those that are missing or must be installed again.
fn compare(packages: &[String], there: &Map, reinstall: bool) -> (Vec<String>, Vec<String>) {
    let (mut satisfied, mut missing) = (Vec::new(), Vec::new());
    for package in packages {
        let (name, version) = parted(package);
        let mut known = there.iter();
        let known = known.find(|(known, _)| python::str(known).eq_ignore_ascii_case(name));
        let has = known
            .and_then(|(_, about)| about.get("version"))
            .map(python::str);
        match has {
            Some(has) if !reinstall && version.is_none_or(|wanted| wanted == has) => {
                satisfied.push(format!("{name}@{has}"));
            }
            _ => missing.push(package.clone()),
        }
    }
    (satisfied, missing)
}

fn removed(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let state = StateReturn::of(call);
    let there = match there(call) {
        Ok(there) => there,
        Err(CallError::Command(why) | CallError::NotFound(why)) => {
            let comment = format!("Error uninstalling '{name}': {why}");
            return Ok(state.failed(comment).into());
        }
        Err(other) => return Err(other),
    };
    if !there.contains_key(&name) {
        return Ok(state
            .ok(format!("Package '{name}' is not installed"))
            .into());
    }
    if call.is_test() {
        return Ok(state
            .pending(format!("Package '{name}' is set to be removed"))
            .into());
    }
    let kwargs = Map::from([
        ("pkg", Value::from(name.as_str())),
        ("dir", call.arg("dir").clone()),
        ("runas", call.arg("user").clone()),
    ]);
    if call.salt("npm.uninstall", &[], kwargs)?.is_true() {
        let state = state.ok(format!("Package '{name}' was successfully removed"));
        return Ok(state.change(name, "Removed").into());
    }
    Ok(state
        .failed(format!("Error removing package '{name}'"))
        .into())
}

fn bootstrap(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let state = StateReturn::of(call);
    let kwargs = Map::from([
        ("dir", Value::from(name.as_str())),
        ("runas", call.arg("user").clone()),
        ("silent", call.arg("silent").clone()),
        ("dry_run", call.is_test().into()),
    ]);
    let done = match call.salt("npm.install", &[], kwargs) {
        Ok(done) => done,
        Err(CallError::Command(why) | CallError::NotFound(why)) => {
            let comment = format!("Error Bootstrapping '{name}': {why}");
            return Ok(state.failed(comment).into());
        }
        Err(other) => return Err(other),
    };
    if !done.is_true() {
        return Ok(state.ok("Directory is already bootstrapped").into());
    }
    if call.is_test() {
        let state = state.pending(format!("{name} is set to be bootstrapped"));
        let state = state.change("old", Vec::<Value>::new());
        return Ok(state.change("new", done).into());
    }
    let state = state.ok("Directory was successfully bootstrapped");
    Ok(state.change(name, "Bootstrapped").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_no_version() {
        assert_eq!(parted("a@1.2"), ("a", Some("1.2")));
        assert_eq!(parted("@s/a"), ("@s/a", None));
        assert_eq!(parted("@s/a@2"), ("@s/a", Some("2")));
        assert_eq!(parted("a"), ("a", None));
    }
}
