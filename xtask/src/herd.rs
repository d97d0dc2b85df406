//! `cargo xtask herd`: the long form of the test in which a herd of minions
//! comes back to two masters that start again at once.

use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::build::{bin_dir, build, features};

/// The test that does it.
const TEST: &str = "herd::a_herd_is_back_on_both_masters_after_both_restart";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many minions, each a process of its own of some 8 MiB
    #[arg(long, value_name = "COUNT", default_value_t = 600)]
    minions: u64,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut wanted = vec![
        "-p",
        "halite",
        "-p",
        "halite-integration-tests",
        "--bins",
        "--tests",
    ];
    wanted.extend(features());
    let artifacts = build(&wanted)?;
    let test = artifacts
        .iter()
        .find(|artifact| artifact.is_test && artifact.target == "multi_master")
        .context("the build has made no test multi_master")?;
    println!("a herd of {} minions", args.minions);
    let ledger = std::env::temp_dir().join(format!("halite-herd-{}", std::process::id()));
    let output = std::process::Command::new(&test.path)
        .args(["--exact", TEST])
        .current_dir(&test.package_dir)
        .env("HALITE_BIN_DIR", bin_dir(&artifacts)?)
        .env("HALITE_HERD_LEDGER", &ledger)
        .env("HALITE_HERD_MINIONS", args.minions.to_string())
        .output()
        .context("could not run the test")?;
    // There is none if the masters did not even start.
    print!("{}", std::fs::read_to_string(&ledger).unwrap_or_default());
    let _ = std::fs::remove_file(&ledger);
    if !output.status.success() {
        print!("{}", String::from_utf8_lossy(&output.stdout));
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}
