//! `cargo xtask chaos`: the long form of the chaos tests. Masters and minions die,
//! hang and lose their cables for minutes while commands flow; the summary says
//! what became of each command.

use std::process::ExitCode;

use anyhow::{Result, ensure};

use crate::long_form::LongForm;

/// The test that does it, in the program of either suite.
const TEST: &str = "chaos::nothing_is_lost_in_chaos";
const TEST_ON_BUS: &str = "chaos::nothing_is_lost_in_chaos_on_a_bus";
const TEST_WITH_SHARED_FILES: &str = "chaos::nothing_is_lost_in_chaos_with_shared_files";
const TEST_ON_STORE: &str = "chaos::nothing_is_lost_in_chaos_on_a_store";

/// How many faults are made if nobody says so.
const FAULTS: u64 = 500;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Masters of a cluster behind a balancer, in place of masters that know
    /// nothing of each other
    #[arg(long)]
    cluster: bool,
    /// The masters of the cluster tell each other what happens over a bus, which dies too
    #[arg(long, requires = "cluster")]
    bus: bool,
    /// The masters of the cluster share their keys and their job cache in a directory, which
    /// fails too
    #[arg(long, requires = "cluster", conflicts_with = "bus")]
    shared: bool,
    /// The masters of the cluster share a store, a Redis, which hangs too
    #[arg(long, requires = "cluster", conflicts_with_all = ["bus", "shared"])]
    store: bool,
    /// How many faults are made, one after the other; a run that makes fewer fails
    #[arg(long, value_name = "COUNT", default_value_t = FAULTS)]
    faults: u64,
    /// How long faults go on, however many these are
    #[arg(long, value_name = "SECONDS", conflicts_with = "faults")]
    seconds: Option<u64>,
    /// Minions of the three masters; those of a cluster have two of Salt besides
    #[arg(long, value_name = "COUNT", default_value_t = 8)]
    minions: u64,
    /// Repeats the choices of an earlier run
    #[arg(long)]
    seed: Option<u64>,
    /// How many runs, each with the next seed
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    runs: u64,
}

impl Args {
    /// The program of a suite, the options that choose it, and the test in it.
    fn test(&self) -> (&'static str, &'static str, &'static str) {
        const CLUSTER: &str = "master_cluster";
        if self.bus {
            (CLUSTER, " --cluster --bus", TEST_ON_BUS)
        } else if self.shared {
            (CLUSTER, " --cluster --shared", TEST_WITH_SHARED_FILES)
        } else if self.store {
            (CLUSTER, " --cluster --store", TEST_ON_STORE)
        } else if self.cluster {
            (CLUSTER, " --cluster", TEST)
        } else {
            ("multi_master", "", TEST)
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let (program, option, test) = args.test();
    let (what, length) = match args.seconds {
        Some(seconds) => (
            format!("for {seconds} s"),
            ("HALITE_CHAOS_SECONDS", seconds.to_string()),
        ),
        None => (
            format!("of {} faults", args.faults),
            ("HALITE_CHAOS_FAULTS", args.faults.to_string()),
        ),
    };
    let chaos = LongForm::build(program)?;
    let first = match args.seed {
        Some(seed) => seed,
        None => std::time::UNIX_EPOCH.elapsed()?.as_secs(),
    };
    ensure!(args.runs > 0, "no runs are nothing to see");
    for seed in first..first.saturating_add(args.runs) {
        println!("chaos {what}, seed {seed}");
        let settings = [
            ("HALITE_CHAOS_SEED", seed.to_string()),
            length.clone(),
            ("HALITE_CHAOS_MINIONS", args.minions.to_string()),
        ];
        if !chaos.run(test, "HALITE_CHAOS_LEDGER", &settings)? {
            println!("to see it again: cargo xtask chaos{option} --seed {seed}");
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}
