//! The reactor at a thousand events a second, each of which calls for a reaction.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use halite_integration_tests::{Emulator, EventLog, Kind};

use super::measure::{EVENTS, SENDERS, STEP_MAX, Scene};

/// What the reactions fire.
const REACTED: &str = "scale/reacted";

/// How long no reaction ends before they count as over: if all have ended, and if some
/// are missing.
const SILENCE: Duration = Duration::from_secs(3);
const SILENCE_OF_MISSING: Duration = Duration::from_secs(15);

/// Measures it at the first master.
pub(super) fn react(scene: &mut Scene<'_>) -> Result<()> {
    let master = &scene.masters.all[0];
    let file = master.dir().join("react.sls");
    fs::write(
        &file,
        format!(
            "{{% if data['data']['emulated'] %}}\ntell:\n  runner.event.send:\n    - args:\n      \
             - tag: {REACTED}\n{{% endif %}}\n"
        ),
    )?;
    let path = file.display().to_string();
    let tools = master.tools(Kind::Ours);
    tools
        .runner(&["reactor.add", "emulate/load", &path, "--out=quiet"])?
        .ok()?;
    let list = [master.address()];
    let first = scene.plan.count + SENDERS;
    let args = ["--prefix", "caller", "--events", "1000"];
    // Nobody listens to the masters of a measurement otherwise.
    let log = EventLog::open(&master.dir().join("run/master_event_pub.ipc"))?;
    let senders = Emulator::start_at(scene.fleet, &list, (first, SENDERS), &args)?;
    senders.wait("events flow", STEP_MAX, |state| {
        state["events"].as_u64() > Some(0)
    })?;
    let begun = (Instant::now(), scene.masters.cpu()?);
    let enough = 1000 * EVENTS.as_secs();
    senders.wait("the events are taken", STEP_MAX, |state| {
        state["events"].as_u64() >= Some(enough)
    })?;
    let seconds = begun.0.elapsed().as_secs_f64();
    let share = (scene.masters.cpu()? - begun.1) / seconds;
    senders.stop()?;
    let ended = Instant::now();
    let (sent, reacted, last) = settle(&log, ended)?;
    let tools = scene.masters.all[0].tools(Kind::Ours);
    tools
        .runner(&["reactor.delete", "emulate/load", "--out=quiet"])?
        .ok()?;
    let name = "1000 events/s with a reaction each: processor of the masters";
    scene.record_figure(name, "% of a core", share * 100.0);
    let part = reacted as f64 * 100.0 / sent as f64;
    scene.record_figure(
        "1000 events/s with a reaction each: reactions done",
        "%",
        part,
    );
    let name = "1000 events/s with a reaction each: the last one after the last event";
    scene.record_figure(name, "s", last.as_secs_f64());
    if reacted != sent {
        scene.fault(format!("{reacted} of {sent} events had a reaction"));
    }
    Ok(())
}

/// Waits until no reaction ends any more: how many events there were, how many
/// reactions, and how long after `ended` the last one was.
fn settle(log: &EventLog, ended: Instant) -> Result<(usize, usize, Duration)> {
    let (mut reacted, mut changed) = (0, ended);
    loop {
        let count = |tag: &str| log.count(|event| event.tag == tag);
        let now = count(REACTED);
        if now != reacted {
            (reacted, changed) = (now, Instant::now());
        }
        let sent = count("emulate/load");
        let silence = match reacted == sent {
            true => SILENCE,
            false => SILENCE_OF_MISSING,
        };
        if changed.elapsed() > silence {
            return Ok((sent, reacted, changed.duration_since(ended)));
        }
        ensure!(ended.elapsed() < STEP_MAX, "reactions do not end");
        std::thread::sleep(Duration::from_millis(200));
    }
}
