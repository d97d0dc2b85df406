//! The delay that a slow or dead master causes for the others: measured at the
//! living master, from the publication of a job to its return.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, ensure};
use halite_integration_tests::{Master, SHORT, Signal, until};
use serde_json::json;

use crate::support::{Several, between, moment, plain_master, publish};

/// Jobs of one measurement.
const JOBS: usize = 40;

/// How often it is measured again where the machine was busy with other things.
const MORE_MEASUREMENTS: usize = 10;

/// What a master may cost that hangs or is dead.
const COST_MAX: Duration = Duration::from_millis(1);

/// How long it takes from the publication of a job to its return, at masters that
/// are asked in turns: the medians. What else the machine does slows them alike.
fn return_times(masters: [&Master; 2]) -> Result<[Duration; 2]> {
    let ping = || -> Result<()> {
        for master in masters {
            master.check_ping(&["web1"])?;
        }
        Ok(())
    };
    // A ping more: what came before the marks is no part of it.
    ping()?;
    let marks = [masters[0].events()?.mark(), masters[1].events()?.mark()];
    for _ in 0..JOBS {
        ping()?;
    }
    let median = |at: usize| -> Result<Duration> {
        // The answer of `salt` comes before the last event is read here.
        let mut times = until("every return", SHORT, || {
            let times = times_after(masters[at], marks[at])?;
            // The ping before may be read only now.
            Ok((times.len() >= JOBS).then_some(times))
        })?;
        times.sort();
        Ok(times[JOBS / 2])
    };
    Ok([median(0)?, median(1)?])
}

/// By how much the first is slower than the second at the same moments: the least of
/// some measurements. What else this machine does comes and goes, what a master costs
/// stays.
fn cost(masters: [&Master; 2]) -> Result<Duration> {
    let mut least = Duration::MAX;
    for _ in 0..=MORE_MEASUREMENTS {
        let [of_one, of_other] = return_times(masters)?;
        least = least.min(of_one.saturating_sub(of_other));
        if least < COST_MAX {
            break;
        }
    }
    Ok(least)
}

fn times_after(master: &Master, mark: usize) -> Result<Vec<Duration>> {
    let mut published = BTreeMap::new();
    let mut times = Vec::new();
    for event in master.events()?.events().into_iter().skip(mark) {
        let parts: Vec<&str> = event.tag.split('/').collect();
        match parts.as_slice() {
            ["salt", "job", jid, "new"] => {
                published.insert((*jid).to_owned(), moment(&event)?);
            }
            ["salt", "job", jid, "ret", "web1"] => {
                if let Some(begun) = published.get(*jid) {
                    times.push(between(*begun, moment(&event)?));
                }
            }
            _ => {}
        }
    }
    Ok(times)
}

/// #42753 #58028 #21282: one master hangs, then is dead, and is owed a mine
/// update, an event and the return of a job all the while.
#[test]
fn a_hanging_or_dead_master_costs_the_other_less_than_a_millisecond() -> Result<()> {
    let mut several = Several::with(2, 1, plain_master, |plan| {
        plan.set("mine_functions", json!({ "test.ping": [] }))
    })?;
    // The same, and all of its masters live.
    let alike = Several::with(2, 1, plain_master, |plan| {
        plan.set("mine_functions", json!({ "test.ping": [] }))
    })?;
    let (hung, other, _) = several.two()?;
    let healthy = &alike.masters[1];
    let owe = |other: &Master| -> Result<()> {
        for args in [["web1", "mine.update"], ["web1", "test.ping"]] {
            other
                .salt(&[&["--async"], args.as_slice()].concat())?
                .ok()?;
        }
        other
            .salt(&["--async", "web1", "event.send", "owed"])?
            .ok()?;
        Ok(())
    };
    publish(hung, "web1", "sleep 0.5; echo owed")?;
    hung.daemon().signal(Signal::SIGSTOP)?;
    owe(other)?;
    let hanging = cost([&*other, healthy])?;
    hung.kill9()?;
    owe(other)?;
    until("the death to be noticed", SHORT, || {
        Ok(other.check_ping(&["web1"]).ok())
    })?;
    let dead = cost([&*other, healthy])?;
    #[allow(clippy::print_stdout, reason = "it is what was measured")]
    {
        println!("what it costs that the other one hangs: {hanging:?}, is dead: {dead:?}");
    }
    for (what, cost) in [("hanging", hanging), ("dead", dead)] {
        ensure!(cost < COST_MAX, "{what}: {cost:?}");
    }
    Ok(())
}
