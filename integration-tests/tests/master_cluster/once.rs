//! What must be done once per cluster, and by which master.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Kind, SHORT, START, Signal, until};
use serde_json::{Value, json};

use crate::support::{Cluster, address};
use crate::ticks::{BUSY, TICK, TICK_EVERY, gap, is_tick, ticks};

/// As documented: one that was killed has a successor at once, one that hangs after so
/// long.
const HANGS_FOR: Duration = Duration::from_secs(3);

/// The last run before may be lost with its master, and the next second is its successor's.
const RUNS_BETWEEN: u32 = 2;

const ENGINE: &str = "\
import os, time

def start(mark):
    with open(mark, 'w') as out:
        out.write(str(os.getpid()))
    while True:
        time.sleep(60)
";

/// Masters with a job each second and an engine; the engine leaves a file for each
/// master.
fn lay() -> Result<Cluster> {
    let cluster = Cluster::lay(3, |plan| {
        plan.set(
            "schedule",
            json!({"tick": {"function": "test.sleep", "args": [0], "seconds": 1}}),
        )
    })?;
    let engines = cluster.fleet.path().join("engines");
    fs::create_dir_all(&engines)?;
    fs::write(engines.join("clockwork.py"), ENGINE)?;
    for (n, master) in cluster.masters.iter().enumerate() {
        let text = json!({
            "engines_dirs": [engines],
            "engines": [{"clockwork": {"mark": cluster.fleet.path().join(format!("mark{n}"))}}],
        });
        fs::write(master.dir().join("master.d/engines.conf"), text.to_string())?;
    }
    Ok(cluster)
}

/// The masters as they become the first.
fn in_order(cluster: &Cluster) -> [usize; 3] {
    let mut order = [0, 1, 2];
    order.sort_by_key(|n| address(cluster, *n));
    order
}

/// Waits until a successor runs the job, and checks that it is `within` what is documented,
/// as a third master has seen it.
fn check_taken_over(
    cluster: &Cluster,
    (before, successor): (usize, usize),
    seen_by: usize,
    within: Duration,
) -> Result<()> {
    let (before, successor) = (address(cluster, before), address(cluster, successor));
    let events = cluster.masters[seen_by].events()?;
    events.wait("a job of the successor", SHORT, |event| {
        is_tick(event, &successor)
    })?;
    let all = events.events();
    let took = gap(&ticks(&all, &before)?, &ticks(&all, &successor)?)?;
    let allowed = within + RUNS_BETWEEN * TICK_EVERY + BUSY;
    ensure!(took < allowed, "taken over after {took:?}");
    Ok(())
}

#[test]
fn another_master_takes_over_from_one_that_hangs() -> Result<()> {
    let mut cluster = lay()?;
    cluster.start()?;
    let [first, second, third] = in_order(&cluster);
    let (first_id, second_id) = (address(&cluster, first), address(&cluster, second));
    let events = cluster.masters[third].events()?;
    events.wait("a job of the first", START, |event| {
        is_tick(event, &first_id)
    })?;
    cluster.masters[first].daemon().signal(Signal::SIGSTOP)?;
    check_taken_over(&cluster, (first, second), third, HANGS_FOR)?;
    // The first one does it again when it goes on, and the second stops.
    cluster.masters[first].daemon().signal(Signal::SIGCONT)?;
    let tools = cluster.masters[second].tools(Kind::Ours);
    until("the second to stop", START, || {
        let shown = tools.runner(&["cluster.status", "--out=json"])?.ok()?;
        let shown: Value = serde_json::from_str(&shown.stdout)?;
        Ok((shown["runs_schedule"] == false).then_some(()))
    })?;
    let events = cluster.masters[third].events()?;
    let from = events.mark();
    events.wait_after(from, "a job of the first again", START, |event| {
        is_tick(event, &first_id)
    })?;
    let from = events.mark();
    for _ in 0..3 {
        let from = events.mark();
        events.wait_after(from, "the next one", SHORT, |event| event.tag == TICK)?;
    }
    let after = events.events();
    ensure!(
        ticks(&after[from..], &second_id)?.is_empty(),
        "the second goes on"
    );
    Ok(())
}

#[test]
fn the_schedule_and_engines_run_at_one_master_and_another_takes_over() -> Result<()> {
    let mut cluster = lay()?;
    cluster.start()?;
    let [first, second, third] = in_order(&cluster);
    let mark = |n: usize| cluster.fleet.path().join(format!("mark{n}"));
    let first_id = address(&cluster, first);
    // All hear of it, and nobody but the first one does it.
    let events = cluster.masters[third].events()?;
    events.wait("a job of the first", START, |event| {
        is_tick(event, &first_id)
    })?;
    let from = events.mark();
    for _ in 0..3 {
        let from = events.mark();
        events.wait_after(from, "the next one", SHORT, |event| event.tag == TICK)?;
    }
    for event in &events.events()[from..] {
        ensure!(
            event.tag != TICK || is_tick(event, &first_id),
            "{} runs it too",
            event.data["id"]
        );
    }
    until("the engine of the first", START, || {
        Ok(mark(first).exists().then_some(()))
    })?;
    ensure!(
        !mark(second).exists() && !mark(third).exists(),
        "engines run twice"
    );

    cluster.masters[first].kill9()?;
    check_taken_over(&cluster, (first, second), third, Duration::ZERO)?;
    let mark = |n: usize| cluster.fleet.path().join(format!("mark{n}"));
    let pid = until("the engine of the second", SHORT, || {
        // Its file is there a moment before what it says.
        let pid = fs::read_to_string(mark(second)).unwrap_or_default();
        Ok(Some(pid).filter(|pid| !pid.trim().is_empty()))
    })?;
    ensure!(!mark(third).exists(), "the engine runs twice");

    // The first one does it again when it is back, and the second stops.
    fs::remove_file(mark(first))?;
    cluster.masters[first].start()?;
    let mark = |n: usize| cluster.fleet.path().join(format!("mark{n}"));
    until("the engine of the first again", START, || {
        Ok(mark(first).exists().then_some(()))
    })?;
    let process = std::path::Path::new("/proc").join(pid.trim());
    until("the engine of the second to end", START, || {
        Ok((!process.exists()).then_some(()))
    })?;
    let events = cluster.masters[third]
        .events()
        .context("the third one runs")?;
    let seen = events.mark();
    events.wait_after(seen, "a job of the first again", SHORT, |event| {
        is_tick(event, &first_id)
    })?;
    Ok(())
}
