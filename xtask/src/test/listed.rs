//! The committed lists of tests, a line each: `PACKAGE/TARGET/TEST: TEXT`.
//!
//! `xtask/skips.txt` names the tests that may be skipped with `CI=true`, each with the
//! reason that it must report ([`may_skip`]), and `xtask/skips_without_root.txt` those
//! that may be skipped for users other than root. `xtask/unsteady.txt` names those that
//! have been unsteady, each with the cause that was found (`super::unsteady`).

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, bail};

use crate::build::{Artifact, root};

/// The tests that may be skipped with `CI=true`.
pub(super) const SKIPS: &str = "xtask/skips.txt";

/// The tests that may be skipped besides where another user than root runs them.
pub(super) const SKIPS_WITHOUT_ROOT: &str = "xtask/skips_without_root.txt";

/// The tests that have been unsteady, and what was done about it.
pub(super) const UNSTEADY: &str = "xtask/unsteady.txt";

/// The name of a test in the lists.
pub(super) fn full_name(program: &Artifact, test: &str) -> String {
    format!("{}/{}/{test}", program.package, program.target)
}

/// Whether a test may be skipped for the reason that it has reported. A test that is
/// listed for one reason is not skipped for another, such as a program that is missing.
pub(super) fn may_skip(listed: &BTreeMap<String, String>, name: &str, reported: &str) -> bool {
    listed
        .get(name)
        .is_some_and(|cause| reported.starts_with(cause.as_str()))
}

/// Reads a list: names of tests with the text of each.
pub(super) fn read(list: &str) -> Result<BTreeMap<String, String>> {
    let path = root().join(list);
    let text = fs::read_to_string(&path).with_context(|| format!("could not read {list}"))?;
    parse(list, &text)
}

fn parse(list: &str, text: &str) -> Result<BTreeMap<String, String>> {
    let mut entries = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let parts = line.split_once(": ");
        let Some((name, why)) = parts.filter(|(name, _)| name.split('/').count() == 3) else {
            bail!("{list}:{number}: expected `PACKAGE/TARGET/TEST: TEXT`");
        };
        entries.insert(name.to_owned(), why.trim().to_owned());
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{SKIPS, SKIPS_WITHOUT_ROOT, UNSTEADY, may_skip, parse, read};
    use crate::build::root;

    #[test]
    fn a_line_is_a_test_and_a_reason() {
        let list = parse("l", "# c\n\nhalite-a/b/c::d: why: so\n").unwrap();
        assert_eq!(list["halite-a/b/c::d"], "why: so");
        for bad in ["a/b/c", "a/b: why", "a/b/c:why"] {
            let error = parse("l", bad).unwrap_err().to_string();
            assert!(error.starts_with("l:1: "), "{error}");
        }
    }

    #[test]
    fn a_test_is_skipped_for_its_own_reason_only() {
        let list = parse("l", "a/b/c: no namespaces\n").unwrap();
        assert!(may_skip(&list, "a/b/c", "no namespaces (`x` fails)"));
        assert!(!may_skip(&list, "a/b/c", "git not installed"));
        assert!(!may_skip(&list, "a/b/d", "no namespaces"));
    }

    /// A test that was renamed or removed leaves its line behind otherwise.
    #[test]
    fn what_is_listed_exists() {
        for list in [SKIPS, SKIPS_WITHOUT_ROOT, UNSTEADY] {
            for name in read(list).unwrap().keys() {
                let (package, rest) = name.split_once('/').unwrap();
                let (_, test) = rest.split_once('/').unwrap();
                let short = package.strip_prefix("halite-").unwrap_or(package);
                let dir = match short {
                    "integration-tests" => root().join(short),
                    _ => root().join("crates").join(short),
                };
                let function = test.rsplit("::").next().unwrap();
                assert!(names(&dir, function), "{list}: there is no test {name}");
            }
        }
    }

    fn names(dir: &Path, function: &str) -> bool {
        let Ok(entries) = fs::read_dir(dir) else {
            return false;
        };
        entries.flatten().any(|entry| {
            let path = entry.path();
            if path.is_dir() {
                return names(&path, function);
            }
            path.extension().is_some_and(|ext| ext == "rs")
                && fs::read_to_string(&path).is_ok_and(|text| text.contains(function))
        })
    }
}
