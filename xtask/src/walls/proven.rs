//! The proofs of `SECURITY.md`: each row of its table names some, and each test,
//! file and directory that it names exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::build::root;
use crate::test::Suite;

const PAGE: &str = "SECURITY.md";

/// Where tests are.
const ROOTS: [&str; 2] = ["crates", "integration-tests"];

/// What a path on the page begins with.
const PATHS: [&str; 4] = ["crates/", "docs/", "integration-tests/", "xtask/"];

/// Lines between the attribute that makes a function a test and its name.
const ATTRIBUTES_MAX: usize = 6;

pub(super) fn check() -> Result<Vec<String>> {
    let text = fs::read_to_string(root().join(PAGE)).with_context(|| PAGE.to_owned())?;
    let mut tests = BTreeSet::new();
    for dir in ROOTS {
        collect(&root().join(dir), &mut tests)?;
    }
    Ok(complaints(&text, &tests, |path| root().join(path).exists()))
}

/// The names of all tests in the Rust files below a directory.
fn collect(dir: &Path, tests: &mut BTreeSet<String>) -> Result<()> {
    let entries = fs::read_dir(dir).with_context(|| dir.display().to_string())?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, tests)?;
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            tests.extend(tests_in(&text));
        }
    }
    Ok(())
}

fn tests_in(text: &str) -> Vec<String> {
    // The macro makes tests of functions that have no attribute.
    let all = text.contains("for_each_salt!");
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let line = line.strip_prefix("async ").unwrap_or(line);
        let name = line
            .strip_prefix("fn ")
            .and_then(|rest| rest.split('(').next());
        let Some(name) = name else { continue };
        let above = lines[at.saturating_sub(ATTRIBUTES_MAX)..at].iter().rev();
        let mut above = above.take_while(|line| !line.is_empty() && **line != "}");
        if all || above.any(|line| line.starts_with("#[") && line.contains("test")) {
            found.push(name.to_owned());
        }
    }
    found
}

fn complaints(
    text: &str,
    tests: &BTreeSet<String>,
    is_there: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut complaints = Vec::new();
    // What was measured proves itself.
    let is_defence = |line: &&str| !line.starts_with("<!-- begin:");
    for (number, line) in (1..).zip(text.lines().take_while(is_defence)) {
        let Some(row) = line.strip_prefix("| ") else {
            continue;
        };
        let Some(proof) = row.trim_end_matches(" |").split(" | ").nth(2) else {
            continue;
        };
        let words: Vec<&str> = proof.split('`').skip(1).step_by(2).collect();
        let is_path = |word: &str| PATHS.iter().any(|start| word.starts_with(start));
        let is_test = |word: &str| !word.contains(['/', '-', ':']) && word.matches('_').count() > 1;
        let suites = proof.split("suite `").skip(1);
        let suites: Vec<&str> = suites.filter_map(|rest| rest.split('`').next()).collect();
        for suite in &suites {
            if <Suite as ValueEnum>::from_str(suite, false).is_err() {
                complaints.push(format!("{PAGE}:{number}: there is no suite {suite}"));
            }
        }
        let is_suite = !suites.is_empty();
        if number > 1 && proof != "proven by" && !is_suite {
            let proves = |word: &&str| is_path(word) || is_test(word);
            if !words.iter().any(proves) {
                complaints.push(format!("{PAGE}:{number}: nothing proves this row"));
            }
        }
        for word in words {
            let is_known = match is_path(word) {
                true => is_there(word),
                false => !is_test(word) || tests.contains(word),
            };
            if !is_known {
                complaints.push(format!("{PAGE}:{number}: there is no {word}"));
            }
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{complaints, tests_in};

    #[test]
    fn tests_are_told_from_other_functions() {
        let text = "#[test]\nfn a_b_c() {}\n\nfn a_b_d() {}\n\n\
            /// Words.\n#[tokio::test]\nasync fn a_b_e() {}\n";
        assert_eq!(tests_in(text), ["a_b_c", "a_b_e"]);
        let text = "for_each_salt! {\n    fn a_b_f(salt) {}\n}\n";
        assert_eq!(tests_in(text), ["a_b_f"]);
    }

    #[test]
    fn a_row_is_proven_by_what_is_there() {
        let tests = BTreeSet::from(["a_b_c".to_owned()]);
        let of = |proof: &str| {
            let page =
                format!("| elsewhere | here | proven by |\n|---|---|---|\n| a | b | {proof} |\n");
            complaints(&page, &tests, |path| path == "crates/a").len()
        };
        assert_eq!(of("`a_b_c` (`crates/a`)"), 0);
        assert_eq!(of("suite `rest-api`"), 0);
        assert_eq!(of("suite `rest`"), 1);
        assert_eq!(of("`a_b_d`"), 1);
        assert_eq!(of("`crates/b`"), 1);
        assert_eq!(of("the reader's faith"), 1);
    }
}
