//! `cargo xtask scale`: how a master behaves with more and more emulated
//! minions. It measures on this machine, which the emulator shares.

mod measure;
mod plot;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use halite_integration_tests::Programs;

use crate::build::{bin_dir, build, program_features};
use measure::{Herd, Measured};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many minions; several numbers are measured one after the other
    #[arg(
        long,
        value_name = "COUNT",
        value_delimiter = ',',
        default_value = "100,1000"
    )]
    count: Vec<u32>,
    /// Processes that the minions are spread over, where one has not enough
    /// descriptors for all
    #[arg(long, default_value_t = 1)]
    processes: u32,
    /// Draws what was measured over the number of minions, into this file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Programs that are built already, instead of building them
    #[arg(long, value_name = "DIR")]
    bin_dir: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let dir = match &args.bin_dir {
        Some(dir) => dir.clone(),
        None => built()?,
    };
    let programs = Programs::new(&dir)?;
    let mut all = Vec::new();
    for count in &args.count {
        println!("{count} minions");
        let herd = Herd {
            count: *count,
            processes: args.processes.max(1),
        };
        all.push(measure::measure(&programs, herd, |name, value, unit| {
            println!("  {name}: {value:.2} {unit}");
        })?);
    }
    print!("\n{}", table(&all));
    if let Some(path) = &args.plot {
        std::fs::write(path, plot::svg(&all))
            .with_context(|| format!("could not write {}", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Builds the programs with optimisation.
fn built() -> Result<PathBuf> {
    let mut wanted = vec![
        "--release",
        "-p",
        "halite",
        "-p",
        "halite-emulate",
        "--bins",
    ];
    wanted.extend(program_features());
    bin_dir(&build(&wanted)?)
}

/// What was measured, a row for each figure.
fn table(all: &[Measured]) -> String {
    let mut text = String::from("| minions |");
    for measured in all {
        text.push_str(&format!(" {} |", measured.count));
    }
    text.push_str("\n|---|");
    text.push_str(&"--:|".repeat(all.len()));
    text.push('\n');
    let names = all.first().map(|first| &first.figures);
    for (at, figure) in names.into_iter().flatten().enumerate() {
        text.push_str(&format!("| {}, {} |", figure.name, figure.unit));
        for measured in all {
            match measured.figures.get(at) {
                Some(figure) => text.push_str(&format!(" {:.2} |", figure.value)),
                None => text.push_str(" |"),
            }
        }
        text.push('\n');
    }
    text
}
