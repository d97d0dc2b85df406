//! `cargo xtask pages`: manual pages and completions, from the programs' own
//! option definitions.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::build::cargo;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory that gets `man/` and `completions/`
    #[arg(long, value_name = "DIR", default_value = "target/pages")]
    out: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut command = cargo();
    command.args([
        "run",
        "--quiet",
        "--package",
        "halite-cli",
        "--example",
        "pages",
    ]);
    let status = command
        .arg("--")
        .arg(&args.out)
        .status()
        .context("could not run cargo")?;
    if !status.success() {
        bail!("the pages were not written");
    }
    println!("{}", args.out.display());
    Ok(ExitCode::SUCCESS)
}
