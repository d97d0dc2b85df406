//! What a slow or dead master costs the others: measured at the master that
//! lives, from the publication of a job to its return.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, ensure};
use halite_integration_tests::{Master, SHORT, Signal, until};
use serde_json::json;

use crate::support::{Several, between, moment, plain_master, publish};

/// Jobs of one measurement.
const JOBS: usize = 40;

/// How often it is measured again on a machine that has become busier.
const MORE_MEASUREMENTS: usize = 5;

/// What is promised is a millisecond; this is what a busy machine adds to the
/// difference of two medians.
const BUSY: Duration = Duration::from_millis(10);

/// How long it takes from the publication of a job to its return: the median.
fn return_time(master: &Master) -> Result<Duration> {
    // A ping more: what came before the mark is no part of it.
    master.check_ping(&["web1"])?;
    let mark = master.events()?.mark();
    for _ in 0..JOBS {
        master.check_ping(&["web1"])?;
    }
    // The answer of `salt` comes before the last event is read here.
    let mut times = until("every return", SHORT, || {
        let times = times_after(master, mark)?;
        // The ping before may be read only now.
        Ok((times.len() >= JOBS).then_some(times))
    })?;
    times.sort();
    Ok(times[JOBS / 2])
}

/// The shortest of some measurements: what else this machine does comes and
/// goes, what a master costs stays.
fn settled_time(master: &Master, healthy: Duration) -> Result<Duration> {
    let mut best = return_time(master)?;
    for _ in 0..MORE_MEASUREMENTS {
        if best.saturating_sub(healthy) < BUSY {
            break;
        }
        best = best.min(return_time(master)?);
    }
    Ok(best)
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
    let (hung, other, _) = several.two()?;
    return_time(other)?;
    let healthy = return_time(other)?;
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
    let hanging = settled_time(other, healthy)?;
    hung.kill9()?;
    owe(other)?;
    until("the death to be noticed", SHORT, || {
        Ok(other.check_ping(&["web1"]).ok())
    })?;
    let dead = settled_time(other, healthy)?;
    #[allow(clippy::print_stdout, reason = "it is what was measured")]
    {
        println!(
            "publication to return: {healthy:?}, other hangs: {hanging:?}, other dead: {dead:?}"
        );
    }
    for (what, time) in [("hanging", hanging), ("dead", dead)] {
        ensure!(
            time.saturating_sub(healthy) < BUSY,
            "{what}: {time:?}, healthy {healthy:?}"
        );
    }
    Ok(())
}
