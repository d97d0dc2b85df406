//! Runs one test program and checks what it leaves behind.
//!
//! Invariant: a program that crashed, hung or left processes behind has failed,
//! whatever it reported, and so has a test that was skipped where it may not be.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use halite_integration_tests::{end_marked, marked, until};
use halite_test_support::REPORT_FILE;
use tempfile::NamedTempFile;

use super::count::{Count, not_run, results};
use super::listed::{self, SKIPS, SKIPS_WITHOUT_ROOT, full_name};
use super::second_try::failed_names;
use super::somebody::Somebody;
use super::suites::Suite;
use crate::build::{Artifact, bin_dir, is_ci, root};
use crate::screen::{Style, paint};

/// How long one test program may run before it counts as hung.
const PROGRAM_DEADLINE: Duration = Duration::from_secs(20 * 60);

/// How long what a finished test program has started may take to end.
const GRACE: Duration = Duration::from_secs(10);

/// The exit code of a test program whose tests have failed.
const TESTS_FAILED: i32 = 101;

/// Marks everything that a suite starts, to find what it leaves behind.
pub(super) const MARK: &str = "HALITE_TEST_RUN";

/// Runs test programs.
pub(super) struct Runner<'a> {
    artifacts: &'a [Artifact],
    /// Also the tests of the long form.
    long: bool,
    /// The only tests that may be skipped; any may where this is `None`.
    may_skip: Option<BTreeMap<String, String>>,
    /// Who runs them, if not the caller.
    user: Option<Somebody>,
}

/// What a test program has come to.
pub(super) struct Outcome {
    pub(super) count: Count,
    /// The names of the tests that failed, where that is all that went wrong.
    pub(super) failed: Option<Vec<String>>,
}

impl<'a> Runner<'a> {
    pub(super) fn new(
        artifacts: &'a [Artifact],
        long: bool,
        user: Option<Somebody>,
    ) -> Result<Self> {
        let mut may_skip = is_ci().then(|| listed::read(SKIPS)).transpose()?;
        if let (Some(may_skip), Some(_)) = (&mut may_skip, &user) {
            may_skip.extend(listed::read(SKIPS_WITHOUT_ROOT)?);
        }
        Ok(Self {
            artifacts,
            long,
            may_skip,
            user,
        })
    }

    /// Runs a test program with these arguments.
    pub(super) fn run(
        &self,
        suite: Suite,
        program: &Artifact,
        words: &[String],
    ) -> Result<Outcome> {
        let output = NamedTempFile::new().context("no temporary file")?;
        let report = match &self.user {
            Some(user) => user.file()?,
            None => NamedTempFile::new().context("no temporary file")?,
        };
        // The file's name is that of no other program that runs meanwhile.
        let name = program.path.file_name().unwrap_or_default();
        let token = format!("{}-{}", std::process::id(), name.display());
        let mark = format!("{MARK}={token}");
        let mut command = self.command(suite, program, &output)?;
        command
            .args(words)
            .env(REPORT_FILE, report.path())
            .env(MARK, &token);
        if let Some(user) = &self.user {
            user.run(&mut command);
        }
        let ended = wait(command, &mark)?;
        let text = String::from_utf8_lossy(&fs::read(output.path())?).into_owned();
        let mut outcome = judge(program, ended, &text);
        let left = left_behind(&mark);
        if !left.is_empty() {
            outcome.count.failed += 1;
            outcome.failed = None;
            let label = label(program);
            complain(&format!(
                "{label} left processes behind: {}",
                left.join(", ")
            ));
        }
        if outcome.count.failed > 0 {
            // In one go: another program may have something to say.
            let head = paint(Style::Bad, &format!("--- {}", label(program)));
            println!("{head}\n{}", text.trim_end());
        }
        let report = fs::read(report.path())?;
        self.count_skipped(program, &String::from_utf8_lossy(&report), &mut outcome);
        Ok(outcome)
    }

