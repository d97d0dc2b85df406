//! `cargo xtask scale`: how a master behaves with more and more emulated
//! minions. It measures on this machine, which the emulator shares.

mod commands;
mod control;
mod masters;
mod measure;
mod model;
mod names;
mod overload;
mod plot;
mod reactions;
mod returning;
mod sign_ins;
mod soak;
mod tables;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Programs, add_table, has_table, machine, write_table};

use crate::build::{bin_dir, build, program_features, root};
use masters::Layout;
use measure::{Measured, Plan};

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
    /// Processes that the minions are spread over; without it, as many as have
    /// descriptors for all
    #[arg(long, value_name = "COUNT")]
    processes: Option<u32>,
    /// Masters
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=9))]
    masters: u32,
    /// How several masters belong together
    #[arg(long, value_enum, default_value_t = Layout::List)]
    layout: Layout,
    /// Keeps the fleet at work for so long, before a master dies
    #[arg(long, value_name = "MINUTES")]
    soak: Option<u32>,
    /// Sends so many times more sign-ins than are served for some seconds, before a
    /// master dies
    #[arg(long, value_name = "TIMES")]
    overload: Option<f64>,
    /// Writes the table into docs/scale.md, in place of that of the same masters
    #[arg(long)]
    write: bool,
    /// Draws what was measured over the number of minions, into this file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Measures nothing: computes from the tables of docs/scale.md what larger fleets need,
    /// and writes it there
    #[arg(long)]
    model: bool,
    /// Programs that are built already, instead of building them
    #[arg(long, value_name = "DIR")]
    bin_dir: Option<PathBuf>,
}

/// Where the tables are, and the line that those of other masters are added before.
const PAGE: &str = "docs/scale.md";
const FURTHER: &str = "<!-- further tables -->";

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.model {
        compute()?;
        return Ok(ExitCode::SUCCESS);
    }
    let title = args.layout.title(args.masters);
    let begin = tables::begin(&title);
    let page = root().join(PAGE);
    if args.write && !has_table(&page, &begin)? {
        add_table(&page, &begin, FURTHER)?;
    }
    let dir = match &args.bin_dir {
        Some(dir) => dir.clone(),
        None => built()?,
    };
    let programs = Programs::new(&dir)?;
    let mut all = Vec::new();
    for count in &args.count {
        println!("{count} minions, {title}");
        let plan = Plan {
            count: *count,
            processes: args.processes,
            masters: args.masters,
            layout: args.layout,
            overload: args.overload,
            soak: args
                .soak
                .map(|minutes| Duration::from_secs(60 * u64::from(minutes))),
        };
        all.push(measure::measure(&programs, plan, |name, value, unit| {
            println!("  {name}: {value:.2} {unit}");
        })?);
    }
    let table = table(&all);
    print!("\n{table}");
    if args.write {
        let text = format!("{} The emulator shares it.\n\n{table}", machine());
        write_table(&page, &begin, &text)?;
        compute()?;
    }
    if let Some(path) = &args.plot {
        std::fs::write(path, plot::svg(&all))
            .with_context(|| format!("could not write {}", path.display()))?;
    }
    // What was measured is shown also where it is not what it should be.
    let faults: Vec<&str> = (all.iter())
        .flat_map(|measured| measured.faults.iter().map(String::as_str))
        .collect();
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(ExitCode::SUCCESS)
}

/// Writes what follows from the tables behind them.
fn compute() -> Result<()> {
    let page = root().join(PAGE);
    let text = std::fs::read_to_string(&page)
        .with_context(|| format!("could not read {}", page.display()))?;
    write_table(&page, model::BEGIN, &model::section(&text))
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
