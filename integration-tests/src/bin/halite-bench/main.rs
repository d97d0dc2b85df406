//! Time and memory of our daemons and of real Salt's, measured one after the
//! other on the same machine by the same code: `cargo xtask bench`.
//!
//! Invariant: both sides get the same configuration, are observed from
//! outside (sockets, event bus, `/proc`), and the client costs the same.

#![allow(clippy::print_stdout, reason = "a tool for people")]

mod load;
mod measure;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use halite_integration_tests::Kind;

use crate::measure::Effort;

fn main() -> Result<ExitCode> {
    let mut effort = Effort::FULL;
    let mut write: Option<PathBuf> = None;
    let mut args = std::env::args_os().skip(1);
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("--quick") => effort = Effort::QUICK,
            Some("--write") => write = args.next().map(PathBuf::from),
            _ => bail!("usage: halite-bench [--quick] [--write FILE]"),
        }
    }
    let ours = measure::all(Kind::Ours, effort)?;
    let theirs = measure::all(Kind::Salt3008, effort)?;
    let table = table::render(&ours, &theirs);
    println!("\n{table}");
    if let Some(file) = write {
        table::write_into(&file, &table)?;
        println!("written to {}", file.display());
    }
    Ok(ExitCode::SUCCESS)
}
