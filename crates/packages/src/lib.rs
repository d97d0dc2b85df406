//! The functions and states of packages, repositories and source trees.
//!
//! Invariant: every change of the system is made by a program that
//! `halite_call::host` runs, or to a file below its root.

mod alternatives;
mod debconf;
mod gem;
mod git;
mod npm;
mod pkg;
mod python;
mod states;
mod time;

use halite_call::{Call, CallError, Module};

/// The execution modules.
pub const MODULES: &[Module] = &[
    alternatives::MODULE,
    debconf::MODULE,
    gem::MODULE,
    git::MODULE,
    pkg::low::MODULE,
    npm::MODULE,
    python::pip::MODULE,
    pkg::MODULE,
    pkg::resource::MODULE,
    python::virtualenv::MODULE,
];

/// The state modules.
pub const STATES: &[Module] = &[
    states::alternatives::MODULE,
    states::debconf::MODULE,
    states::gem::MODULE,
    states::git::MODULE,
    states::npm::MODULE,
    states::pip::MODULE,
    states::pkg::MODULE,
    states::pkgrepo::MODULE,
    states::virtualenv::MODULE,
];

/// What a command is put behind so that it outlives the minion's own unit,
/// which it may restart.
fn scope(call: &Call<'_>) -> &'static [&'static str] {
    let host = call.host();
    let wanted = call.opt("systemd.scope") != &halite_proto::Value::Bool(false);
    if wanted && host.path("/run/systemd/system").is_dir() && host.has("systemd-run") {
        &["systemd-run", "--scope", "--description", "pkg"]
    } else {
        &[]
    }
}

/// Words of a command line.
fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}

/// The arguments without a place, which may only be `names`.
///
/// # Errors
/// When another one is left.
fn only(call: &Call<'_>, names: &[&str]) -> Result<halite_proto::Map, CallError> {
    let kwargs = call.clean_kwargs();
    let wrong: Vec<String> = kwargs
        .iter()
        .filter(|(key, _)| !key.as_str().is_some_and(|key| names.contains(&key)))
        .map(|(key, value)| {
            format!(
                "{}={}",
                halite_call::python::str(key),
                halite_call::python::str(value)
            )
        })
        .collect();
    if wrong.is_empty() {
        return Ok(kwargs);
    }
    Err(CallError::invocation(format!(
        "The following keyword arguments are not valid: {}",
        wrong.join(", ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_sound() {
        assert_eq!(Module::faults(&[MODULES, STATES]), Vec::<String>::new());
    }
}
