//! `cargo xtask chaos`: the long form of the chaos test. Masters and minions
//! die, hang and lose their cables for minutes while commands flow; the ledger
//! says what became of each command.

use std::process::ExitCode;

use anyhow::{Result, ensure};

use crate::long_form::LongForm;

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
    let chaos = LongForm::build()?;
    let first = match args.seed {
        Some(seed) => seed,
        None => std::time::UNIX_EPOCH.elapsed()?.as_secs(),
    };
    ensure!(args.runs > 0, "no runs are nothing to see");
    for seed in first..first.saturating_add(args.runs) {
        println!("chaos for {} s, seed {seed}", args.seconds);
        let settings = [
            ("HALITE_CHAOS_SEED", seed.to_string()),
            ("HALITE_CHAOS_SECONDS", args.seconds.to_string()),
            ("HALITE_CHAOS_MINIONS", args.minions.to_string()),
        ];
        if !chaos.run(TEST, "HALITE_CHAOS_LEDGER", &settings)? {
            println!("to see it again: cargo xtask chaos --seed {seed}");
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}
