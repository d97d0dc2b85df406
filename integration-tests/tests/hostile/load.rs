//! A fleet of a hundred minions works while strangers from twenty addresses attack;
//! afterwards the master uses as little memory as before.
//!
//! The assertions hold on any machine; `cargo xtask flood` measures the times.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::flood::{Flood, Kind};
use halite_integration_tests::flooded::{Flooded, Members};
use halite_integration_tests::{START, until};

const HERD: u32 = 100;
const STRANGERS: u8 = 20;
const PINGS: usize = 60;
const SIGN_INS: usize = 10;

/// How long a command and a sign-in may take while strangers do what they can, on
/// a machine that does other things, too.
const PING_MAX: Duration = Duration::from_secs(30);
const SIGN_IN_MAX: Duration = Duration::from_secs(30);

/// What a master may keep of a flood.
const GROWTH_MAX_KIB: u64 = 48 * 1024;
const DESCRIPTORS_MAX: u64 = 24;

/// A log of a flood.
const LOG_GROWTH_MAX_BYTES: u64 = 1024 * 1024;

#[test]
fn a_fleet_works_while_strangers_do_what_they_can() -> Result<()> {
    let flooded = Flooded::start(Members::Emulated(HERD))?;
    let id = flooded.member()?;
    for _ in 0..PINGS {
        flooded.ping(&id)?;
    }
    let before = flooded.usage()?;
    let log_bytes = flooded.log_bytes()?;

    let flood = Flood::start(flooded.means(id.clone())?, STRANGERS, &Kind::ALL);
    until("each stranger to send something", START, || {
        Ok(flood
            .sent()
            .iter()
            .all(|(_, sent)| *sent > 20)
            .then_some(()))
    })?;
    for number in 0..PINGS {
        let took = flooded.ping(&id)?;
        ensure!(took < PING_MAX, "a ping in {took:?}");
        if number % (PINGS / SIGN_INS) == 0 {
            let took = flooded.sign_in()?;
            ensure!(took < SIGN_IN_MAX, "a sign-in in {took:?}");
        }
    }
    let most = flooded.usage()?;
    ensure!(
        most.descriptors > before.descriptors + DESCRIPTORS_MAX,
        "nobody holds connections: {most:?}"
    );
    drop(flood);
    until("memory and descriptors to come back", START, || {
        let now = flooded.usage()?;
        let grown = now.memory_kib.saturating_sub(before.memory_kib);
        let more = now.descriptors.saturating_sub(before.descriptors);
        Ok((grown < GROWTH_MAX_KIB && more < DESCRIPTORS_MAX).then_some(()))
    })
    .with_context(|| format!("{before:?} before, {most:?} meanwhile"))?;
    let grown = flooded.log_bytes()?.saturating_sub(log_bytes);
    ensure!(grown < LOG_GROWTH_MAX_BYTES, "{grown} bytes of log");
    let log = fs::read_to_string(flooded.master.dir().join("log"))?;
    ensure!(!log.contains("panicked"), "a panic in the log");
    let herd = flooded.herd.as_ref().context("nobody is emulated")?;
    herd.wait_ready(HERD, START)?;
    flooded.ping(&id)?;
    flooded.stop()
}
