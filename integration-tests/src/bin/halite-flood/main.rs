//! How a master works while strangers from twenty addresses attack it: `cargo xtask
//! flood`.
//!
//! Invariant: the minions are processes of their own, and the master's figures come
//! from its own page of metrics.

#![allow(clippy::print_stdout, reason = "a tool for people")]

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use halite_integration_tests::flood::Flood;
use halite_integration_tests::flooded::{Flooded, Members, Usage, figures};
use halite_integration_tests::{START, until};

const STRANGERS: u8 = 20;

/// How many commands and sign-ins are measured, in quiet and under the flood.
const PINGS: usize = 200;
const SIGN_INS: usize = 20;

/// When the master's memory is looked at after the end of the flood, in seconds.
const LOOKS_S: [u64; 5] = [1, 5, 10, 30, 60];

/// Descriptors that the master may keep.
const DESCRIPTORS_MAX: u64 = 8;

fn main() -> Result<()> {
    let mut minions = 100;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match (arg.as_str(), args.next()) {
            ("--minions", Some(count)) => minions = count.parse()?,
            _ => bail!("usage: halite-flood [--minions COUNT]"),
        }
    }
    let begun = Instant::now();
    let flooded = Flooded::start(Members::Processes(minions))?;
    println!("{minions} minions, there after {:.1?}", begun.elapsed());
    let id = flooded.member()?;
    measure(&flooded, &id, "in quiet")?;
    let before = flooded.usage()?;
    show("before", before);

    let flood = Flood::start(flooded.means(id.clone())?, STRANGERS);
    until("each stranger to send something", START, || {
        let sent = flood.sent();
        Ok(sent.iter().all(|(_, sent)| *sent > 20).then_some(()))
    })?;
    let begun = Instant::now();
    measure(&flooded, &id, "under the flood")?;
    let most = flooded.usage()?;
    show("under the flood", most);
    for (kind, sent) in flood.sent() {
        println!(
            "sent by strangers in {:.1?}: {kind:?} {sent}",
            begun.elapsed()
        );
    }
    drop(flood);
    let ended = Instant::now();
    until("the descriptors to be as before", START, || {
        let now = flooded.usage()?.descriptors;
        Ok((now <= before.descriptors + DESCRIPTORS_MAX).then_some(()))
    })?;
    println!("descriptors back after {:.1?}", ended.elapsed());
    for seconds in LOOKS_S {
        let look = ended + Duration::from_secs(seconds);
        std::thread::sleep(look.saturating_duration_since(Instant::now()));
        show(&format!("{seconds} s afterwards"), flooded.usage()?);
    }
    flooded.ping(&id).context("the fleet is gone")?;
    flooded.stop()
}

fn measure(flooded: &Flooded, id: &str, when: &str) -> Result<()> {
    let (mut pings, mut sign_ins) = (Vec::new(), Vec::new());
    for number in 0..PINGS {
        pings.push(flooded.ping(id)?);
        if number % (PINGS / SIGN_INS) == 0 {
            sign_ins.push(flooded.sign_in()?);
        }
    }
    for (what, times) in [("test.ping", pings), ("a sign-in", sign_ins)] {
        let (p50, p99, most) = figures(times);
        println!("{what} {when}: p50 {p50:.1} ms, p99 {p99:.1} ms, at most {most:.1} ms");
    }
    Ok(())
}

fn show(when: &str, usage: Usage) {
    let memory = usage.memory_kib / 1024;
    println!("{when}: {memory} MiB, {} descriptors", usage.descriptors);
}
