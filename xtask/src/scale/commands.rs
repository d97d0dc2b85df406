//! Commands for all minions, and what they cost the masters.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};
use halite_integration_tests::{Output, until};

use super::measure::{STEP_MAX, Scene, lines_of_minions};
use super::names::{PING, PING_BYTES};

/// Times that a command is given whose time is measured.
const TIMES: usize = 3;

/// What is looked for in the output of a command.
type Check<'c> = &'c dyn Fn(&Output) -> bool;

/// Gives all commands.
pub(super) fn command(scene: &mut Scene<'_>) -> Result<()> {
    let all = scene.plan.count as usize;
    let by_all = |output: &Output| lines_of_minions(output) == all;
    publish(scene)?;
    let ping = ["*", "test.ping", "--out=txt", "-t", "120"];
    let before = scene.masters.traffic();
    timed(scene, PING.0, TIMES, &ping, &by_all)?;
    note_traffic(scene, PING_BYTES.0, before, TIMES);
    let counts = ["targeted", "returned"].map(|what| format!("# of minions {what}: {all}"));
    timed(
        scene,
        "salt --summary '*'",
        1,
        &["--summary", "*", "test.ping", "-t", "120"],
        &|output| (counts.iter()).all(|count| output.lines().contains(&count.as_str())),
    )?;
    let ten = ["emu0000*", "test.ping", "--out=txt", "-t", "60"];
    let by_ten = |output: &Output| lines_of_minions(output) == all.min(10);
    timed(scene, "a target of ten", TIMES, &ten, &by_ten)?;
    let states = ["*", "state.apply", "--out=quiet", "-t", "120"];
    timed(
        scene,
        "state runs of 20 kB by all at once",
        1,
        &states,
        &|_| true,
    )?;
    let pillar = ["*", "pillar.items", "--out=txt", "-t", "120"];
    let has_pillar = |output: &Output| {
        let whole = output.lines().into_iter();
        whole
            .filter(|line| line.contains("account19-of-emu"))
            .count()
            == all
    };
    timed(scene, "pillar for all", 1, &pillar, &has_pillar)?;
    let probe = "salt://probe.txt";
    let file = ["*", "cp.cache_file", probe, "--out=txt", "-t", "120"];
    timed(scene, "a file of 10 kB for all", 1, &file, &by_all)?;
    let batch = ["-b", "10%", "*", "test.ping", "--out=txt", "-t", "120"];
    timed(scene, "salt -b 10% '*' test.ping", 1, &batch, &|_| true)
}

/// A command's time, the median, and what it costs the masters.
fn timed(
    scene: &mut Scene<'_>,
    name: &str,
    times: usize,
    args: &[&str],
    is_right: Check<'_>,
) -> Result<()> {
    let mut took = Vec::new();
    let cpu = scene.masters.cpu()?;
    for _ in 0..times {
        let begun = Instant::now();
        let output = scene.masters.all[0].salt(args)?.ok()?;
        took.push(begun.elapsed().as_secs_f64());
        ensure!(
            is_right(&output),
            "{name}: {} lines of answers: {}",
            lines_of_minions(&output),
            output.stderr
        );
    }
    scene.record_figure(name, "s", median(&mut took));
    let cpu = (scene.masters.cpu()? - cpu) / took.len() as f64;
    scene.record_figure(name, "s of the masters' processor", cpu);
    Ok(())
}

/// How long after the command's beginning the last minion has the job.
fn publish(scene: &mut Scene<'_>) -> Result<()> {
    let mut took = Vec::new();
    for _ in 0..TIMES {
        let jobs = scene.sum_of("jobs") + u64::from(scene.plan.count);
        let begun = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64();
        scene.masters.all[0]
            .salt(&["--async", "*", "test.ping"])?
            .ok()?;
        until("all minions have the job", STEP_MAX, || {
            Ok((scene.sum_of("jobs") >= jobs).then_some(()))
        })?;
        let last = scene
            .states()
            .filter_map(|state| state["last_job"].as_f64());
        took.push(last.fold(0.0, f64::max) - begun);
    }
    let name = "salt --async '*' test.ping: the last minion has the job after";
    scene.record_figure(name, "s", median(&mut took));
    Ok(())
}

/// What has passed between masters since, for each minion and time.
pub(super) fn note_traffic(scene: &mut Scene<'_>, name: &str, before: Option<u64>, times: usize) {
    let (Some(before), Some(after)) = (before, scene.masters.traffic()) else {
        return;
    };
    let each = f64::from(scene.plan.count) * times as f64;
    let bytes = after.saturating_sub(before) as f64 / each;
    scene.record_figure(name, "kB", bytes / 1e3);
}

fn median(took: &mut [f64]) -> f64 {
    took.sort_by(f64::total_cmp);
    took.get(took.len() / 2).copied().unwrap_or(f64::NAN)
}