    fn command(&self, suite: Suite, program: &Artifact, output: &NamedTempFile) -> Result<Command> {
        let written = output.reopen()?;
        let (program, root) = match &self.user {
            Some(user) => (user.program(program)?, user.root()),
            None => (program.clone(), root().to_owned()),
        };
        let mut command = Command::new(&program.path);
        command
            .current_dir(&program.package_dir)
            .env("CARGO_MANIFEST_DIR", &program.package_dir)
            .env("CARGO_PKG_NAME", &program.package)
            .env("INSTA_WORKSPACE_ROOT", root)
            .env("INSTA_UPDATE", "no")
            .env("RUST_LIB_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(written.try_clone()?)
            .stderr(written);
        if suite.runs_daemons() {
            let bin_dir = match &self.user {
                Some(user) => user.bin_dir(),
                None => bin_dir(self.artifacts)?,
            };
            command
                .env("HALITE_BIN_DIR", bin_dir)
                .env("RUST_TEST_THREADS", threads().to_string());
        }
        if self.long {
            command.arg("--include-ignored");
        }
        Ok(command)
    }

    /// Takes the tests that reported that they could not run out of those that
    /// passed.
    fn count_skipped(&self, program: &Artifact, report: &str, outcome: &mut Outcome) {
        for (test, missing) in not_run(report) {
            println!("  not run: {test}: {missing}");
            // One that failed after it had reported has failed.
            let failed = outcome.failed.as_ref();
            if failed.is_some_and(|failed| failed.contains(&test)) {
                continue;
            }
            outcome.count.skip();
            let name = full_name(program, &test);
            let may_skip = self.may_skip.as_ref();
            if may_skip.is_some_and(|listed| !listed::may_skip(listed, &name, &missing)) {
                outcome.count.skipped -= 1;
                outcome.count.failed += 1;
                outcome.failed = None;
                complain(&format!(
                    "{name} may not be skipped with CI=true for this reason: `cargo xtask \
                     provide` installs what tests need; what cannot be had there is listed \
                     in {SKIPS}"
                ));
            }
        }
    }
}

fn label(program: &Artifact) -> String {
    format!("{} {}", program.package, program.target)
}

fn complain(text: &str) {
    println!("{}", paint(Style::Bad, text));
}

/// What the output and the end of a program say about its tests.
fn judge(program: &Artifact, ended: Option<ExitStatus>, text: &str) -> Outcome {
    let mut count = results(text, ended.is_some_and(|status| status.success()));
    if !ended.is_some_and(|status| status.success()) {
        count.failed = count.failed.max(1);
    }
    if ended.is_none() {
        let seconds = PROGRAM_DEADLINE.as_secs();
        complain(&format!("{}: no end within {seconds} s", label(program)));
    }
    // A program that crashed has more to say than the names of its tests.
    let failed = match ended.and_then(|status| status.code()) {
        Some(TESTS_FAILED) => failed_names(text, count.failed),
        _ => None,
    };
    Outcome { count, failed }
}

/// How the program ended; nothing if it did not end.
fn wait(mut command: Command, mark: &str) -> Result<Option<ExitStatus>> {
    let mut child = command.spawn().context("could not start a test program")?;
    match until("a test program", PROGRAM_DEADLINE, || Ok(child.try_wait()?)) {
        Ok(status) => Ok(Some(status)),
        Err(_) => {
            end_marked(mark);
            child.wait()?;
            Ok(None)
        }
    }
}

/// Waits for the end of what a program has started, and ends what does not.
fn left_behind(mark: &str) -> Vec<String> {
    let gone = until("the end of what it started", GRACE, || {
        Ok(marked(mark).is_empty().then_some(()))
    });
    gone.map_or_else(|_| end_marked(mark), |()| Vec::new())
}

/// Tests with daemons mostly wait, so there are more of them than processors.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, |count| count.get() * 2)
}
