//! State runs of a minion that serves its master, as an admin asks for them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Kind, Master, family, pss_kib};

use crate::daemons::{SETTLE, minion, new_fleet, plan};
use crate::measure::{Effort, Numbers, Unit, mebibytes, millis};
use crate::trees;

/// How often the minion's memory is looked at while it works.
const LOOK: Duration = Duration::from_millis(10);

/// Two runs of each tree: the first writes, the second finds all as it is.
pub(crate) fn runs(kind: Kind, _effort: Effort, numbers: &mut Numbers) -> Result<()> {
    let fleet = new_fleet()?;
    let mut master = plan(&fleet, kind)?;
    let (srv, target) = (master.dir().join("srv"), fleet.path().join("target"));
    trees::plain(&srv, &target)?;
    trees::formulas(&srv, &target)?;
    trees::pillar(&master.dir().join("pillar"))?;
    let mut web1 = minion(&fleet, kind, &master, 1)?;
    master.stop_listening();
    std::thread::sleep(SETTLE);
    let idle = web1.memory_kib()?;
    let pid = web1.daemon().pid()?;
    let mut most = idle;
    for (sls, what, states) in [
        (
            "formulas",
            "110 states of formulas",
            trees::FORMULA_TEMPLATES,
        ),
        ("plain", "1000 `file.managed`", trees::PLAIN_STATES_ALL),
    ] {
        for time in ["first", "second"] {
            let (took, memory) = watched(pid, || run(&master, sls, states))?;
            most = most.max(memory);
            numbers.add(
                &format!("`state.apply`, {what}, {time} run"),
                millis(took),
                Unit::Milliseconds,
                "20x",
            );
        }
    }
    std::thread::sleep(SETTLE * 2);
    let after = web1.memory_kib()?;
    let times = |kib: u64| mebibytes(kib) / mebibytes(idle);
    numbers.add(
        "minion's memory (PSS) during these runs",
        mebibytes(most),
        Unit::Mebibytes,
        "",
    );
    numbers.add("- to that before", times(most), Unit::Times, "2x");
    numbers.add(
        "minion's memory (PSS) after these runs",
        mebibytes(after),
        Unit::Mebibytes,
        "",
    );
    numbers.add("- to that before them", times(after), Unit::Times, "1.5x");
    Ok(())
}

/// Runs a state through the master; each state must be a success.
pub(crate) fn run(master: &Master, sls: &str, states: usize) -> Result<Duration> {
    let begun = Instant::now();
    let output = master.salt(&["-t", "300", "web1", "state.apply", sls, "--out=json"])?;
    let took = begun.elapsed();
    let output = output.ok()?;
    let mut returned = output.by_minion()?;
    let results = returned
        .remove("web1")
        .with_context(|| format!("no return in {output}"))?;
    let good = results.as_object().map_or(0, |results| {
        results
            .values()
            .filter(|result| result.get("result") == Some(&true.into()))
            .count()
    });
    ensure!(good == states, "{good} of {states} states are well");
    Ok(took)
}

/// Does something while the memory of a daemon's processes is watched; the
/// most that was seen, in KiB.
fn watched<T>(pid: i32, work: impl FnOnce() -> Result<T>) -> Result<(T, u64)> {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| -> Result<u64> {
            let mut most = 0;
            while !done.load(Ordering::Acquire) {
                most = most.max(pss_kib(&family(pid))?);
                std::thread::sleep(LOOK);
            }
            Ok(most)
        });
        let worked = work();
        done.store(true, Ordering::Release);
        let most = watching.join().ok().context("the watch panicked")??;
        Ok((worked?, most))
    })
}
