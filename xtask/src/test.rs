//! `cargo xtask test`: builds everything once, runs every test, and prints one line
//! per suite with its result.
//!
//! Invariant: the last line is `N passed, N failed, N skipped`, and the exit code
//! is 0 only if nothing failed. A test program that does not report its results (it
//! crashed, or hung) counts as a failure, and so do processes that a suite leaves
//! behind. A test that could not run has not passed: it counts as skipped, and with
//! `CI=true` as failed unless it is listed. Failed tests are tried again
//! (`second_try`).

mod count;
mod listed;
mod program;
mod second_try;
mod somebody;
mod suites;
mod unsteady;

use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Result, anyhow, bail};
use halite_integration_tests::end_marked;

use crate::build::{Artifact, build, build_programs, features};
use crate::peers;
use crate::screen::{Style, paint};
use count::Count;
use program::{MARK, Outcome, Runner};
use somebody::Somebody;
pub(crate) use suites::Suite;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also the tests that take long, and the release of Salt between the two
    #[arg(long)]
    long: bool,
    /// One suite instead of all; may be given several times
    #[arg(long, value_enum, value_name = "SUITE")]
    only: Vec<Suite>,
    /// As another user, who runs copies of what was built; what needs root is
    /// skipped
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Only the tests whose names hold this text
    #[arg(value_name = "NAME")]
    filter: Option<String>,
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
    let user = args.user.as_deref();
    let user = user.map(|name| Somebody::new(name, &artifacts));
    let user = user.transpose()?;
    let runner = Runner::new(&artifacts, args.long, user)?;
    let mut lines = Vec::new();
    let mut total = Count::default();
    let mut unsteady = Vec::new();
    for suite in suites {
        let programs: Vec<&Artifact> = artifacts
            .iter()
            .filter(|artifact| artifact.is_test && Suite::of(artifact) == suite)
            .collect();
        let filter = args.filter.as_deref();
        let count = run_suite(&runner, suite, &programs, filter, &mut unsteady)?;
        lines.push(format!("{}: {}", suite.name(), count.summary()));
        total.add(count);
    }
    let verdict = unsteady::judge(&unsteady)?;
    total.fail(verdict.failed);
    lines.extend(verdict.lines);
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
    if suites.iter().all(|suite| suite.runs_daemons()) {
        let tests: Vec<String> = suites.iter().map(|suite| suite.target()).collect();
        let tests: Vec<&str> = tests.iter().map(String::as_str).collect();
        return build_programs(&tests, &[]);
    }
    let mut args = vec!["--workspace", "--bins", "--tests", "--lib"];
    args.extend(features());
    build(&args)
}

/// Runs each program once, and gives what has become of them, in their order. Those
/// without daemons run several at a time, more than there are processors: many wait for
/// a server, or for a limit.
fn first_tries(
    runner: &Runner<'_>,
    suite: Suite,
    programs: &[&Artifact],
    wanted: &[String],
) -> Result<Vec<Outcome>> {
    let at_once = match suite.runs_daemons() {
        true => 1,
        false => 2 * thread::available_parallelism().map_or(1, NonZero::get),
    };
    let next = AtomicUsize::new(0);
    let work = || {
        let mut outcomes = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(program) = programs.get(place) else {
                return Ok(outcomes);
            };
            outcomes.push((place, runner.run(suite, program, wanted)?));
        }
    };
    let all = thread::scope(|scope| {
        let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(|worker| {
            let ended = worker.join();
            ended.unwrap_or_else(|_| Err(anyhow!("a test could not be run: a panic")))
        });
        ended.collect::<Result<Vec<_>>>()
    })?;
    let mut all: Vec<(usize, Outcome)> = all.into_iter().flatten().collect();
    all.sort_by_key(|(place, _)| *place);
    Ok(all.into_iter().map(|(_, outcome)| outcome).collect())
}

fn run_suite(
    runner: &Runner<'_>,
    suite: Suite,
    programs: &[&Artifact],
    filter: Option<&str>,
    unsteady: &mut Vec<String>,
) -> Result<Count> {
    let begun = Instant::now();
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
    let wanted: Vec<String> = filter.iter().map(|name| (*name).to_owned()).collect();
    let firsts = first_tries(runner, suite, programs, &wanted)?;
    for (program, first) in programs.iter().zip(firsts) {
        count.add(first.count);
        let Some(names) = first.failed else { continue };
        println!(
            "  {} once more, alone: {}",
            program.target,
            names.join(", ")
        );
        let alone = ["--exact", "--test-threads=1"].map(str::to_owned);
        let again: Vec<String> = names.iter().cloned().chain(alone).collect();
        let second = runner.run(suite, program, &again)?;
        if second.count.failed == 0 && second.count.passed == first.count.failed {
            count.passed += second.count.passed;
            count.failed -= first.count.failed;
            unsteady.extend(names.iter().map(|name| listed::full_name(program, name)));
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
    let seconds = begun.elapsed().as_secs_f64();
    let done = format!("  {} in {seconds:.1} s", count.summary());
    println!("{}", paint(style, &done));
    Ok(count)
}
