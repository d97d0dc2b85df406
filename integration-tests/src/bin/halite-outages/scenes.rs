//! The outages.

use std::time::Duration;

use anyhow::Result;
use halite_integration_tests::Kind;

use crate::fleet::{Count, Pair};

/// A row of the table.
pub(crate) struct Number {
    pub(crate) name: &'static str,
    pub(crate) value: String,
}

/// Pause between two commands: real Salt's `salt` takes longer than most.
const PACE: Duration = Duration::from_secs(1);

/// How long results may take to be found.
const SETTLE: Duration = Duration::from_secs(40);

/// How long it is waited for an answer.
const ANSWER: Duration = Duration::from_secs(90);

/// All outages, one after the other.
pub(crate) fn all(kind: Kind) -> Result<Vec<Number>> {
    let mut numbers = Vec::new();
    hot(kind, &mut numbers)?;
    away(kind, &mut numbers)?;
    orphan(kind, &mut numbers)?;
    failover(kind, &mut numbers)?;
    Ok(numbers)
}

/// Shows a row, and adds it.
pub(crate) fn add(numbers: &mut Vec<Number>, name: &'static str, value: String) {
    println!("  {name}: {value}");
    numbers.push(Number { name, value });
}

fn lost(count: Count) -> String {
    format!("{} of {}", count.without_result, count.sent)
}

fn seconds(time: Option<Duration>) -> String {
    match time {
        Some(time) => format!("{:.1} s", time.as_secs_f64()),
        None => format!("> {} s", ANSWER.as_secs()),
    }
}

/// One of two hot masters dies, while the minion owes it something; it comes
/// back.
fn hot(kind: Kind, numbers: &mut Vec<Number>) -> Result<()> {
    let mut pair = Pair::start(kind, |plan| {
        plan.set("master_alive_interval", 5)
            .set("mine_interval", 1)
            .set("mine_functions", serde_json::json!({ "test.ping": [] }))
    })?;
    pair.masters[1].wait_minion("web1")?;
    let before = pair.cpu()?;
    pair.masters[0].kill9()?;
    pair.send_for(1, 30, PACE)?;
    let used = pair.cpu()? - before;
    let count = pair.count(SETTLE)?;
    add(
        numbers,
        "one of two hot masters dead for 30 s: commands of the living one without a result",
        lost(count),
    );
    add(
        numbers,
        "CPU of the minion and the living master in that time",
        format!("{used:.1} s"),
    );
    pair.masters[0].start()?;
    let back = pair.until_answered(0, ANSWER)?;
    add(
        numbers,
        "the dead master starts again: until a command of it is answered",
        seconds(back),
    );
    pair.masters[0].kill9()?;
    pair.masters[0].start()?;
    pair.send_for(0, 10, PACE)?;
    let count = pair.count(SETTLE)?;
    add(
        numbers,
        "commands of the first 10 s after a master's restart without a result",
        lost(count),
    );
    Ok(())
}

/// The minion is killed, and started again two seconds later.
fn away(kind: Kind, numbers: &mut Vec<Number>) -> Result<()> {
    let mut pair = Pair::start(kind, |plan| plan)?;
    pair.masters[1].wait_minion("web1")?;
    pair.minion.kill9()?;
    for master in [0, 1, 0, 1] {
        pair.send(master, "")?;
    }
    pair.minion.start()?;
    let count = pair.count(Duration::from_secs(20))?;
    add(
        numbers,
        "commands to a minion that is away for seconds: never run",
        format!("{} of {}", count.never_ran, count.sent),
    );
    Ok(())
}

/// The master that asked is dead when the job ends.
fn orphan(kind: Kind, numbers: &mut Vec<Number>) -> Result<()> {
    let mut pair = Pair::start(kind, |plan| plan)?;
    pair.masters[1].wait_minion("web1")?;
    for _ in 0..3 {
        pair.send(0, "sleep 4; ")?;
    }
    pair.until_the_last_ran(Duration::from_millis(500));
    pair.masters[0].kill9()?;
    let count = pair.count(SETTLE)?;
    add(
        numbers,
        "jobs whose master is dead when they end: results lost",
        lost(count),
    );
    Ok(())
}

/// Failover and failback.
fn failover(kind: Kind, numbers: &mut Vec<Number>) -> Result<()> {
    let mut pair = Pair::start(kind, |plan| {
        plan.set("master_type", "failover")
            .set("master_alive_interval", 2)
            .set("master_failback", true)
            .set("master_failback_interval", 2)
    })?;
    // The key is known everywhere, as after the first days.
    let key = |master: usize| pair.masters[master].dir().join("pki/minions/web1");
    std::fs::copy(key(0), key(1))?;
    pair.masters[0].kill9()?;
    let over = pair.until_answered(1, ANSWER)?;
    add(
        numbers,
        "failover after kill -9: until the other master is answered",
        seconds(over),
    );
    pair.masters[0].start()?;
    let back = pair.until_answered(0, ANSWER)?;
    add(
        numbers,
        "failback: until the first master, started again, is answered",
        seconds(back),
    );
    Ok(())
}
