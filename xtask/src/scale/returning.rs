//! A fleet that loses one of its masters, and one that loses them all and comes back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use halite_integration_tests::until;

use super::control::{Control, Ping};
use super::measure::{STEP_MAX, Scene, lines_of_minions};
use super::names::RETURNED;

/// Between two pings of the one minion that is pinged meanwhile.
const PAUSE: Duration = Duration::from_millis(100);

/// Where there are several, the first master dies: until all answer a ping of another
/// one. Then it starts again.
pub(super) fn lose_one(scene: &mut Scene<'_>) -> Result<()> {
    if scene.masters.all.len() < 2 {
        return Ok(());
    }
    let count = scene.plan.count as usize;
    let killed = Instant::now();
    scene.masters.all[0].kill9()?;
    loop {
        let ping = ["emu*", "test.ping", "--out=txt", "-t", "5"];
        let answers = lines_of_minions(&scene.masters.all[1].salt(&ping)?);
        if answers == count {
            break;
        }
        ensure!(killed.elapsed() < STEP_MAX, "{answers} of {count} answer");
    }
    let seconds = killed.elapsed().as_secs_f64();
    let name = "a master dies: all have answered a ping of another one after";
    scene.record_figure(name, "s", seconds);
    scene.masters.all[0].start_on_ports()?;
    until("all are ready", STEP_MAX, || {
        Ok((scene.ready() == scene.links()).then_some(()))
    })
}

/// All masters are killed and start again at once.
pub(super) fn come_back(scene: &mut Scene<'_>) -> Result<()> {
    let lost = scene.lost();
    let killed = Instant::now();
    for master in &mut scene.masters.all {
        master.kill9()?;
    }
    for master in &mut scene.masters.all {
        master.start_on_ports()?;
    }
    let control = ask_until_all_are_back(scene, lost, killed)?;
    let back = killed.elapsed().as_secs_f64();
    // The processes are new ones, so that this is all that the return has cost.
    let cpu = scene.masters.cpu()? * 1e3 / f64::from(scene.plan.count);
    let ping = ["emu*", "test.ping", "--out=txt", "-t", "120"];
    let output = scene.masters.all[0].salt(&ping)?.ok()?;
    let answers = lines_of_minions(&output);
    ensure!(
        answers == scene.plan.count as usize,
        "{answers} answer after the return"
    );
    let answered = killed.elapsed().as_secs_f64();
    scene.record_figure("returning fleet: all are back after", "s", back);
    scene.record_figure(
        "returning fleet: all have answered a ping after",
        "s",
        answered,
    );
    scene.record_figure(RETURNED.0, RETURNED.1, cpu);
    control.record_figures(scene, "returning fleet");
    Ok(())
}

fn ask_until_all_are_back(scene: &Scene<'_>, lost: u64, killed: Instant) -> Result<Control> {
    let ping = Ping::by(&scene.masters.all[0])?;
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        // A ping of a minion that is not back yet keeps nothing else waiting.
        let pinging = scope.spawn(|| -> Result<Control> {
            let goes_on = || !is_over.load(Ordering::Relaxed);
            // The first answer shows only when this minion itself was back.
            let mut first = Control::default();
            while goes_on() && !first.was_answered() {
                first.ping(&ping)?;
                thread::sleep(PAUSE);
            }
            let mut control = Control::default();
            while goes_on() {
                control.ping(&ping)?;
                thread::sleep(PAUSE);
            }
            Ok(control)
        });
        let mut control = Control::default();
        let asked = ask_meanwhile(scene, lost, killed, &mut control);
        is_over.store(true, Ordering::Relaxed);
        let pings = pinging.join().map_err(|_| anyhow!("a thread panicked"))?;
        asked?;
        control.add(pings?);
        Ok(control)
    })
}

fn ask_meanwhile(
    scene: &Scene<'_>,
    lost: u64,
    killed: Instant,
    control: &mut Control,
) -> Result<()> {
    let links = scene.links();
    while scene.lost() < lost + links || scene.ready() < links {
        ensure!(killed.elapsed() < STEP_MAX, "{} are back", scene.ready());
        control.ask(&scene.masters.all[0])?;
    }
    Ok(())
}
