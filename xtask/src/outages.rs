//! `cargo xtask outages`: the same outages for our fleet and for real Salt's,
//! one after the other; the table of `docs/multi-master.md`, and that of
//! `docs/cluster.md`.

use std::process::ExitCode;

use anyhow::{Context, Result};
use halite_integration_tests::Kind;

use crate::build::{bin_dir, build_programs, build_to_measure, root};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Masters of a cluster behind a balancer
    #[arg(long)]
    cluster: bool,
    /// Writes the table into docs/multi-master.md, or that of a cluster into docs/cluster.md
    #[arg(long)]
    write: bool,
    /// Ours alone
    #[arg(long)]
    ours: bool,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if !args.ours {
        crate::peers::provide(&[Kind::Salt3008])?;
    }
    let artifacts = match args.cluster {
        // Its times are short.
        true => build_to_measure()?,
        false => build_programs(&[], &["halite-outages"])?,
    };
    let program = artifacts
        .iter()
        .find(|artifact| artifact.target == "halite-outages")
        .context("the build has made no halite-outages")?;
    let mut command = std::process::Command::new(&program.path);
    command.env("HALITE_BIN_DIR", bin_dir(&artifacts)?);
    if args.ours {
        command.arg("--ours");
    }
    let page = match args.cluster {
        true => "docs/cluster.md",
        false => "docs/multi-master.md",
    };
    if args.cluster {
        command.arg("--cluster");
    }
    if args.write {
        command.arg("--write").arg(root().join(page));
    }
    let status = command.status().context("could not run the outages")?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
