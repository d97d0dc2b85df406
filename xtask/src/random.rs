//! `cargo xtask random`: the long form of the test that compares random state
//! trees: new trees, played by real Salt, and then by ours.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Kind, Program, Programs};

use crate::build::{cargo, root};
use crate::peers;

/// Writes down what real Salt makes of random trees.
const RECORDER: &str = "integration-tests/recorders/random_states.py";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The seed of the first tree; by default one that nobody has tried
    #[arg(long)]
    seed: Option<u64>,
    /// How many trees; each takes about a second
    #[arg(long, value_name = "COUNT", default_value_t = 300)]
    trees: u64,
    /// Keeps what real Salt has answered in this file
    #[arg(long, value_name = "FILE")]
    keep: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    peers::provide(&[Kind::Salt3008])?;
    let python = Programs::new(Path::new("."))?.path(Kind::Salt3008, Program::Python)?;
    let seed = match args.seed {
        Some(seed) => seed,
        None => std::time::UNIX_EPOCH.elapsed()?.as_secs(),
    };
    let scratch = tempfile::tempdir()?;
    let kept = args.keep.as_deref().map(Path::new);
    let answers = match kept {
        Some(path) => std::path::absolute(path)?,
        None => scratch.path().join("trees.jsonl"),
    };
    println!("{} trees from seed {seed}, played by real Salt", args.trees);
    let recorded = Command::new(python)
        .arg(root().join(RECORDER))
        .args([seed.to_string(), args.trees.to_string()])
        .arg(&answers)
        .status()
        .context("could not run the recorder")?;
    ensure!(recorded.success(), "real Salt did not play the trees");
    let compared = cargo()
        .args([
            "test",
            "-p",
            "halite-state-run",
            "--test",
            "state_run",
            "random::",
        ])
        .env("HALITE_REAL", &answers)
        .status()
        .context("could not run cargo")?;
    if compared.success() {
        return Ok(ExitCode::SUCCESS);
    }
    println!(
        "to see it again: cargo xtask random --seed {seed} --trees {}",
        args.trees
    );
    Ok(ExitCode::FAILURE)
}
