//! A master that gets many more sign-ins than it can serve for some seconds, and many
//! returns at once: what it serves meanwhile, and how soon all is as before.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use halite_integration_tests::overload::Visitor;
use halite_integration_tests::until;

use super::control::{Control, Ping};
use super::measure::{STEP_MAX, Scene, lines_of_minions};

/// How long it lasts.
const LASTS: Duration = Duration::from_secs(10);

/// Jobs for all minions at once.
const JOBS: u64 = 50;

/// When the master has no more memory than before.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(10);

/// Overloads the first master.
pub(super) fn overload(scene: &mut Scene<'_>, times: f64) -> Result<()> {
    let visitor = Visitor::new(&scene.masters.all[0])?;
    let per_s = visitor.served_per_s()?;
    scene.record_figure("overload: sign-ins that are served alone", "/s", per_s);
    let kib = |scene: &Scene<'_>| -> Result<f64> { Ok(scene.masters.own_kib()?[0]) };
    let before = kib(scene)?;
    let mut most = before;
    let mut control = Control::default();
    let ping_of_one = Ping::by(&scene.masters.all[0])?;
    let running = visitor.overload(per_s * times);
    let begun = Instant::now();
    while begun.elapsed() < LASTS {
        control.ask(&scene.masters.all[0])?;
        control.ping(&ping_of_one)?;
        most = kib(scene)?.max(most);
    }
    let outcome = running.end()?;
    let seconds = begun.elapsed().as_secs_f64();
    let ended = Instant::now();
    visitor.sign_in()?;
    let served = ended.elapsed().as_secs_f64();
    until("all are there", STEP_MAX, || {
        Ok((scene.ready() == scene.links()).then_some(()))
    })?;
    let ping = ["emu*", "test.ping", "--out=txt", "-t", "120"];
    let answers = lines_of_minions(&scene.masters.all[0].salt(&ping)?.ok()?);
    ensure!(
        answers == scene.plan.count as usize,
        "{answers} answer after the overload"
    );
    let all = outcome.all();
    let alone = per_s;
    let per_s = |count: u64| count as f64 / seconds;
    scene.record_figure("overload: sign-ins that are sent", "/s", per_s(all.sent));
    // The senders share the processors, and may not reach what they were told.
    let factor = per_s(all.sent) / alone;
    scene.record_figure("overload: times as many as are served alone", "", factor);
    scene.record_figure("overload: that are granted", "/s", per_s(all.granted));
    scene.record_figure(
        "overload: that are told when to come again",
        "/s",
        per_s(all.told),
    );
    let refused = all.sent.saturating_sub(all.granted + all.told);
    scene.record_figure("overload: that get no answer", "/s", per_s(refused));
    control.record_figures(scene, "overload");
    scene.record_figure(
        "overload: a sign-in after the end is served within",
        "s",
        served,
    );
    let whole = ended.elapsed().as_secs_f64();
    scene.record_figure(
        "overload: all have answered a ping after the end",
        "s",
        whole,
    );
    scene.record_figure(
        "overload: own memory of the master before",
        "MiB",
        before / 1024.0,
    );
    scene.record_figure("overload: at most", "MiB", most / 1024.0);
    std::thread::sleep(FORGOTTEN_AFTER.saturating_sub(ended.elapsed()));
    let after = kib(scene)?;
    scene.record_figure("overload: ten seconds after", "MiB", after / 1024.0);
    flood_of_returns(scene)
}

/// Many jobs at once for all minions: how fast their returns are taken, and how long
/// requests take meanwhile.
fn flood_of_returns(scene: &mut Scene<'_>) -> Result<()> {
    let through = |scene: &Scene<'_>| scene.sum_of("acknowledged") + scene.sum_of("spooled");
    let before = through(scene);
    let wanted = u64::from(scene.plan.count) * JOBS;
    let begun = Instant::now();
    for _ in 0..JOBS {
        let args = ["--async", "emu*", "test.ping"];
        scene.masters.all[0].salt(&args)?.ok()?;
    }
    let mut control = Control::default();
    let ping_of_one = Ping::by(&scene.masters.all[0])?;
    while through(scene) < before + wanted {
        let done = through(scene) - before;
        ensure!(begun.elapsed() < STEP_MAX, "{done} of {wanted} returns");
        control.ask(&scene.masters.all[0])?;
        control.ping(&ping_of_one)?;
    }
    let per_s = wanted as f64 / begun.elapsed().as_secs_f64();
    scene.record_figure("flood of returns: that are taken", "/s", per_s);
    let spooled = scene.sum_of("spooled") as f64;
    scene.record_figure("flood of returns: that had to wait on disk", "", spooled);
    control.record_figures(scene, "flood of returns");
    Ok(())
}
