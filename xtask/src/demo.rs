//! `cargo xtask demo`: a fleet of `examples`, live.
//!
//! Invariant: exactly what is printed after a `$` is run, in a directory of its
//! own, and the fleet is removed at the end unless `--keep` is given.

mod balancer;
mod cluster;
mod fleet;
mod two_masters;
mod web;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use halite_integration_tests::{Kind, Programs};

use crate::build::{bin_dir, build, build_programs, program_features};
use crate::screen::{Style, paint};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Leaves the fleet running, with a file that sets up a shell for it
    #[arg(long)]
    keep: bool,
    /// Plays it with real Salt instead, to compare
    #[arg(long)]
    real_salt: bool,
    /// Serves the page of the fleet at the end, and leaves the fleet running
    #[arg(long, conflicts_with = "real_salt")]
    web: bool,
    /// Plays a cluster behind one address (examples/cluster): one master is killed, a
    /// fourth joins and is removed
    #[arg(long, conflicts_with_all = ["real_salt", "web"])]
    cluster: bool,
    /// Builds the programs with optimisation, as they are installed; takes
    /// longer, and is built apart from what the tests use
    #[arg(long)]
    release: bool,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let (kind, programs) = if args.real_salt {
        crate::peers::provide(&[Kind::Salt3008])?;
        (Kind::Salt3008, Programs::new(Path::new("."))?)
    } else {
        (Kind::Ours, Programs::new(&programs(args.release)?)?)
    };
    if args.cluster {
        cluster::play(programs, args.keep)?;
    } else {
        two_masters::play(kind, programs, args.keep, args.web)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The directory of the programs, built if they are not there yet.
fn programs(release: bool) -> Result<PathBuf> {
    println!("{}", paint(Style::Dim, "building the programs"));
    if !release {
        return bin_dir(&build_programs(&[], &[])?);
    }
    let mut args = vec!["-p", "halite", "--bins", "--release"];
    args.extend(program_features());
    bin_dir(&build(&args)?)
}
