//! `cargo xtask test`: builds everything once, runs every test, and says in
//! one line per suite what came of it.
//!
//! Invariant: the last line is `N passed, N failed`, and the exit code is 0
//! only if nothing failed. A test program that does not report its results
//! (it crashed, or hung) counts as a failure, and so do processes that a suite
//! leaves behind. Tests that fail have a second try (`second_try`).

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use halite_integration_tests::{end_marked, marked, until};

use crate::build::{Artifact, bin_dir, build, features, root};
use crate::peers;
use crate::screen::{Style, paint};
use crate::second_try::{UNSTEADY_MAX, failed_names};
use crate::suites::Suite;

/// How long one test program may run before it counts as hung.
const PROGRAM_DEADLINE: Duration = Duration::from_secs(20 * 60);

/// How long what a finished test program has started may take to end.
const GRACE: Duration = Duration::from_secs(10);

/// The exit code of a test program whose tests have failed.
const TESTS_FAILED: i32 = 101;

/// How a test says that it cannot be run on this machine, and why.
const NOT_RUN: &str = "not run: ";

/// Marks everything that a suite starts, to find what it leaves behind.
const MARK: &str = "HALITE_TEST_RUN";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also the tests that take long, and the release of Salt between the two
    #[arg(long)]
    long: bool,
    /// One suite instead of all; may be given several times
    #[arg(long, value_enum, value_name = "SUITE")]
    only: Vec<Suite>,
    /// Only the tests whose names hold this text
    #[arg(value_name = "NAME")]
    filter: Option<String>,
}

/// Results of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    passed: u32,
    failed: u32,
    ignored: u32,
}

