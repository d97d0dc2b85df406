//! A fleet that is kept at work: whether memory stays flat and every command is
//! answered by all.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use halite_integration_tests::Emulator;

use super::control::{Control, Ping};
use super::measure::{STEP_MAX, Scene, lines_of_minions};

/// Minions beside the measured ones that send events, and that end and start again.
const RESTLESS: u32 = 50;

/// What they do in a second.
const RESTLESS_ARGS: [&str; 6] = ["--prefix", "restless", "--events", "100", "--churn", "2"];

/// The share of the time after which memory is looked at for the first time: caches
/// have filled by then.
const FILLED_AFTER: f64 = 0.2;

/// What a master's memory may grow by after that: this share of it, and some MiB.
const GROWTH_SHARE_MAX: f64 = 0.1;
const GROWTH_MIB_MAX: f64 = 8.0;

/// Between two rounds of commands.
const PAUSE: Duration = Duration::from_secs(2);

/// Keeps the fleet at work for so long.
pub(super) fn soak(scene: &mut Scene<'_>, time: Duration) -> Result<()> {
    let list = scene.masters.list(0);
    let numbers = (scene.plan.count, RESTLESS);
    let restless = Emulator::start_at(scene.fleet, &list, numbers, &RESTLESS_ARGS)?;
    restless.wait("events flow", STEP_MAX, |state| {
        state["events"].as_u64() > Some(0)
    })?;
    let begun = Instant::now();
    let mut first = None;
    let (mut commands, mut incomplete) = (0_u32, 0_u32);
    let mut control = Control::default();
    while begun.elapsed() < time {
        let master = &scene.masters.all[commands as usize % scene.masters.all.len()];
        let function = ["test.ping", "state.apply", "pillar.items"][commands as usize % 3];
        let output = master.salt(&["emu*", function, "--out=txt", "-t", "120"])?;
        commands += 1;
        incomplete += u32::from(lines_of_minions(&output) < scene.plan.count as usize);
        control.ask(master)?;
        control.ping(&Ping::by(master)?)?;
        if first.is_none() && begun.elapsed() > time.mul_f64(FILLED_AFTER) {
            first = Some(scene.masters.own_kib()?);
        }
        std::thread::sleep(PAUSE);
    }
    let most = |all: &[f64]| all.iter().copied().fold(0.0, f64::max) / 1024.0;
    let first = most(&first.context("no time to look at memory")?);
    let memory = "soak: own memory of a master after a fifth of the time";
    scene.record_figure(memory, "MiB", first);
    let last = most(&scene.masters.own_kib()?);
    scene.record_figure("soak: own memory of a master at the end", "MiB", last);
    let allowed = memory_allowed(first);
    if last > allowed {
        let grown = format!("{first:.1} MiB have grown to {last:.1}: {allowed:.1} are allowed");
        scene.fault(format!("soak: {grown}"));
    }
    scene.record_figure("soak: commands", "", f64::from(commands));
    scene.record_figure(
        "soak: commands not answered by all",
        "",
        f64::from(incomplete),
    );
    control.record_figures(scene, "soak");
    ensure!(
        incomplete == 0,
        "{incomplete} commands were not answered by all"
    );
    restless.stop()
}

/// What a master's memory may have become, if it was this when its caches had filled.
fn memory_allowed(mib: f64) -> f64 {
    mib * (1.0 + GROWTH_SHARE_MAX) + GROWTH_MIB_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_may_grow_a_little_and_not_by_half() {
        for mib in [20.0, 60.0, 1000.0] {
            assert!(memory_allowed(mib) >= mib + GROWTH_MIB_MAX);
            assert!(memory_allowed(mib) < mib * 1.6);
        }
    }
}
