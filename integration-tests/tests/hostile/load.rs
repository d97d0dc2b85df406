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

/// How many times as long as at rest a command and a sign-in may take while strangers do
/// what they can, and how long in any case: the strangers run on the same processors.
const TIMES_AT_REST: u32 = 20;
const MEDIAN_FLOOR: Duration = Duration::from_secs(2);
const SLOWEST_FLOOR: Duration = Duration::from_secs(10);

/// What a master may keep of a flood.
const GROWTH_MAX_KIB: u64 = 48 * 1024;
const DESCRIPTORS_MAX: u64 = 24;

/// A log of a flood.
const LOG_GROWTH_MAX_BYTES: u64 = 1024 * 1024;

#[test]
fn a_fleet_works_while_strangers_do_what_they_can() -> Result<()> {
    let flooded = Flooded::start(Members::Emulated(HERD))?;
    let id = flooded.member()?;
    let at_rest = measure(&flooded, &id)?;
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
    let meanwhile = measure(&flooded, &id)?;
    meanwhile.check_beside(&at_rest)?;
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

/// How long commands and sign-ins have taken.
#[derive(Debug)]
struct Times {
    ping: Measured,
    sign_in: Measured,
}

#[derive(Debug)]
struct Measured {
    median: Duration,
    slowest: Duration,
}

fn measure(flooded: &Flooded, id: &str) -> Result<Times> {
    let (mut pings, mut sign_ins) = (Vec::new(), Vec::new());
    for number in 0..PINGS {
        pings.push(flooded.ping(id)?);
        if number % (PINGS / SIGN_INS) == 0 {
            sign_ins.push(flooded.sign_in()?);
        }
    }
    Ok(Times {
        ping: Measured::of(pings),
        sign_in: Measured::of(sign_ins),
    })
}

impl Measured {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort();
        let at = |index: usize| times.get(index).copied().unwrap_or_default();
        Self {
            median: at(times.len() / 2),
            slowest: at(times.len().saturating_sub(1)),
        }
    }
}

impl Times {
    /// Whether that is no more than a multiple of what it is at rest.
    fn check_beside(&self, at_rest: &Self) -> Result<()> {
        let pairs = [
            ("a ping", &self.ping, &at_rest.ping),
            ("a sign-in", &self.sign_in, &at_rest.sign_in),
        ];
        for (what, now, then) in pairs {
            let median = MEDIAN_FLOOR + then.median * TIMES_AT_REST;
            let slowest = SLOWEST_FLOOR + then.slowest * TIMES_AT_REST;
            ensure!(
                now.median < median && now.slowest < slowest,
                "{what} takes {now:?}, and at rest {then:?}"
            );
        }
        Ok(())
    }
}
