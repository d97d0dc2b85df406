//! `cargo xtask bench`: builds the programs with optimisation and runs the
//! benchmark of `integration-tests`, which measures ours and real Salt side by
//! side.

use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::Kind;

use crate::build::{bin_dir, build_to_measure, cargo, program_features, root};

/// The part that is measured here: how long the programs take to build.
const BUILD: &str = "build";

/// A file of the lowest crate: after a change of it everything of ours is built.
const CHANGED: &str = "crates/proto/src/lib.rs";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Writes the table into docs/benchmarks.md: whole, from this one run
    #[arg(long, conflicts_with_all = ["quick", "only"])]
    write: bool,
    /// Fewer repetitions, for a first look
    #[arg(long)]
    quick: bool,
    /// Some parts only: starts, fleet, load, compile, runs, silence, admin, disk,
    /// git, stores, api, build; git-long only when it is named
    #[arg(long, value_name = "PARTS")]
    only: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut parts: Option<Vec<&str>> = args.only.as_deref().map(|only| only.split(',').collect());
    let builds = match &mut parts {
        Some(parts) => {
            let all = parts.len();
            parts.retain(|part| *part != BUILD);
            parts.len() < all
        }
        None => !args.quick,
    };
    let built = if builds {
        builds_measured()?
    } else {
        Vec::new()
    };
    if parts.as_ref().is_some_and(Vec::is_empty) {
        return Ok(ExitCode::SUCCESS);
    }
    crate::peers::provide(&[Kind::Salt3008])?;
    let artifacts = build_to_measure()?;
    let bench = artifacts
        .iter()
        .find(|artifact| artifact.target == "halite-bench")
        .context("the build has made no halite-bench")?;
    let mut command = std::process::Command::new(&bench.path);
    command.env("HALITE_BIN_DIR", bin_dir(&artifacts)?);
    if args.quick {
        command.arg("--quick");
    }
    if let Some(parts) = parts {
        command.args(["--only", &parts.join(",")]);
    }
    for (name, seconds) in built {
        command.arg("--built").arg(format!("{name}={seconds:.1}"));
    }
    if args.write {
        command
            .arg("--write")
            .arg(root().join("docs/benchmarks.md"));
    }
    let status = command.status().context("could not run the benchmark")?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// How many seconds the programs take to build, as `cargo xtask demo` builds them:
/// from nothing, after a change at the bottom, and when nothing has changed.
fn builds_measured() -> Result<Vec<(&'static str, f64)>> {
    let fetched = cargo().args(["fetch", "--locked"]).status()?;
    ensure!(fetched.success(), "cargo fetch has failed");
    let dir = tempfile::tempdir_in("/var/tmp").context("no directory for the build")?;
    let mut measured = Vec::new();
    for name in [
        "the build: from nothing",
        "the build: after a change of the lowest crate",
        "the build: nothing has changed",
    ] {
        if measured.len() == 1 {
            touch(&root().join(CHANGED))?;
        }
        let begun = Instant::now();
        let mut command = cargo();
        command.args(["build", "--quiet", "-p", "halite", "--bins"]);
        command.args(program_features());
        command.env("CARGO_TARGET_DIR", dir.path());
        let status = command.stdin(Stdio::null()).status()?;
        ensure!(status.success(), "the build has failed");
        let seconds = begun.elapsed().as_secs_f64();
        println!("  {name}: {seconds:.1} s");
        measured.push((name, seconds));
    }
    Ok(measured)
}

/// Makes a file look changed.
fn touch(path: &Path) -> Result<()> {
    let file = std::fs::File::options().append(true).open(path)?;
    file.set_modified(std::time::SystemTime::now())?;
    Ok(())
}
