//! `cargo xtask flood`: how long commands and sign-ins take while strangers attack,
//! and whether the master's memory is back ten seconds afterwards; the table of
//! `SECURITY.md`. It measures on this machine, which minions and strangers share.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::build::{bin_dir, build_to_measure, root};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many minions, each a process of its own of some 8 MiB
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    minions: u32,
    /// Commands that are measured under each flood
    #[arg(long, value_name = "COUNT", default_value_t = 200)]
    pings: u32,
    /// Writes the table into SECURITY.md
    #[arg(long)]
    write: bool,
    /// Programs that are built already, instead of building them
    #[arg(long, value_name = "DIR")]
    bin_dir: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let programs = match &args.bin_dir {
        Some(dir) => dir.clone(),
        None => bin_dir(&build_to_measure()?)?,
    };
    let mut command = Command::new(programs.join("halite-flood"));
    command.args(["--minions", &args.minions.to_string()]);
    command.args(["--pings", &args.pings.to_string()]);
    if args.write {
        command.arg("--write").arg(root().join("SECURITY.md"));
    }
    let status = command
        .env("HALITE_BIN_DIR", &programs)
        .status()
        .context("could not run halite-flood")?;
    Ok(match status.success() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
