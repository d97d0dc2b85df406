//! Options and numbers of docs/multi-master.md that no other file tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Address, Fleet, KeyState, Kind, Master, START, until};
use serde_json::json;

use crate::support::{Several, between, moment, plain, plain_master, starts, wait_log, wait_ping};

/// What a minion ends with whose key every master rejects (EX_NOPERM).
const REJECTED: i32 = 77;

/// A rejected key ends a minion, unless `rejected_retry` is on: then it serves
/// as soon as the key is accepted.
#[test]
fn a_rejected_key_ends_a_minion_that_does_not_retry() -> Result<()> {
    let fleet = Fleet::new("rejected")?;
    let master = fleet.master("m1", Kind::Ours).start()?;
    let mut minions = Vec::new();
    for (id, retries) in [("web1", false), ("web2", true)] {
        let plan = fleet.minion(id, Kind::Ours).of(&master);
        let plan = plan
            .set("rejected_retry", retries)
            .set("acceptance_wait_time", 1)
            .set("acceptance_wait_time_max", 1);
        minions.push(plan.start()?);
        master.wait_key(id, KeyState::Pending)?;
        master.key(&["-y", "-r", id])?.ok()?;
    }
    assert_eq!(minions[0].daemon().wait_exit(START)?, REJECTED);
    wait_log(minions[1].dir(), &["rejected"])?;
    minions[1].daemon().check_runs()?;
    master
        .key(&["-y", "--include-rejected", "-a", "web2"])?
        .ok()?;
    master.wait_minion("web2")
}

/// `master_type: disable`: no master hears of the minion; its schedule runs.
#[test]
fn a_minion_without_a_master_keeps_its_schedule() -> Result<()> {
    let several = Several::without_minions(1, plain_master)?;
    let ran = several.fleet.path().join("ran");
    let job = json!({
        "function": "cmd.run",
        "args": [format!("touch {}", ran.display())],
        "seconds": 1,
    });
    let minion = several.fleet.minion("web1", Kind::Ours);
    let minion = minion
        .of(&several.masters[0])
        .set("master_type", "disable")
        .set("schedule", json!({ "mark": job }));
    let mut minion = minion.start()?;
    until("the job of the schedule", START, || {
        Ok(ran.exists().then_some(()))
    })?;
    minion.call(&["--local", "test.ping"])?.ok()?;
    minion.daemon().check_runs()?;
    let keys = several.masters[0].key(&["-L", "--out=json"])?.ok()?;
    ensure!(!keys.stdout.contains("web1"), "{keys}");
    Ok(())
}

/// `master_type: distributed`: each minion begins where its id says, so that
/// they spread, and goes to the other master when that one dies.
#[test]
fn distributed_minions_begin_where_their_ids_say() -> Result<()> {
    /// CRC-32 of `web1` to `web6`, modulo the two masters.
    const FIRST: [usize; 6] = [1, 1, 1, 0, 0, 0];
    let mut several = Several::without_minions(2, plain_master)?;
    several.add_minions(FIRST.len(), |plan| {
        plan.set("master_type", "distributed")
            .set("master_alive_interval", 1)
    })?;
    for (minion, first) in several.minions.iter().zip(FIRST) {
        several.masters[first].wait_minion(minion.id())?;
        let elsewhere = starts(&several.masters[1 - first], minion.id())?;
        assert_eq!(elsewhere, 0, "{} is with both", minion.id());
    }
    several.masters[0].kill9()?;
    for minion in &several.minions {
        wait_ping(&several.masters[1], minion.id())?;
    }
    Ok(())
}

/// `source_address`, `source_ret_port` and `source_publish_port`: connections
/// come from there.
#[test]
fn connections_come_from_the_source_address() -> Result<()> {
    let fleet = Fleet::new("source")?;
    let master = fleet.master("m1", Kind::Ours).auto_accept().start()?;
    let source = Address::claim()?;
    let _minion = fleet
        .minion("web1", Kind::Ours)
        .of(&master)
        .set("source_address", source.ip().to_string())
        .set("source_ret_port", source.request().port())
        .set("source_publish_port", source.publish().port())
        .start()?;
    master.wait_minion("web1")?;
    let connections = connections()?;
    for pair in [
        (source.request(), master.address().request()),
        (source.publish(), master.address().publish()),
    ] {
        ensure!(
            connections.contains(&pair),
            "no {pair:?} in {connections:?}"
        );
    }
    Ok(())
}

/// The established TCP connections of IPv4 in the kernel's table.
fn connections() -> Result<BTreeSet<(SocketAddr, SocketAddr)>> {
    const ESTABLISHED: &str = "01";
    let table = fs::read_to_string("/proc/net/tcp")?;
    let mut found = BTreeSet::new();
    for line in table.lines().skip(1) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [_, local, remote, ESTABLISHED, ..] = words.as_slice() {
            found.insert((socket(local)?, socket(remote)?));
        }
    }
    Ok(found)
}

