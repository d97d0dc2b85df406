//! `cargo xtask bench`: builds the programs with optimisation and runs the
//! benchmark of `integration-tests`, which measures ours and real Salt side by
//! side.

use std::process::ExitCode;

use anyhow::{Context, Result};
use halite_integration_tests::Kind;

use crate::build::{bin_dir, build, features, root};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Writes the table into docs/benchmarks.md: whole, from this one run
    #[arg(long, conflicts_with_all = ["quick", "only"])]
    write: bool,
    /// Fewer repetitions, for a first look
    #[arg(long)]
    quick: bool,
    /// Some parts only: starts, fleet, load, compile, runs, silence
    #[arg(long, value_name = "PARTS")]
    only: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    crate::peers::provide(&[Kind::Salt3008])?;
    let mut wanted = vec![
        "--release",
        "-p",
        "halite",
        "-p",
        "halite-integration-tests",
        "--bins",
    ];
    wanted.extend(features());
    let artifacts = build(&wanted)?;
    let bench = artifacts
        .iter()
        .find(|artifact| artifact.target == "halite-bench")
        .context("the build has made no halite-bench")?;
    let mut command = std::process::Command::new(&bench.path);
    command.env("HALITE_BIN_DIR", bin_dir(&artifacts)?);
    if args.quick {
        command.arg("--quick");
    }
    if let Some(parts) = &args.only {
        command.args(["--only", parts]);
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
