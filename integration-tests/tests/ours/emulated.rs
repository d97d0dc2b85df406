//! A herd of emulated minions: it connects, answers, sends, and comes back.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::overload::Visitor;
use halite_integration_tests::{Emulator, Fleet, Kind, Master, until};

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

/// How long the fleet is at work before its master is killed.
const AT_WORK: Duration = Duration::from_secs(60);

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
    let begun = Instant::now();
    while begun.elapsed() < AT_WORK {
        let pongs = answers(&master, &ping, is_pong)?;
        ensure!(
            pongs == HERD as usize,
            "{pongs} after {:?}",
            begun.elapsed()
        );
    }
    // A tenth of what they were to send, on a machine that does other things, too.
    let at_work = senders.state().context("no report")?;
    ensure!(
        at_work["events"].as_u64() > Some(200 * AT_WORK.as_secs() / 10),
        "{at_work}"
    );
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

/// How many times more sign-ins are to be sent than are served alone, and for how long.
/// The senders share the processors; at least [`TIMES_MIN`] times more than are granted
/// meanwhile are sent.
const TIMES: f64 = 10.0;
const TIMES_MIN: u64 = 3;
const OVERLOADED: Duration = Duration::from_secs(10);

/// Jobs that are given meanwhile, and some right before the master is killed.
const JOBS: usize = 5;
const JOBS_BEFORE: usize = 3;

/// Minions think up to so many milliseconds before they begin.
const THINK_MS_MAX: &str = "2500";

/// What a master may keep of it, in KiB.
const GROWTH_MAX_KIB: u64 = 64 * 1024;

/// Gives a job to all, without waiting for it.
fn begin_job(master: &Master) -> Result<String> {
    let args = ["--async", "--out=txt", "emu*", "test.ping"];
    let output = master.salt(&args)?.ok()?;
    let jid = output.stdout.split_whitespace().last();
    Ok(jid.context("no job")?.to_owned())
}

/// The fleet comes back to a master that gets many more sign-ins than it can serve:
/// commands are taken meanwhile, and afterwards all is as before, by itself.
#[test]
fn a_fleet_is_whole_after_many_more_sign_ins_than_are_served() -> Result<()> {
    let fleet = Fleet::new("overload")?;
    // However late a minion is back on a busy machine, it hears of the jobs.
    let plan = fleet.master("m1", Kind::Ours).auto_accept();
    let mut master = plan.set("job_replay_window", 600).lay()?;
    master.start_on_ports()?;
    let herd = Emulator::start(&fleet, &master, (0, HERD), &["--think-max", THINK_MS_MAX])?;
    herd.wait_ready(HERD, LONG)?;
    let ping = ["emu*", "test.ping", "--out=txt", "-t", "60"];
    let is_pong = |line: &str| line.ends_with(": True");
    ensure!(answers(&master, &ping, is_pong)? == HERD as usize);
    let visitor = Visitor::new(&master)?;
    let per_s = visitor.served_per_s()?;
    let before_kib = master.own_memory_kib()?;

    // All have these jobs when the master dies, and some of the returns are acknowledged.
    let mut jids = Vec::new();
    while jids.len() < JOBS_BEFORE {
        jids.push(begin_job(&master)?);
    }
    // Each has had one ping before.
    let wanted = u64::from(HERD) * (1 + JOBS_BEFORE as u64);
    herd.wait("all have the jobs", LONG, |state| {
        state["jobs"].as_u64() >= Some(wanted)
    })?;
    master.kill9()?;
    herd.wait("the loss is seen", LONG, |state| state["ready"] == 0)?;
    master.start_on_ports()?;
    let overload = visitor.overload(per_s * TIMES);
    let begun = Instant::now();
    while jids.len() < JOBS_BEFORE + JOBS || begun.elapsed() < OVERLOADED {
        master.tools(Kind::Ours).runner(&["test.arg", "1"])?.ok()?;
        master.key(&["-L"])?.ok()?;
        if jids.len() < JOBS_BEFORE + JOBS {
            jids.push(begin_job(&master)?);
        }
    }
    let outcome = overload.end()?;
    ensure!(
        outcome.all().sent > TIMES_MIN * outcome.all().granted,
        "no overload, at {per_s} a second: {outcome:?}"
    );
    ensure!(outcome.ours.told > 0, "nobody is told: {outcome:?}");
    ensure!(outcome.of_salt.told == 0, "Salt is told: {outcome:?}");

    herd.wait_ready(HERD, LONG)?;
    visitor.sign_in()?;
    // What a minion could not return at once it returns later; nothing is missing.
    for jid in &jids {
        until("all returns of a job", LONG, || {
            let args = ["jobs.lookup_jid", jid, "--out=json"];
            let found = master.tools(Kind::Ours).runner(&args)?.ok()?.json()?;
            let returns = found.as_object().map_or(0, serde_json::Map::len);
            Ok((returns == HERD as usize).then_some(()))
        })
        .with_context(|| format!("{jid}: {:?}", herd.state()))?;
    }
    until("memory to come back", LONG, || {
        let grown = master.own_memory_kib()?.saturating_sub(before_kib);
        Ok((grown < GROWTH_MAX_KIB).then_some(()))
    })?;
    ensure!(answers(&master, &ping, is_pong)? == HERD as usize);
    herd.stop()
}
