//! Time and memory of our daemons and of real Salt's, measured one after the
//! other on the same machine by the same code: `cargo xtask bench`.
//!
//! Invariant: both sides get the same configuration, are observed from
//! outside (sockets, event bus, `/proc`), and the client costs the same.

#![allow(clippy::print_stdout, reason = "a tool for people")]

mod admin;
mod calls;
mod daemons;
mod disk;
mod git;
mod job_lists;
mod load;
mod measure;
mod rest;
mod runs;
mod silence;
mod stores;
mod table;
mod trees;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use halite_integration_tests::Kind;

use crate::measure::{Effort, Number, Part, Unit};

/// Whether these numbers are all of the table, measured as often as it says.
fn is_whole(effort: &Effort, parts: &[Part], kinds: &[Kind]) -> bool {
    *effort == Effort::FULL && parts == Part::ALL && kinds.len() == 2
}

const USAGE: &str = "usage: halite-bench [--write FILE | [--quick] [--ours] \
                     [--only PART[,PART...]]] [--built NAME=SECONDS...]";

/// A build that the caller has measured: there is none of Salt's.
fn built(text: &str) -> Result<Number> {
    let (name, seconds) = text.split_once('=').context(USAGE)?;
    Ok(Number {
        name: name.to_owned(),
        value: seconds.parse()?,
        unit: Unit::Seconds,
        aim: "",
    })
}

fn main() -> Result<ExitCode> {
    let mut effort = Effort::FULL;
    let mut write: Option<PathBuf> = None;
    let mut parts = Part::ALL.to_vec();
    let mut kinds = vec![Kind::Ours, Kind::Salt3008];
    let mut builds = Vec::new();
    let mut args = std::env::args_os().skip(1);
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("--quick") => effort = Effort::QUICK,
            Some("--ours") => kinds.truncate(1),
            Some("--only") => {
                let names = args.next().unwrap_or_default();
                parts = Part::parse(&names.to_string_lossy())?;
            }
            Some("--built") => {
                builds.push(built(&args.next().unwrap_or_default().to_string_lossy())?);
            }
            Some("--write") => write = args.next().map(PathBuf::from),
            _ => bail!("{USAGE}"),
        }
    }
    if write.is_some() && (builds.is_empty() || !is_whole(&effort, &parts, &kinds)) {
        bail!("the table is written whole, by one full run of both, or not at all");
    }
    let mut columns = Vec::new();
    for kind in kinds {
        columns.push(measure::all(kind, effort, &parts)?);
    }
    if let Some(ours) = columns.first_mut() {
        ours.extend(builds);
    }
    let ours = columns.first().map_or(&[][..], Vec::as_slice);
    let theirs = columns.get(1).map_or(&[][..], Vec::as_slice);
    let table = table::render(ours, theirs);
    println!("\n{table}");
    if let Some(file) = write {
        table::write_into(&file, &table)?;
        println!("written to {}", file.display());
    }
    Ok(ExitCode::SUCCESS)
}
