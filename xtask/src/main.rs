//! The project's own commands: `cargo xtask demo|test|lint|bench|chaos|flood|formulas|fuzz|herd|histories|kills|load|outages|pages|peers|provide|random|scale|services`.
//!
//! Invariant: this program builds without the cryptography and without the
//! programs of the workspace, so that it is there at once in a fresh clone.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool for people"
)]

mod bench;
mod build;
mod chaos;
mod demo;
mod flood;
mod formulas;
mod fuzz;
mod herd;
mod histories;
mod kills;
mod lint;
mod load;
mod long_form;
mod outages;
mod pages;
mod peers;
mod progress;
mod provide;
mod random;
mod scale;
mod screen;
mod services;
mod test;
mod walls;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's own commands.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Two masters and three minions on this machine: the main job, live
    Demo(demo::Args),
    /// Everything that must pass, with real Salt as the peer
    Test(test::Args),
    /// Formatting, lints, licences and the walls of ARCHITECTURE.md
    Lint(lint::Args),
    /// Time and memory, ours and real Salt's side by side
    Bench(bench::Args),
    /// Masters, minions and cables fail for minutes; nothing may be lost
    Chaos(chaos::Args),
    /// A fleet works while strangers do what they can: times, memory, descriptors
    Flood(flood::Args),
    /// Public formulas, compiled and run in test mode by ours and by real Salt
    Formulas(formulas::Args),
    /// Arbitrary bytes for everything that reads what others wrote
    Fuzz(fuzz::Args),
    /// Hundreds of minions come back to two masters that start again at once
    Herd(herd::Args),
    /// Simulated histories of a cluster, whose masters must agree on its keys at the end
    Histories(histories::Args),
    /// State runs are killed at hundreds of moments; no file may be half written
    Kills(kills::Args),
    /// Two masters publish as fast as they can; nothing is lost or mixed
    Load(load::Args),
    /// The same outages for ours and for real Salt, side by side
    Outages(outages::Args),
    /// Manual pages and completions of the programs
    Pages(pages::Args),
    /// Installs the releases of real Salt that the tests use
    Peers(peers::Args),
    /// Installs what tests need of the system: shells, gpg, curl, archivers
    Provide,
    /// New random state trees, run by real Salt and by ours
    Random(random::Args),
    /// A master with more and more emulated minions
    Scale(scale::Args),
    /// Databases to try things with, in directories of their own, until Ctrl-C
    Services(services::Args),
}

fn main() -> ExitCode {
    let done = match Args::parse().command {
        Command::Demo(args) => demo::run(&args),
        Command::Test(args) => test::run(&args),
        Command::Lint(args) => lint::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Chaos(args) => chaos::run(&args),
        Command::Flood(args) => flood::run(&args),
        Command::Formulas(args) => formulas::run(&args),
        Command::Fuzz(args) => fuzz::run(&args),
        Command::Herd(args) => herd::run(&args),
        Command::Histories(args) => histories::run(&args),
        Command::Kills(args) => kills::run(&args),
        Command::Load(args) => load::run(&args),
        Command::Outages(args) => outages::run(&args),
        Command::Pages(args) => pages::run(&args),
        Command::Peers(args) => peers::run(&args),
        Command::Provide => provide::run(),
        Command::Random(args) => random::run(&args),
        Command::Scale(args) => scale::run(&args),
        Command::Services(args) => services::run(&args),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
