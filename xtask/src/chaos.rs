//! `cargo xtask chaos`: the long form of the chaos test. Masters and minions
//! die, hang and lose their cables for minutes while commands flow; the ledger
//! says what became of each command.

use std::process::ExitCode;

use anyhow::{Context, Result, ensure};

use crate::build::{bin_dir, build, features};

/// The test that does it.
const TEST: &str = "chaos::nothing_is_lost_in_chaos";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How long faults go on; 240 s are more than 500 faults
    #[arg(long, value_name = "SECONDS", default_value_t = 240)]
    seconds: u64,
    /// Minions of the three masters
    #[arg(long, value_name = "COUNT", default_value_t = 8)]
    minions: u64,
    /// Repeats the choices of an earlier run
    #[arg(long)]
    seed: Option<u64>,
    /// How many runs, each with the next seed
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    runs: u64,
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
    let bin_dir = bin_dir(&artifacts)?;
    let first = match args.seed {
        Some(seed) => seed,
        None => std::time::UNIX_EPOCH.elapsed()?.as_secs(),
    };
    ensure!(args.runs > 0, "no runs are nothing to see");
    for seed in first..first.saturating_add(args.runs) {
        println!("chaos for {} s, seed {seed}", args.seconds);
        let ledger = std::env::temp_dir().join(format!("halite-chaos-{}", std::process::id()));
        let output = std::process::Command::new(&test.path)
            .args(["--exact", TEST])
            .current_dir(&test.package_dir)
            .env("HALITE_BIN_DIR", &bin_dir)
            .env("HALITE_CHAOS_LEDGER", &ledger)
            .env("HALITE_CHAOS_SEED", seed.to_string())
            .env("HALITE_CHAOS_SECONDS", args.seconds.to_string())
            .env("HALITE_CHAOS_MINIONS", args.minions.to_string())
            .output()
            .context("could not run the test")?;
        // There is none if the fleet did not even start.
        print!("{}", std::fs::read_to_string(&ledger).unwrap_or_default());
        let _ = std::fs::remove_file(&ledger);
        if !output.status.success() {
            print!("{}", String::from_utf8_lossy(&output.stdout));
            println!("to see it again: cargo xtask chaos --seed {seed}");
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}
