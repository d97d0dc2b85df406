//! `cargo xtask herd`: the long form of the test in which a herd of minions
//! comes back to two masters that start again at once.

use std::process::ExitCode;

use anyhow::Result;

use crate::long_form::LongForm;

/// The test that does it.
const TEST: &str = "herd::a_herd_is_back_on_both_masters_after_both_restart";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many minions, each a process of its own of some 8 MiB
    #[arg(long, value_name = "COUNT", default_value_t = 600)]
    minions: u64,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    println!("a herd of {} minions", args.minions);
    let settings = [("HALITE_HERD_MINIONS", args.minions.to_string())];
    let passed = LongForm::build("multi_master")?.run(TEST, "HALITE_HERD_LEDGER", &settings)?;
    Ok(match passed {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
