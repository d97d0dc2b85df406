//! A herd of emulated minions: it connects, answers, sends, and comes back.

use std::time::Duration;

use anyhow::{Result, ensure};
use halite_integration_tests::{Emulator, Fleet, Kind, Master};

/// Enough for a herd on a machine that does other things, too.
const LONG: Duration = Duration::from_secs(120);

const HERD: u32 = 300;

/// How many minions have answered a command with this line.
fn answers(master: &Master, args: &[&str], wanted: impl Fn(&str) -> bool) -> Result<usize> {
    let output = master.salt(args)?.ok()?;
    Ok(output
        .lines()
        .into_iter()
        .filter(|line| wanted(line))
        .count())
}

#[test]
fn three_hundred_minions_come_work_and_come_back() -> Result<()> {
    let fleet = Fleet::new("herd")?;
    let mut master = fleet.master("m1", Kind::Ours).auto_accept().lay()?;
    master.start_on_ports()?;
    let args = ["--state-bytes", "5000", "--failing", "10"];
    let herd = Emulator::start(&fleet, &master, (0, HERD), &args)?;
    herd.wait_ready(HERD, LONG)?;
    let ping = ["emu*", "test.ping", "--out=txt", "-t", "60"];
    let is_pong = |line: &str| line.ends_with(": True");
    ensure!(answers(&master, &ping, is_pong)? == HERD as usize);

    // A tenth of the runs fails, which is an exit code of its own.
    let states = master.salt(&["*", "state.apply", "--out=json", "--static", "-t", "60"])?;
    let runs = states.by_minion()?;
    ensure!(runs.len() == HERD as usize, "{} runs", runs.len());
    let failed = runs
        .values()
        .filter(|run| run.to_string().contains("\"result\":false"));
    let failed = failed.count();
    ensure!((5..100).contains(&failed), "{failed} runs have failed");

    let senders = Emulator::start(
        &fleet,
        &master,
        (HERD, 10),
        &["--prefix", "sender", "--events", "200"],
    )?;
    let sent = senders.wait("events are taken", LONG, |state| {
        state["events"].as_u64() >= Some(400)
    })?;
    ensure!(sent["events_failed"] == 0, "{sent}");
    senders.stop()?;

    master.kill9()?;
    herd.wait("the loss is seen", LONG, |state| state["ready"] == 0)?;
    master.start_on_ports()?;
    herd.wait_ready(HERD, LONG)?;
    ensure!(answers(&master, &ping, is_pong)? == HERD as usize);
    let after = herd.wait("all returns are taken", LONG, |state| {
        let taken = state["acknowledged"].as_u64();
        taken.is_some() && taken == state["jobs"].as_u64()
    })?;
    ensure!(after["spooled"] == 0 && after["failed"] == 0, "{after}");
    herd.stop()
}
