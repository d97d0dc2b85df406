//! From the text of states and pillars to data: `salt-call --local`, and the
//! pillars that a master makes for its minions.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use halite_integration_tests::{Fleet, Kind, Minion};
use serde_json::json;

use crate::daemons::{SETTLE, new_fleet, plan};
use crate::load;
use crate::measure::{Effort, Numbers, Unit, mebibytes, median};
use crate::trees;

/// States and pillars compiled.
pub(crate) fn compile(kind: Kind, effort: Effort, numbers: &mut Numbers) -> Result<()> {
    let fleet = new_fleet()?;
    let plain = masterless(&fleet, kind, "web1", "plain")?;
    let formulas = masterless(&fleet, kind, "web2", "formulas")?;
    for (minion, name, states, aim) in [
        (
            &plain,
            "`state.show_lowstate`, 1000 states",
            trees::PLAIN_STATES_ALL,
            "30x",
        ),
        (
            &formulas,
            "`state.show_lowstate`, formulas of 110 templates",
            trees::FORMULA_TEMPLATES,
            "20x",
        ),
    ] {
        let time = called(minion, effort, "state.show_lowstate", |chunks| {
            chunks.as_array().is_some_and(|all| all.len() == states)
        })?;
        numbers.add(name, time, Unit::Milliseconds, aim);
    }
    let time = called(&formulas, effort, "pillar.items", |pillar| {
        pillar.get("f9").is_some() && pillar.get("_errors").is_none()
    })?;
    numbers.add(
        "`salt-call --local pillar.items`, 11 templates",
        time,
        Unit::Milliseconds,
        "20x",
    );
    pillars(&fleet, kind, effort, numbers)
}

/// Pillars for many minions at once, by one master.
fn pillars(fleet: &Fleet, kind: Kind, effort: Effort, numbers: &mut Numbers) -> Result<()> {
    let mut master = plan(fleet, kind)?;
    master.stop_listening();
    trees::pillar(&master.dir().join("pillar"))?;
    // The first ones fill what is kept of files and modules.
    load::pillars(&master, "first", Duration::from_secs(1))?;
    std::thread::sleep(SETTLE);
    let before = master.memory_kib()?;
    let rate = load::pillars(&master, "later", effort.load)?;
    std::thread::sleep(SETTLE * 2);
    let after = master.memory_kib()?;
    numbers.add(
        "pillars of 11 templates, by one master",
        rate,
        Unit::PerSecond,
        "20x Salt's",
    );
    numbers.add(
        "master's memory (PSS) after them",
        mebibytes(after),
        Unit::Mebibytes,
        "",
    );
    numbers.add(
        "master's memory after them, to that before",
        mebibytes(after) / mebibytes(before),
        Unit::Times,
        "1.5x",
    );
    Ok(())
}

/// A minion that is never started, with files of its own.
fn masterless(fleet: &Fleet, kind: Kind, id: &str, sls: &str) -> Result<Minion> {
    let dir = fleet.path().join(id);
    let (srv, pillar, target) = (dir.join("srv"), dir.join("pillar"), dir.join("target"));
    let minion = fleet
        .minion(id, kind)
        .set("master", "127.0.0.1")
        .set("file_client", "local")
        .set("file_roots", json!({ "base": [srv] }))
        .set("pillar_roots", json!({ "base": [pillar] }))
        .set("log_level_logfile", "error")
        .lay()?;
    trees::plain(&srv, &target)?;
    trees::formulas(&srv, &target)?;
    trees::pillar(&pillar)?;
    trees::top(&srv, sls)?;
    Ok(minion)
}

/// How long a function of `salt-call --local` takes, start and end of the
/// program included.
fn called(
    minion: &Minion,
    effort: Effort,
    fun: &str,
    is_right: impl Fn(&serde_json::Value) -> bool,
) -> Result<f64> {
    let mut times = Vec::new();
    // Once before it counts, so that modules and caches are on disk.
    for number in 0..=effort.calls {
        let begun = Instant::now();
        let output = minion.call(&["--local", "--out=json", fun])?;
        let took = begun.elapsed();
        let value = output.ok()?.of("local")?;
        ensure!(is_right(&value), "{fun} gave {}", shortened(&value));
        if number > 0 {
            times.push(took);
        }
    }
    median(times)
}

/// The beginning of a value, for an error.
fn shortened(value: &serde_json::Value) -> String {
    const CHARS: usize = 2000;
    value.to_string().chars().take(CHARS).collect()
}
