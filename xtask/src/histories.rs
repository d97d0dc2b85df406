//! `cargo xtask histories`: the long form of the simulated histories of a cluster.

use std::process::ExitCode;

use anyhow::{Context, Result, ensure};

use crate::build::cargo;

/// How many histories are run if nobody says so.
const COUNT: u64 = 100_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many histories
    #[arg(long, value_name = "COUNT", default_value_t = COUNT)]
    count: u64,
    /// The seed of the first; by default one that nobody has tried
    #[arg(long)]
    seed: Option<u64>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    ensure!(args.count > 0, "no histories prove nothing");
    let seed = match args.seed {
        Some(seed) => seed,
        None => std::time::UNIX_EPOCH.elapsed()?.as_secs(),
    };
    let last = seed.saturating_add(args.count - 1);
    println!("{} histories, seeds {seed} to {last}", args.count);
    let test = cargo()
        .args(["test", "--release", "-p", "halite-cluster"])
        .args(["--test", "simulation"])
        .env("HALITE_HISTORIES", args.count.to_string())
        .env("HALITE_SEED", seed.to_string())
        .status()
        .context("could not run cargo")?;
    if test.success() {
        return Ok(ExitCode::SUCCESS);
    }
    println!(
        "to see it again: cargo xtask histories --seed {seed} --count {}",
        args.count
    );
    Ok(ExitCode::FAILURE)
}
