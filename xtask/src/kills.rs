//! `cargo xtask kills`: the long form of the tests in which state runs are
//! killed at random moments. No file may be half written, no secret open, and
//! the next run converges.

use std::process::ExitCode;

use anyhow::Result;

use crate::long_form::LongForm;

/// The tests that do it.
const TESTS: [&str; 2] = [
    "kills::states_of_a_killed_minion_converge",
    "kills::states_of_a_killed_salt_call_converge",
];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many moments of a minion, and as many of `salt-call`; each takes
    /// about two seconds
    #[arg(long, value_name = "COUNT", default_value_t = 200)]
    moments: u64,
    /// Repeats the choices of an earlier run
    #[arg(long)]
    seed: Option<u64>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let kills = LongForm::build("multi_master")?;
    let seed = match args.seed {
        Some(seed) => seed,
        None => std::time::UNIX_EPOCH.elapsed()?.as_secs(),
    };
    let settings = [
        ("HALITE_KILLS_SEED", seed.to_string()),
        ("HALITE_KILLS_MOMENTS", args.moments.to_string()),
    ];
    for test in TESTS {
        println!("{test}, seed {seed}");
        if !kills.run(test, "HALITE_KILLS_LEDGER", &settings)? {
            println!("to see it again: cargo xtask kills --seed {seed}");
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}
