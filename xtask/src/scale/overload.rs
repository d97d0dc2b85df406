//! A master that gets many more sign-ins than it can serve for some seconds: what it
//! serves meanwhile, and how soon all is as before.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use halite_integration_tests::overload::Visitor;
use halite_integration_tests::until;

use super::measure::{STEP_MAX, Scene, lines_of_minions, percentile_99, time_of_runner};

/// How long it lasts.
const LASTS: Duration = Duration::from_secs(10);

/// When the master has no more memory than before.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(10);

/// Overloads the first master.
pub(super) fn overload(scene: &mut Scene<'_>, times: f64) -> Result<()> {
    let visitor = Visitor::new(&scene.masters.all[0])?;
    let per_s = visitor.served_per_s()?;
    scene.note("overload: sign-ins that are served alone", "/s", per_s);
    let kib = |scene: &Scene<'_>| -> Result<f64> { Ok(scene.masters.own_kib()?[0]) };
    let before = kib(scene)?;
    let mut most = before;
    let mut asked = Vec::new();
    let running = visitor.overload(per_s * times);
    let begun = Instant::now();
    while begun.elapsed() < LASTS {
        asked.push(time_of_runner(&scene.masters.all[0])?);
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
    let per_s = |count: u64| count as f64 / seconds;
    scene.note("overload: sign-ins that are sent", "/s", per_s(all.sent));
    scene.note("overload: that are granted", "/s", per_s(all.granted));
    scene.note(
        "overload: that are told when to come again",
        "/s",
        per_s(all.told),
    );
    let refused = all.sent.saturating_sub(all.granted + all.told);
    scene.note("overload: that get no answer", "/s", per_s(refused));
    let runner = "overload: `salt-run test.arg` meanwhile, 99 % within";
    scene.note(runner, "ms", percentile_99(asked));
    scene.note(
        "overload: a sign-in after the end is served within",
        "s",
        served,
    );
    let whole = ended.elapsed().as_secs_f64();
    scene.note(
        "overload: all have answered a ping after the end",
        "s",
        whole,
    );
    scene.note(
        "overload: own memory of the master before",
        "MiB",
        before / 1024.0,
    );
    scene.note("overload: at most", "MiB", most / 1024.0);
    std::thread::sleep(FORGOTTEN_AFTER.saturating_sub(ended.elapsed()));
    let after = kib(scene)?;
    scene.note("overload: ten seconds after", "MiB", after / 1024.0);
    Ok(())
}
