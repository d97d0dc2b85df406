//! Masters and minions that are gone, and how long the others take to notice.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Address, Kind, Master, Minion, SHORT, until};
use serde_json::json;

use crate::daemons::{minion, new_fleet, plan};
use crate::measure::{Effort, Numbers, Unit, median, millis};

/// How long it is asked again before it counts as a failure.
const LIMIT: Duration = Duration::from_secs(120);

/// How long a minion is dead before `salt` is asked not to wait for it: one
/// that has just gone may be connecting again.
const DEAD: Duration = Duration::from_secs(7);

/// Everything about those who are gone.
pub(crate) fn silence(kind: Kind, effort: Effort, numbers: &mut Numbers) -> Result<()> {
    dead_minion(kind, numbers)?;
    orphan(kind, numbers)?;
    calls(kind, effort, numbers)?;
    failover(kind, numbers)
}

/// `salt '*'` with one of two minions killed.
fn dead_minion(kind: Kind, numbers: &mut Numbers) -> Result<()> {
    let fleet = new_fleet()?;
    let master = plan(&fleet, kind)?;
    let _web1 = minion(&fleet, kind, &master, 1)?;
    let mut web2 = minion(&fleet, kind, &master, 2)?;
    web2.kill9()?;
    std::thread::sleep(DEAD);
    let begun = Instant::now();
    let output = master.salt(&["*", "test.ping", "--out=txt"])?;
    let took = begun.elapsed();
    ensure!(
        output.stdout.contains("web1: True"),
        "no answer of web1 in {output}"
    );
    numbers.add(
        "`salt '*' test.ping`, one of two minions dead for 7 s",
        millis(took),
        Unit::Milliseconds,
        "1000 ms",
    );
    Ok(())
}

/// SIGTERM of a minion whose master is gone.
fn orphan(kind: Kind, numbers: &mut Numbers) -> Result<()> {
    let fleet = new_fleet()?;
    let mut master = plan(&fleet, kind)?;
    let mut web1 = minion(&fleet, kind, &master, 1)?;
    // It owes the master something, as in life.
    master.salt(&["--async", "web1", "cmd.run", "sleep 1; echo done"])?;
    master.kill9()?;
    std::thread::sleep(Duration::from_secs(3));
    let begun = Instant::now();
    web1.daemon().stop(SHORT)?;
    numbers.add(
        "SIGTERM of a minion whose master is gone",
        millis(begun.elapsed()),
        Unit::Milliseconds,
        "1000 ms",
    );
    Ok(())
}

/// `salt-call` with the first of two masters well, dead, and mute.
fn calls(kind: Kind, effort: Effort, numbers: &mut Numbers) -> Result<()> {
    let fleet = new_fleet()?;
    let mut first = plan(&fleet, kind)?;
    let second = fleet
        .master("m2", kind)
        .auto_accept()
        .key_pair_of(&first)
        .set("log_level_logfile", "error")
        .start()?;
    // No daemon runs: nobody tells `salt-call` who lives.
    let alone = |id: &str, name: &str, masters: &[String]| {
        fleet
            .minion(id, kind)
            .set("master", json!(masters))
            .set("log_level_logfile", "error")
            .lay()
            .with_context(|| format!("the minion with {name}"))
    };
    let request = |master: &Master| master.address().request().to_string();
    let both = alone("web1", "both", &[request(&first), request(&second)])?;
    let well = called(&both, effort.calls)?;
    numbers.add(
        "`salt-call test.ping`, both masters well",
        well,
        Unit::Milliseconds,
        "",
    );
    first.kill9()?;
    let dead = called(&both, effort.calls.min(2))?;
    numbers.add(
        "`salt-call test.ping`, the first master dead",
        dead,
        Unit::Milliseconds,
        "",
    );
    numbers.add("- to both well", dead / well, Unit::Times, "1.2x");
    // Connections are accepted by the system and nobody ever reads.
    let nowhere = Address::claim()?;
    let _mute = TcpListener::bind(nowhere.request())?;
    let mute = alone(
        "web2",
        "a mute master",
        &[nowhere.request().to_string(), request(&second)],
    )?;
    let mute = called(&mute, effort.calls.min(2))?;
    numbers.add(
        "`salt-call test.ping`, the first master mute",
        mute,
        Unit::Milliseconds,
        "",
    );
    numbers.add("- to both answering", mute / well, Unit::Times, "1.2x");
    Ok(())
}

fn called(minion: &Minion, times: usize) -> Result<f64> {
    let mut took = Vec::new();
    // Once before it counts: keys are made and accepted.
    for number in 0..=times.max(1) {
        let begun = Instant::now();
        let output = minion.call(&["test.ping", "--out=txt"])?;
        if number > 0 {
            took.push(begun.elapsed());
        }
        ensure!(output.stdout.contains("True"), "no answer: {output}");
    }
    median(took)
}

/// From one master to the other and back.
fn failover(kind: Kind, numbers: &mut Numbers) -> Result<()> {
    let fleet = new_fleet()?;
    let mut first = plan(&fleet, kind)?;
    let second = fleet
        .master("m2", kind)
        .auto_accept()
        .key_pair_of(&first)
        .start()?;
    let _minion = fleet
        .minion("web1", kind)
        .of(&first)
        .of(&second)
        .set("master_type", "failover")
        .set("master_alive_interval", 1)
        .set("master_failback", true)
        .set("master_failback_interval", 1)
        .start()?;
    first.wait_minion("web1")?;
    // The key is known everywhere, as after the first days.
    std::fs::copy(
        first.dir().join("pki/minions/web1"),
        second.dir().join("pki/minions/web1"),
    )?;
    first.kill9()?;
    let over = until_answered(&second)?;
    numbers.add(
        "failover after kill -9, until a command is answered",
        millis(over),
        Unit::Milliseconds,
        "1000 ms",
    );
    first.start()?;
    let back = until_answered(&first)?;
    numbers.add(
        "failback, until a command of the first master is answered",
        millis(back),
        Unit::Milliseconds,
        "2000 ms",
    );
    Ok(())
}

/// From now until a command of a master is answered.
fn until_answered(master: &Master) -> Result<Duration> {
    let begun = Instant::now();
    until("an answer of web1", LIMIT, || {
        let output = master.salt(&["-t", "1", "web1", "test.ping", "--out=txt"])?;
        Ok(output.stdout.contains("True").then_some(()))
    })?;
    Ok(begun.elapsed())
}
