//! Packages that stay at their version: dnf's `versionlock`.

use halite_modules::Call;
use halite_proto::{Map, Value};

use super::{run, words};
use crate::pkg::error::PkgError;

/// The name of the package in a line of the list of locks:
/// `[epoch:]name-[epoch:]version-release.arch`, or dnf5's `Package name: x`.
fn name_of(line: &str) -> Option<&str> {
    let line = line.trim();
    if let Some(name) = line.strip_prefix("Package name:") {
        return Some(name.trim());
    }
    let without = line
        .trim_end_matches(".*")
        .rsplit_once('-')
        .and_then(|(rest, _)| rest.rsplit_once('-'));
    let (name, _) = without.filter(|(name, _)| !name.contains(' '))?;
    Some(name.rsplit_once(':').map_or(name, |(_, name)| name))
}

/// The lines of the list of locks.
pub(super) fn lines(call: &Call<'_>) -> Result<Vec<String>, PkgError> {
    let ran = run(call, &words(&["versionlock", "list"]), false)?;
    let lines = ran.stdout.lines().map(str::trim);
    Ok(lines
        .filter(|line| name_of(line).is_some())
        .map(str::to_owned)
        .collect())
}

/// The names of locked packages.
pub(super) fn held(call: &Call<'_>) -> Result<Vec<String>, PkgError> {
    let mut names: Vec<String> = Vec::new();
    for name in lines(call)?.iter().filter_map(|line| name_of(line)) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// Locks or unlocks; a result for each.
pub(super) fn hold(call: &Call<'_>, hold: bool, names: &[String]) -> Result<Map, PkgError> {
    let verb = if hold { "add" } else { "delete" };
    let wording = Wording {
        held_already: "is already set to be held.",
        free_already: "is not being held.",
    };
    hold_each(call, hold, names, &held(call)?, &wording, |name| {
        Ok(run(call, &words(&["versionlock", verb, name]), false)?.ok())
    })
}

/// What is said where there is nothing to do.
pub(crate) struct Wording {
    pub(crate) held_already: &'static str,
    pub(crate) free_already: &'static str,
}

/// Carries out `change` for each package that is not yet as wanted.
pub(crate) fn hold_each(
    call: &Call<'_>,
    hold: bool,
    names: &[String],
    held: &[String],
    wording: &Wording,
    mut change: impl FnMut(&str) -> Result<bool, PkgError>,
) -> Result<Map, PkgError> {
    let un = if hold { "" } else { "un" };
    let mut results = Map::new();
    for name in names {
        let (mut result, mut changes) = (Value::from(true), Map::new());
        let comment = if held.contains(name) == hold {
            let said = if hold {
                wording.held_already
            } else {
                wording.free_already
            };
            format!("Package {name} {said}")
        } else if call.is_test() {
            result = Value::Nil;
            format!("Package {name} is set to be {un}held.")
        } else if change(name)? {
            let (new, old) = if hold { ("hold", "") } else { ("", "hold") };
            changes = Map::from([("new", new), ("old", old)]);
            let now = if hold {
                "now being held"
            } else {
                "no longer held"
            };
            format!("Package {name} is {now}.")
        } else {
            result = false.into();
            format!("Package {name} was unable to be {un}held.")
        };
        let entry = Map::from([
            ("name", Value::from(name.as_str())),
            ("changes", changes.into()),
            ("result", result),
            ("comment", comment.into()),
        ]);
        results.insert(name.as_str(), entry);
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::name_of;

    #[test]
    fn names_of_locks_are_read() {
        assert_eq!(name_of("pear-0:1.0-1.*"), Some("pear"));
        assert_eq!(name_of("0:a-b-1.0-1.el9.*"), Some("a-b"));
        assert_eq!(name_of("Package name: vim"), Some("vim"));
        assert_eq!(name_of("Last metadata expiration check: 0:00:01"), None);
    }
}
