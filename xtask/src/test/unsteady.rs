//! What becomes of tests that are unsteady: that failed beside others and
//! passed alone (`super::second_try`).
//!
//! The rule, and why it is this one:
//!
//! 1. A test that is unsteady for the first time does not fail the run. With
//!    some thousand tests on a machine that others use too, some test meets a
//!    stall every now and then; a run that fails for that says nothing about
//!    the change. Its name, and what to do, stand above the last line, and the
//!    name is remembered in the cache directory for a month.
//! 2. A test that is unsteady again fails the run. Twice the same name in a
//!    month is not chance. *Again* means: it is remembered, or it is on the
//!    committed list `xtask/unsteady.txt`, which holds every test that was
//!    unsteady, with the cause that was found and the mend.
//! 3. More than a few in one run fail it: something is wrong that is more than
//!    a slow machine.
//!
//! So who sees a new name looks for the cause and commits both mend and line.
//! Who does nothing has a run that fails when the test comes again.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context, Result};

use super::listed::{self, UNSTEADY};
use super::second_try::UNSTEADY_MAX;

/// How long a name is remembered.
const REMEMBERED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The most names that are remembered; the oldest make room.
const NAMES_MAX: usize = 1000;

/// What is to be said about the unsteady tests of a run, and how many of them
/// count as failed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) lines: Vec<String>,
    pub(super) failed: usize,
}

/// Judges the unsteady tests of a run, and remembers them.
pub(super) fn judge(names: &[String]) -> Result<Verdict> {
    if names.is_empty() {
        return Ok(Verdict::default());
    }
    let listed = listed::read(UNSTEADY)?;
    let path = halite_integration_tests::cache_dir()?.join("unsteady");
    let now = UNIX_EPOCH.elapsed()?.as_secs();
    let mut seen = seen(&fs::read_to_string(&path).unwrap_or_default(), now);
    let verdict = verdict(names, &listed, &seen, now);
    seen.extend(names.iter().map(|name| (name.clone(), now)));
    remember(&path, seen)?;
    Ok(verdict)
}

fn verdict(
    names: &[String],
    listed: &BTreeMap<String, String>,
    seen: &BTreeMap<String, u64>,
    now: u64,
) -> Verdict {
    let mut verdict = Verdict::default();
    for name in names {
        let what = if let Some(cause) = listed.get(name) {
            verdict.failed += 1;
            format!("counts as failed: {UNSTEADY} says that it is mended ({cause}); look again")
        } else if let Some(when) = seen.get(name) {
            verdict.failed += 1;
            let days = now.saturating_sub(*when) / (24 * 60 * 60);
            format!(
                "counts as failed: it was unsteady {days} days ago too; find the cause, mend it and add a line to {UNSTEADY}"
            )
        } else {
            format!("find the cause, mend it and add `{name}: CAUSE` to {UNSTEADY}")
        };
        verdict.lines.push(format!(
            "unsteady (failed, then passed alone): {name}: {what}"
        ));
    }
    if names.len() > UNSTEADY_MAX {
        verdict.failed = names.len();
        verdict.lines.push(format!(
            "more than {UNSTEADY_MAX} tests are unsteady: all of them count as failed"
        ));
    }
    verdict
}

/// The names in the file of the cache directory that are not too old, each with
/// when it was last seen.
fn seen(text: &str, now: u64) -> BTreeMap<String, u64> {
    let lines = text.lines().filter_map(|line| {
        let (when, name) = line.split_once(' ')?;
        Some((name.to_owned(), when.parse().ok()?))
    });
    lines
        .filter(|(_, when)| now.saturating_sub(*when) < REMEMBERED.as_secs())
        .collect()
}

fn remember(path: &PathBuf, seen: BTreeMap<String, u64>) -> Result<()> {
    let mut lines: Vec<(u64, String)> = seen.into_iter().map(|(name, when)| (when, name)).collect();
    lines.sort();
    let text: String = lines
        .iter()
        .skip(lines.len().saturating_sub(NAMES_MAX))
        .map(|(when, name)| format!("{when} {name}\n"))
        .collect();
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    fs::write(path, text).with_context(|| format!("could not write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{REMEMBERED, remember, seen, verdict};

    const NOW: u64 = 1_800_000_000;

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|n| format!("p/t/test{n}")).collect()
    }

    fn failed(listed: &[&str], seen: &[&str], names: &[String]) -> usize {
        let pair = |name: &&str| ((*name).to_owned(), "cause".to_owned());
        let listed: BTreeMap<_, _> = listed.iter().map(pair).collect();
        let seen = seen.iter().map(|name| ((*name).to_owned(), NOW)).collect();
        verdict(names, &listed, &seen, NOW).failed
    }

    #[test]
    fn once_is_said_and_twice_fails() {
        assert_eq!(failed(&[], &[], &names(1)), 0);
        assert_eq!(failed(&[], &["p/t/test0"], &names(1)), 1);
        assert_eq!(failed(&["p/t/test0"], &[], &names(1)), 1);
        assert_eq!(failed(&["p/t/other"], &["p/t/test1"], &names(2)), 1);
        let new = verdict(&names(1), &BTreeMap::new(), &BTreeMap::new(), NOW);
        assert!(new.lines[0].contains("add `p/t/test0: CAUSE`"), "{new:?}");
    }

    #[test]
    fn many_at_once_fail() {
        assert_eq!(failed(&[], &[], &names(3)), 0);
        assert_eq!(failed(&[], &[], &names(4)), 4);
    }

    #[test]
    fn names_are_remembered_for_a_month() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cache/unsteady");
        let old = NOW - REMEMBERED.as_secs();
        let all = BTreeMap::from([("p/t/a b".to_owned(), NOW), ("p/t/c".to_owned(), old)]);
        remember(&path, all).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let found = seen(&text, NOW);
        assert_eq!(found, BTreeMap::from([("p/t/a b".to_owned(), NOW)]));
        assert!(seen("rubbish\nx y\n", NOW).is_empty());
    }
}
