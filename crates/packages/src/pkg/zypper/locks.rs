//! Locks of zypper: packages that stay as they are.

use halite_call::Call;
use halite_proto::{Map, Value};

use super::{Before, run, xml};
use crate::pkg::error::PkgError;
use crate::pkg::holds::{Wording, hold_each};
use crate::pkg::lists;
use crate::pkg::rpm;
use crate::words;

const FILE: &str = "/etc/zypp/locks";

/// The function `pkg.list_locks`: the entries of zypper's file.
pub(in crate::pkg) fn list_locks(call: &Call<'_>) -> Map {
    let root = call
        .get("root")
        .filter(|root| root.is_true())
        .map(halite_call::python::str)
        .unwrap_or_default();
    let text = call
        .host()
        .read(format!("{}{FILE}", root.trim_end_matches('/')));
    let mut locks = Map::new();
    for block in text.split("\n\n") {
        let mut lock = Map::new();
        let fields = block.lines().filter(|line| !line.starts_with('#'));
        for (key, value) in fields.filter_map(|line| line.split_once(':')) {
            lock.insert(key.trim(), value.trim());
        }
        if let Some(Value::Str(name)) = lock.remove("solvable_name") {
            locks.insert(name, lock);
        }
    }
    locks
}

/// The function `pkg.clean_locks`: drops locks that mean nothing.
pub(in crate::pkg) fn clean_locks(call: &Call<'_>) -> Result<Map, PkgError> {
    if !call.host().path(FILE).exists() {
        return Ok(Map::from([("removed", 0)]));
    }
    let before = Before {
        xml: true,
        ..Before::default()
    };
    let ran = run(call, before, &words(&["cleanlocks"]))?;
    let removed = xml::elements(&ran.stdout).into_iter().find_map(|element| {
        let text = element.text.strip_prefix("Removed ")?;
        text.split(' ').next().map(str::to_owned)
    });
    Ok(Map::from([("removed", removed.unwrap_or_default())]))
}

/// The names of locked packages.
pub(super) fn held(call: &Call<'_>) -> Vec<String> {
    let locks = list_locks(call);
    locks.keys().map(halite_call::python::str).collect()
}

/// Locked packages with the versions that are installed.
pub(super) fn held_in_full(call: &Call<'_>) -> Result<Vec<String>, PkgError> {
    let installed = rpm::installed(call)?;
    Ok(held(call)
        .into_iter()
        .map(|name| match lists::versions(&installed, &name).first() {
            Some(version) if version.contains(':') => format!("{name}-{version}.*"),
            Some(version) => format!("{name}-0:{version}.*"),
            None => name,
        })
        .collect())
}

pub(super) fn hold(call: &Call<'_>, hold: bool, names: &[String]) -> Result<Map, PkgError> {
    let verb = if hold { "addlock" } else { "removelock" };
    let wording = Wording {
        held_already: "is already set to be held.",
        free_already: "was already unheld.",
    };
    hold_each(call, hold, names, &held(call), &wording, |name| {
        Ok(run(call, Before::default(), &words(&[verb, name])).is_ok())
    })
}
