//! What must be done once per cluster, and by which master.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Event, SHORT, START, until};
use serde_json::json;

use crate::support::Cluster;

/// The one that was killed is taken for away at once, and the next second is its
/// successor's.
const TAKEN_OVER: Duration = Duration::from_secs(5);

/// What a busy machine adds.
const BUSY: Duration = Duration::from_secs(5);

const TICK: &str = "__schedule_return";

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

#[test]
fn the_schedule_and_engines_run_at_one_master_and_another_takes_over() -> Result<()> {
    let mut cluster = lay()?;
    cluster.start()?;
    let mut order: Vec<usize> = (0..3).collect();
    order.sort_by_key(|n| cluster.masters[*n].address().ip().to_string());
    let &[first, second, third] = order.as_slice() else {
        unreachable!("three were laid")
    };
    let id = |cluster: &Cluster, n: usize| cluster.masters[n].address().ip().to_string();
    let mark = |n: usize| cluster.fleet.path().join(format!("mark{n}"));
    let ran_at = |event: &Event, id: &str| event.tag == TICK && event.data["id"] == id;
    let first_id = id(&cluster, first);
    // All hear of it, and nobody but the first one does it.
    let events = cluster.masters[third].events()?;
    events.wait("a job of the first", START, |event| {
        ran_at(event, &first_id)
    })?;
    let from = events.mark();
    for _ in 0..3 {
        let from = events.mark();
        events.wait_after(from, "the next one", SHORT, |event| event.tag == TICK)?;
    }
    for event in &events.events()[from..] {
        ensure!(
            event.tag != TICK || ran_at(event, &first_id),
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
    let killed = Instant::now();
    let second_id = id(&cluster, second);
    let events = cluster.masters[third].events()?;
    let seen = events.mark();
    events.wait_after(seen, "a job of the second", SHORT, |event| {
        ran_at(event, &second_id)
    })?;
    let took = killed.elapsed();
    ensure!(took < TAKEN_OVER + BUSY, "taken over after {took:?}");
    let mark = |n: usize| cluster.fleet.path().join(format!("mark{n}"));
    let pid = until("the engine of the second", SHORT, || {
        // Its file is there a moment before what it says.
        let pid = fs::read_to_string(mark(second)).unwrap_or_default();
        Ok(Some(pid).filter(|pid| !pid.trim().is_empty()))
    })?;
    ensure!(
        killed.elapsed() < TAKEN_OVER + 2 * BUSY,
        "the engine took {:?}",
        killed.elapsed()
    );
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
        ran_at(event, &first_id)
    })?;
    Ok(())
}
