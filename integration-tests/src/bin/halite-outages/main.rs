//! Outages of masters and minions, the same for our fleet and for real Salt's: what
//! is lost, and how long the recovery takes; also of the masters of a cluster.
//! `cargo xtask outages`.
//!
//! Invariant: both sides get the same configuration, the same commands at the same
//! pace, and are judged by the files that commands leave and by the job caches.

#![allow(clippy::print_stdout, reason = "a tool for people")]

mod cluster;
mod fleet;
mod scenes;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use halite_integration_tests::{Kind, write_table};

use crate::scenes::Number;

/// The line of the document behind which the table stands.
const BEGIN: &str = "<!-- begin: cargo xtask outages --write -->";

fn main() -> Result<ExitCode> {
    let mut kinds = vec![Kind::Ours, Kind::Salt3008];
    let mut write: Option<PathBuf> = None;
    let mut is_cluster = false;
    let mut args = std::env::args_os().skip(1);
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("--cluster") => is_cluster = true,
            Some("--ours") => kinds.truncate(1),
            Some("--write") => write = args.next().map(PathBuf::from),
            _ => bail!("usage: halite-outages [--cluster] [--ours] [--write FILE]"),
        }
    }
    let mut columns = Vec::new();
    for kind in kinds {
        println!("{kind}:");
        columns.push(match is_cluster {
            true => cluster::all(kind)?,
            false => scenes::all(kind)?,
        });
    }
    let table = table(&columns);
    println!("\n{table}");
    if let Some(file) = write {
        let begin = if is_cluster { cluster::BEGIN } else { BEGIN };
        write_table(&file, begin, &table)?;
        println!("written to {}", file.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn table(columns: &[Vec<Number>]) -> String {
    let mut text = String::from("| | Halite | Salt 3008.5 |\n|---|---:|---:|\n");
    let rows = columns.first().map_or(0, Vec::len);
    for row in 0..rows {
        let cell = |column: usize| columns.get(column).and_then(|numbers| numbers.get(row));
        let shown = |column| cell(column).map_or("-", |number| number.value.as_str());
        let name = cell(0).map_or("", |number| number.name);
        // Writing to a String cannot fail.
        writeln!(text, "| {name} | {} | {} |", shown(0), shown(1)).ok();
    }
    text
}
