//! Counts the results in the output of a test program.
//!
//! Invariant: a test that reported that it could not run is not counted as passed,
//! although libtest takes it for passed.

use std::collections::BTreeMap;

use halite_test_support::PREFIX;

/// Results of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) passed: u32,
    pub(super) failed: u32,
    pub(super) skipped: u32,
    /// Part of the long form, which was not asked for.
    pub(super) ignored: u32,
}

impl Count {
    pub(super) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.ignored += other.ignored;
    }

    /// Counts tests that passed as failed.
    pub(super) fn fail(&mut self, count: usize) {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.passed = self.passed.saturating_sub(count);
        self.failed = self.failed.saturating_add(count);
    }

    /// Counts a test that libtest took for passed as skipped.
    pub(super) fn skip(&mut self) {
        self.passed = self.passed.saturating_sub(1);
        self.skipped += 1;
    }

    pub(super) fn summary(self) -> String {
        format!(
            "{} passed, {} failed, {} skipped",
            self.passed, self.failed, self.skipped
        )
    }
}

/// The results of a test program. One that is no collection of tests reports
/// with its exit code alone; a collection without a result has crashed.
pub(super) fn results(text: &str, ended_well: bool) -> Count {
    let is_collection = text.lines().any(|line| line.starts_with("running "));
    parse(text).unwrap_or_else(|| {
        let passed = ended_well && !is_collection;
        Count {
            passed: passed.into(),
            failed: (!passed).into(),
            ..Count::default()
        }
    })
}

/// The counts in the last line of a test program.
fn parse(text: &str) -> Option<Count> {
    let line = text
        .lines()
        .rev()
        .find(|line| line.starts_with("test result: "))?;
    let number = |label: &str| {
        let before = line.split(label).next()?;
        before.split_ascii_whitespace().next_back()?.parse().ok()
    };
    Some(Count {
        passed: number(" passed;")?,
        failed: number(" failed;")?,
        skipped: 0,
        ignored: number(" ignored;")?,
    })
}

/// The tests that could not run, each with what was missing, from the lines
/// that they have written into the report file.
pub(super) fn not_run(report: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for line in report.lines().filter_map(|line| line.strip_prefix(PREFIX)) {
        let (test, missing) = line.split_once(": ").unwrap_or((line, "no reason given"));
        found
            .entry(test.to_owned())
            .or_insert_with(|| missing.to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Count, not_run, results};

    const LINE: &str = "running 13 tests\ntest a ... ok\n\ntest result: FAILED. 10 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n";

    fn count(passed: u32, failed: u32, ignored: u32) -> Count {
        Count {
            passed,
            failed,
            skipped: 0,
            ignored,
        }
    }

    #[test]
    fn the_last_line_of_a_test_program_is_understood() {
        assert_eq!(results(LINE, false), count(10, 2, 1));
    }

    #[test]
    fn silence_is_no_success() {
        assert_eq!(
            results("running 3 tests\ntest a ... ", true),
            count(0, 1, 0)
        );
        assert_eq!(
            results("thread main has overflowed its stack", false),
            count(0, 1, 0)
        );
        assert_eq!(results("4 daemon tests passed", true), count(1, 0, 0));
    }

    #[test]
    fn what_could_not_run_has_not_passed() {
        let report = "not run: a::b: zsh not installed\nnot run: a::b: again\nnot run: c: no: d\n";
        let found = not_run(report);
        assert_eq!(found.len(), 2);
        assert_eq!(found["a::b"], "zsh not installed");
        assert_eq!(found["c"], "no: d");
        let mut count = results(LINE, false);
        for _ in &found {
            count.skip();
        }
        assert_eq!(count.summary(), "8 passed, 2 failed, 2 skipped");
    }
}
