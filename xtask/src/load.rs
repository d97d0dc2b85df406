//! `cargo xtask load`: the long form of the test in which two masters publish as
//! fast as they can. No command may be lost, and none may get the result of another
//! one.

use std::process::ExitCode;

use anyhow::Result;

use crate::long_form::LongForm;

/// The test that does it.
const TEST: &str = "load::a_load_of_two_masters_loses_and_mixes_nothing";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many jobs, half of them of each master; 1,000 at least
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 100_000,
        value_parser = clap::value_parser!(u64).range(1_000..)
    )]
    jobs: u64,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    println!("{} jobs of two masters", args.jobs);
    let settings = [("HALITE_LOAD_JOBS", args.jobs.to_string())];
    let passed = LongForm::build("multi_master")?.run(TEST, "HALITE_LOAD_LEDGER", &settings)?;
    Ok(match passed {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
