//! How a master works while strangers from twenty addresses attack it: `cargo xtask
//! flood`.
//!
//! Invariant: the minions are processes of their own, and the master's figures come
//! from its own page of metrics.

#![allow(clippy::print_stdout, reason = "a tool for people")]

mod report;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use halite_integration_tests::flood::{Flood, Kind};
use halite_integration_tests::flooded::{Flooded, Members, Usage};
use halite_integration_tests::{START, machine, until, write_table};

use crate::report::{Phase, Report};

const STRANGERS: u8 = 20;

static KINDS: [Kind; Kind::ALL.len()] = Kind::ALL;

/// Commands for each sign-in that is measured.
const PINGS_PER_SIGN_IN: usize = 10;

/// What each kind of stranger has sent before anything is measured.
const SENT_MIN: u64 = 20;

/// How long one flood is measured at most, however few commands that are.
const FLOOD_MAX: Duration = Duration::from_secs(60);

/// When the master is to have forgotten a flood.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(10);

/// The line of the document behind which the table stands.
const BEGIN: &str = "<!-- begin: cargo xtask flood --write -->";

struct Args {
    minions: u32,
    pings: usize,
    write: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            println!("halite-flood: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode> {
    let args = args()?;
    let begun = Instant::now();
    let flooded = Flooded::start(Members::Processes(args.minions))?;
    println!(
        "{} minions, there after {:.1?}",
        args.minions,
        begun.elapsed()
    );
    let report = measure_all(&flooded, &args)?;
    flooded.stop()?;
    let text = format!(
        "{} Minions and strangers share it; {} commands and {} sign-ins each, or as many as a minute allows.\n\n{}",
        machine(),
        args.pings,
        args.pings / PINGS_PER_SIGN_IN,
        report.table()
    );
    println!("\n{text}");
    if let Some(file) = &args.write {
        write_table(file, BEGIN, &text)?;
    }
    let missed = report.missed();
    for aim in &missed {
        println!("missed: {aim}");
    }
    Ok(match missed.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn args() -> Result<Args> {
    let (mut minions, mut pings, mut write) = (100, 200, None);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match (arg.as_str(), args.next()) {
            ("--minions", Some(count)) => minions = count.parse().context("--minions")?,
            ("--pings", Some(count)) => pings = count.parse().context("--pings")?,
            ("--write", Some(file)) => write = Some(PathBuf::from(file)),
            _ => bail!("usage: halite-flood [--minions COUNT] [--pings COUNT] [--write FILE]"),
        }
    }
    ensure!(minions > 0, "at least one minion has to answer");
    ensure!(
        pings >= PINGS_PER_SIGN_IN,
        "--pings: at least {PINGS_PER_SIGN_IN}"
    );
    Ok(Args {
        minions,
        pings,
        write,
    })
}

/// At rest, under the flood of each kind of strangers and of all, and afterwards.
fn measure_all(flooded: &Flooded, args: &Args) -> Result<Report> {
    let id = flooded.member()?;
    let at_rest = measure(flooded, &id, "at rest", args.pings)?;
    let mut floods = Vec::new();
    for kind in &KINDS {
        floods.push(flood(flooded, &id, std::slice::from_ref(kind), args.pings)?);
    }
    floods.push(flood(flooded, &id, &KINDS, args.pings)?);
    let ended = Instant::now();
    std::thread::sleep(FORGOTTEN_AFTER);
    let afterwards = flooded.usage()?;
    println!(
        "{:.0?} after the last flood: {}",
        ended.elapsed(),
        shown(afterwards)
    );
    flooded.ping(&id).context("no answer after the floods")?;
    Ok(Report {
        at_rest,
        floods,
        afterwards,
    })
}

/// What is measured while strangers do these things.
fn flood(flooded: &Flooded, id: &str, kinds: &'static [Kind], pings: usize) -> Result<Phase> {
    let name = match kinds {
        [kind] => kind.name(),
        _ => "all of these at once",
    };
    let flood = Flood::start(flooded.means(id.to_owned())?, STRANGERS, kinds);
    until("each kind of stranger to send something", START, || {
        let sent = flood.sent();
        Ok(sent.iter().all(|(_, sent)| *sent > SENT_MIN).then_some(()))
    })
    .context(name)?;
    let mut phase = measure(flooded, id, name, pings)?;
    phase.sent = flood.sent().iter().map(|(_, sent)| sent).sum();
    Ok(phase)
}

fn measure(flooded: &Flooded, id: &str, name: &'static str, pings: usize) -> Result<Phase> {
    let begun = Instant::now();
    let mut phase = Phase::new(name);
    for number in 0..pings {
        if begun.elapsed() > FLOOD_MAX {
            break;
        }
        let ping = flooded.ping(id);
        phase
            .pings
            .push(ping.with_context(|| format!("{name}: a test.ping"))?);
        if number % PINGS_PER_SIGN_IN == 0 {
            let sign_in = flooded.sign_in();
            phase
                .sign_ins
                .push(sign_in.with_context(|| format!("{name}: a sign-in"))?);
            phase.uses(
                flooded
                    .usage()
                    .with_context(|| format!("{name}: the metrics"))?,
            );
        }
    }
    println!("{name}, {:.1?}: {}", begun.elapsed(), shown(phase.most));
    Ok(phase)
}

fn shown(usage: Usage) -> String {
    let memory = usage.memory_kib / 1024;
    format!("{memory} MiB, {} descriptors", usage.descriptors)
}