/// An address as the kernel writes it: hexadecimal, in the machine's order.
fn socket(text: &str) -> Result<SocketAddr> {
    let (ip, port) = text.split_once(':').context("no port")?;
    let ip = u32::from_str_radix(ip, 16)?.to_ne_bytes();
    Ok(SocketAddr::from((ip, u16::from_str_radix(port, 16)?)))
}

/// `random_startup_delay`: the links of a fleet do not begin at once.
#[test]
fn random_startup_delay_spreads_sign_ins() -> Result<()> {
    const MINIONS: usize = 6;
    /// All six of them within an eighth of the time would be chance once in
    /// some thousand runs.
    const DELAY: Duration = Duration::from_secs(8);
    let mut several = Several::without_minions(1, plain_master)?;
    several.add_minions(MINIONS, |plan| {
        plan.set("random_startup_delay", DELAY.as_secs())
    })?;
    let master = &several.masters[0];
    for minion in &several.minions {
        master.wait_minion(minion.id())?;
    }
    let events = master.events()?.events();
    let mut begun = Vec::new();
    for minion in &several.minions {
        let tag = format!("salt/minion/{}/start", minion.id());
        let start = events.iter().find(|event| event.tag == tag);
        begun.push(moment(start.context("no start")?)?);
    }
    let first = begun.iter().min().context("no minion")?;
    let spread = begun.iter().map(|begun| between(*first, *begun)).max();
    ensure!(spread.is_some_and(|spread| spread > DELAY / 8), "{begun:?}");
    Ok(())
}

/// What a minion does by itself goes round over the masters that live: each
/// master here knows another part of the mine, so the answer shows who gave it.
#[test]
fn what_a_minion_asks_by_itself_goes_round_over_the_live_masters() -> Result<()> {
    const MASTERS: usize = 3;
    const ROUNDS: usize = 3;
    let mut several = Several::without_minions(MASTERS, plain_master)?;
    let mut parts = Vec::new();
    for (number, master) in several.masters.iter().enumerate() {
        let id = format!("part{number}");
        let plan = several.fleet.minion(&id, Kind::Ours).of(master);
        parts.push(plan.start()?);
        master.wait_minion(&id)?;
        master.salt(&[&id, "mine.send", "test.ping"])?.ok()?;
    }
    let question = json!({ "function": "mine.get", "args": ["part*", "test.ping"], "seconds": 1 });
    several.add_minions(1, |plan| plan.set("schedule", json!({ "ask": question })))?;
    for master in &several.masters {
        master.wait_minion("web1")?;
    }
    // How often each has answered, of so many questions in a row.
    let answered = |by: &Master, times: usize| -> Result<BTreeMap<String, usize>> {
        let bus = by.events()?;
        let mark = bus.mark();
        let answers = until("the answers", START, || {
            let mut events = bus.events().split_off(mark);
            events.retain(|event| {
                event.tag.ends_with("/ret/web1") && event.data["fun"] == "mine.get"
            });
            events.truncate(times);
            Ok((events.len() == times).then_some(events))
        })?;
        let mut answered = BTreeMap::new();
        for answer in answers {
            let parts = answer.data["return"].as_object();
            let part = parts.and_then(|parts| parts.keys().next());
            let part = part.context("nobody has answered")?;
            *answered.entry(part.clone()).or_default() += 1;
        }
        Ok(answered)
    };
    let all = answered(&several.masters[0], MASTERS * ROUNDS)?;
    ensure!(all.len() == MASTERS, "{all:?}");
    ensure!(all.values().all(|times| *times == ROUNDS), "{all:?}");
    several.masters[1].kill9()?;
    wait_log(several.minions[0].dir(), &["connection lost"])?;
    let rest = answered(&several.masters[0], (MASTERS - 1) * ROUNDS)?;
    // The question that was on its way then may be among them.
    let fair = ROUNDS - 1..=ROUNDS + 1;
    ensure!(
        rest.len() == MASTERS - 1 && !rest.contains_key("part1"),
        "{rest:?}"
    );
    ensure!(rest.values().all(|times| fair.contains(times)), "{rest:?}");
    Ok(())
}

/// Twenty masters in one list are all served.
#[test]
fn twenty_masters_are_served() -> Result<()> {
    const MASTERS: usize = 20;
    let several = Several::with(MASTERS, 1, plain_master, plain)?;
    let status = several.minions[0]
        .status(&["--out=json"])?
        .exit(0)?
        .json()?;
    let masters = status["masters"].as_array().context("no masters")?;
    let ready = masters.iter().filter(|master| master["state"] == "ready");
    assert_eq!(ready.count(), MASTERS, "{status}");
    for master in &several.masters {
        master.check_ping(&["web1"])?;
    }
    Ok(())
}
