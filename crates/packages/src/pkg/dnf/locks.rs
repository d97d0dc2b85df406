//! Packages locked to their version: dnf's `versionlock`.

use halite_call::Call;
use halite_proto::Map;

use super::run;
use crate::pkg::error::PkgError;
use crate::pkg::holds::{Wording, hold_each};
use crate::words;

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
