//! The options of `salt-emulate`: what a herd does with them.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{
    Emulator, Fleet, Kind, Master, Output, Program, Recipe, run, until,
};
use serde_json::Value;

/// Enough for a herd on a machine that does other things, too.
const LONG: Duration = Duration::from_secs(120);

const HERD: u32 = 20;

/// Minions of the herd that never answer, as a percentage and as a number.
const SILENT: (&str, usize) = ("10", 2);

/// Minions that start in a second, and how long the last one waits for its start.
const RAMP: &str = "5";
const RAMPED: Duration = Duration::from_millis(3800);

fn master(fleet: &Fleet) -> Result<Master> {
    let mut master = fleet.master("m1", Kind::Ours).auto_accept().lay()?;
    master.start_on_ports()?;
    Ok(master)
}

fn number(state: &Value, name: &str) -> Result<u64> {
    state[name]
        .as_u64()
        .with_context(|| format!("{name} in {state}"))
}

#[test]
fn a_herd_comes_slowly_is_partly_silent_and_has_a_mine() -> Result<()> {
    let fleet = Fleet::new("herd")?;
    let master = master(&fleet)?;
    let args = ["--ramp", RAMP, "--silent", SILENT.0, "--mine-interval", "1"];
    let begun = Instant::now();
    let herd = Emulator::start(&fleet, &master, (0, HERD), &args)?;
    herd.wait_ready(HERD, LONG)?;
    ensure!(begun.elapsed() >= RAMPED, "all after {:?}", begun.elapsed());

    // The mine of each comes with its start.
    until("the mines of all", LONG, || {
        let asked = ["mine.get", "*", "test.ping", "--out=json"];
        let mines = master.tools(Kind::Ours).runner(&asked)?.ok()?.json()?;
        let count = mines.as_object().map_or(0, serde_json::Map::len);
        Ok((count == HERD as usize).then_some(()))
    })?;

    let output = master
        .salt(&["--async", "--out=txt", "*", "test.ping"])?
        .ok()?;
    let jid = output.stdout.split_whitespace().last().context("no job")?;
    let state = herd.wait("all have taken the job", LONG, |state| {
        state["jobs"].as_u64() >= Some(HERD.into())
    })?;
    let returns = || -> Result<usize> {
        let asked = ["jobs.lookup_jid", jid, "--out=json"];
        let found = master.tools(Kind::Ours).runner(&asked)?.ok()?.json()?;
        Ok(found.as_object().map_or(0, serde_json::Map::len))
    };
    let answering = HERD as usize - SILENT.1;
    until("the others to answer", LONG, || {
        Ok((returns()? >= answering).then_some(()))
    })?;
    // The silent ones have the job for two reports more, and still do not answer.
    let seconds = state["seconds"].as_f64().unwrap_or_default();
    herd.wait("two more reports", LONG, |state| {
        state["seconds"].as_f64() > Some(seconds + 2.0)
    })?;
    ensure!(returns()? == answering, "{} answer", returns()?);
    herd.stop()
}

#[test]
fn minions_of_a_herd_are_replaced_and_counted_once() -> Result<()> {
    let fleet = Fleet::new("herd")?;
    let master = master(&fleet)?;
    let args = [
        "--churn",
        "4",
        "--fresh",
        "--recon-default",
        "100",
        "--recon-max",
        "500",
    ];
    let herd = Emulator::start(&fleet, &master, (0, HERD), &args)?;
    let state = herd.wait("minions are replaced", LONG, |state| {
        state["ready_once"] == HERD && state["joined"].as_u64() > Some(2 * u64::from(HERD))
    })?;
    ensure!(number(&state, "running")? <= HERD.into(), "{state}");
    ensure!(
        number(&state["first_ready"], "count")? > HERD.into(),
        "{state}"
    );
    ensure!(number(&state, "failed")? == 0, "{state}");
    herd.stop()
}

/// `salt-emulate` in its own words, until it ends by itself.
fn ends_by_itself(fleet: &Fleet, master: &Master, args: &[&str]) -> Result<Output> {
    let path = fleet.programs().path(Kind::Ours, Program::Emulate)?;
    let dir = fleet.path().join("herd").display().to_string();
    let address = master.address().request().to_string();
    let fixed = ["--dir", &dir, "--master", &address, "--count", "20"];
    let recipe = Recipe::new("salt-emulate", path, fleet.path());
    run(&recipe.args(&fixed).args(args), LONG)?.ok()
}

#[test]
fn a_herd_ends_when_all_were_ready_or_its_time_is_over() -> Result<()> {
    let fleet = Fleet::new("herd")?;
    let master = master(&fleet)?;
    // One that did not look whether all are ready would not end in time.
    let thinking = ["--until-ready", "--think", "100", "--think-max", "200"];
    let output = ends_by_itself(&fleet, &master, &thinking)?;
    ensure!(
        output.stdout.contains("  links 20  ready 20  lost 0  "),
        "{output}"
    );
    ensure!(
        output.stdout.contains("from start to ready: 20 times, "),
        "{output}"
    );

    let begun = Instant::now();
    let output = ends_by_itself(&fleet, &master, &["--for", "3"])?;
    ensure!(
        begun.elapsed() >= Duration::from_secs(3),
        "{:?}",
        begun.elapsed()
    );
    ensure!(output.stdout.contains("descriptors: "), "{output}");
    ensure!(!output.stdout.contains('{'), "{output}");
    Ok(())
}
