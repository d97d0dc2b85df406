//! What a slow or dead master costs the others: measured at the master that
//! lives, from the publication of a job to its return.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use halite_integration_tests::{Master, SHORT, Signal, until};
use serde_json::json;

use crate::support::{Several, plain_master};

/// Jobs of one measurement.
const JOBS: usize = 40;

/// What is promised is a millisecond; this is what a busy machine adds to the
/// difference of two medians.
const BUSY: Duration = Duration::from_millis(10);

/// The moment of an event within its day.
fn moment(stamp: &str) -> Result<Duration> {
    let time = stamp.split('T').nth(1).context("no time")?;
    let time = time.split(['+', 'Z']).next().unwrap_or(time);
    let mut seconds = 0.0;
    for part in time.split(':') {
        seconds = seconds * 60.0 + part.parse::<f64>()?;
    }
    Ok(Duration::from_secs_f64(seconds))
}

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
        Ok((times.len() == JOBS).then_some(times))
    })?;
    times.sort();
    Ok(times[JOBS / 2])
}

fn times_after(master: &Master, mark: usize) -> Result<Vec<Duration>> {
    let mut published = BTreeMap::new();
    let mut times = Vec::new();
    for event in master.events()?.events().into_iter().skip(mark) {
        let stamp = event.data["_stamp"].as_str().unwrap_or_default();
        let parts: Vec<&str> = event.tag.split('/').collect();
        match parts.as_slice() {
            ["salt", "job", jid, "new"] => {
                published.insert((*jid).to_owned(), moment(stamp)?);
            }
            ["salt", "job", jid, "ret", "web1"] => {
                if let Some(begun) = published.get(*jid) {
                    times.push(moment(stamp)?.saturating_sub(*begun));
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
    crate::support::publish(hung, "web1", "sleep 0.5; echo owed")?;
    hung.daemon().signal(Signal::SIGSTOP)?;
    owe(other)?;
    let hanging = return_time(other)?;
    hung.kill9()?;
    owe(other)?;
    until("the death to be noticed", SHORT, || {
        Ok(other.check_ping(&["web1"]).ok())
    })?;
    let dead = return_time(other)?;
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