impl Count {
    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }

    /// Takes this many that passed for failed.
    fn fail(&mut self, count: usize) {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.passed = self.passed.saturating_sub(count);
        self.failed = self.failed.saturating_add(count);
    }

    fn summary(self) -> String {
        format!("{} passed, {} failed", self.passed, self.failed)
    }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    end_interrupted()?;
    let suites: Vec<Suite> = Suite::ALL
        .into_iter()
        .filter(|suite| args.only.is_empty() || args.only.contains(suite))
        .collect();
    if suites.iter().any(|suite| suite.needs_peers(args.long)) {
        peers::provide(&peers::releases(args.long))?;
    }
    let artifacts = build_for(&suites)?;
    let mut lines = Vec::new();
    let mut total = Count::default();
    let mut unsteady = Vec::new();
    for suite in suites {
        let count = run_suite(suite, &artifacts, args, &mut unsteady)?;
        lines.push(format!("{}: {}", suite.name(), count.summary()));
        total.add(count);
    }
    for name in &unsteady {
        lines.push(format!("unsteady (failed, then passed alone): {name}"));
    }
    if unsteady.len() > UNSTEADY_MAX {
        lines.push(format!(
            "more than {UNSTEADY_MAX} tests are unsteady: they count as failed"
        ));
        total.fail(unsteady.len());
    }
    println!("\n{}\n{}", lines.join("\n"), total.summary());
    Ok(if total.failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Ends what a run that was interrupted has left behind: processes with the
/// mark of a run that is no more.
fn end_interrupted() -> Result<()> {
    for entry in fs::read_dir("/proc")?.flatten() {
        let Ok(environ) = fs::read(entry.path().join("environ")) else {
            continue;
        };
        let environ = String::from_utf8_lossy(&environ);
        let Some(mark) = environ
            .split('\0')
            .find(|variable| variable.starts_with(MARK))
        else {
            continue;
        };
        let run = mark.split(['=', '-']).nth(1).unwrap_or_default();
        if !Path::new("/proc").join(run).exists() {
            end_marked(mark);
        }
    }
    Ok(())
}

/// Builds the programs, and the tests of the suites.
fn build_for(suites: &[Suite]) -> Result<Vec<Artifact>> {
    let mut args = vec!["--bins", "--tests", "--lib"];
    if suites.iter().all(|suite| suite.runs_daemons()) {
        args.extend(["-p", "halite", "-p", "halite-integration-tests"]);
    } else {
        args.push("--workspace");
    }
    args.extend(features());
    build(&args)
}

fn run_suite(
    suite: Suite,
    artifacts: &[Artifact],
    args: &Args,
    unsteady: &mut Vec<String>,
) -> Result<Count> {
    let begun = Instant::now();
    let programs: Vec<&Artifact> = artifacts
        .iter()
        .filter(|artifact| artifact.is_test && Suite::of(artifact) == suite)
        .collect();
    println!(
        "{}",
        paint(
            Style::Bold,
            &format!("{}: {} test programs", suite.name(), programs.len())
        )
    );
    if programs.is_empty() {
        bail!("the suite {} has no tests", suite.name());
    }
    let mut count = Count::default();
    for program in programs {
        let wanted: Vec<String> = args.filter.iter().cloned().collect();
        let first = run_program(suite, program, artifacts, args.long, &wanted)?;
        count.add(first.count);
        let Some(names) = first.failed else { continue };
        println!(
            "  {} once more, alone: {}",
            program.target,
            names.join(", ")
        );
        let alone = ["--exact", "--test-threads=1"].map(str::to_owned);
        let again: Vec<String> = names.iter().cloned().chain(alone).collect();
        let second = run_program(suite, program, artifacts, args.long, &again)?;
        if second.count.failed == 0 && second.count.passed == first.count.failed {
            count.passed += second.count.passed;
            count.failed -= first.count.failed;
            unsteady.extend(names);
        }
    }
    if count.ignored > 0 {
        println!("  {} belong to the long form (--long)", count.ignored);
    }
    let style = if count.failed == 0 {
        Style::Good
    } else {
        Style::Bad
    };
    let done = format!(
        "  {} passed and {} failed in {:.1} s",
        count.passed,
        count.failed,
        begun.elapsed().as_secs_f64()
    );
    println!("{}", paint(style, &done));
    Ok(count)
}

/// What a test program has come to.
struct Outcome {
    count: Count,
    /// The names of the tests that failed, where that is all that went wrong.
    failed: Option<Vec<String>>,
}

fn run_program(
    suite: Suite,
    program: &Artifact,
    artifacts: &[Artifact],
    long: bool,
    words: &[String],
) -> Result<Outcome> {
    let output = tempfile::NamedTempFile::new().context("no temporary file")?;
    let written = output.reopen()?;
    let token = format!("{}-{}", std::process::id(), program.target);
    let mark = format!("{MARK}={token}");
    let mut command = Command::new(&program.path);
    command
        .current_dir(&program.package_dir)
        .env("CARGO_MANIFEST_DIR", &program.package_dir)
        .env("CARGO_PKG_NAME", &program.package)
        .env("INSTA_WORKSPACE_ROOT", root())
        .env("INSTA_UPDATE", "no")
        .env("RUST_LIB_BACKTRACE", "0")
        .env(MARK, &token)
        .stdin(Stdio::null())
        .stdout(written.try_clone()?)
        .stderr(written);
    if suite.runs_daemons() {
        command
            .env("HALITE_BIN_DIR", bin_dir(artifacts)?)
            .env("RUST_TEST_THREADS", threads().to_string());
    }
    if long {
        command.arg("--include-ignored");
    }
    command.args(words);
    let ended = wait(command, &mark)?;
    let text = String::from_utf8_lossy(&fs::read(output.path())?).into_owned();
    for line in text.lines().filter(|line| line.starts_with(NOT_RUN)) {
        println!("  {line}");
    }
    let mut count = results(&text, ended.is_some_and(|status| status.success()));
    // A program that crashed has more to say than the names of its tests.
    let code = ended.and_then(|status| status.code());
    let mut failed = match code {
        Some(TESTS_FAILED) => failed_names(&text, count.failed),
        _ => None,
    };
    let label = format!("{} {}", program.package, program.target);
    match ended {
        None => {
            count.failed = count.failed.max(1);
            failed = None;
            println!(
                "{}",
                paint(
                    Style::Bad,
                    &format!("{label}: no end within {} s", PROGRAM_DEADLINE.as_secs())
                )
            );
        }
        Some(status) if status.success() => {}
        Some(_) => count.failed = count.failed.max(1),
    }
    let gone = until("the end of what it started", GRACE, || {
        Ok(marked(&mark).is_empty().then_some(()))
    });
    let left = gone.map_or_else(|_| end_marked(&mark), |()| Vec::new());
    if !left.is_empty() {
        count.failed += 1;
        failed = None;
        println!(
            "{}",
            paint(
                Style::Bad,
                &format!("{label} left processes behind: {}", left.join(", "))
            )
        );
    }
    if count.failed > 0 {
        println!(
            "{}\n{}",
            paint(Style::Bad, &format!("--- {label}")),
            text.trim_end()
        );
    }
    Ok(Outcome { count, failed })
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

/// Tests with daemons mostly wait, so there are more of them than processors.
fn threads() -> usize {
    std::thread::available_parallelism()
        .map_or(2, |count| count.get() * 3 / 2)
        .max(2)
}

/// What a test program has come to. One that is no collection of tests says
/// it all with its exit code; a collection that does not report has crashed.
fn results(text: &str, ended_well: bool) -> Count {
    let is_collection = text.lines().any(|line| line.starts_with("running "));
    parse(text).unwrap_or_else(|| {
        let passed = ended_well && !is_collection;
        Count {
            passed: passed.into(),
            failed: (!passed).into(),
            ignored: 0,
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
        ignored: number(" ignored;")?,
    })
}

#[cfg(test)]
mod tests {
    use super::{Count, results};

    const LINE: &str = "running 13 tests\ntest a ... ok\n\ntest result: FAILED. 10 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n";

    fn count(passed: u32, failed: u32, ignored: u32) -> Count {
        Count {
            passed,
            failed,
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
}
