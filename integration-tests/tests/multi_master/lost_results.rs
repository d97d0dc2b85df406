//! No result is lost, and none is stored or reported twice.

use std::fs;

use anyhow::{Result, ensure};
use halite_integration_tests::{SHORT, Signal, until};

use crate::support::{
    Several, Tokens, check_told_once, count_return_events, publish, stored, wait_ping, wait_stored,
};

/// A job that waits for a file before it ends, so that a test says when.
fn held(several: &Several, token: &str) -> (Tokens, String, std::path::PathBuf) {
    let tokens = several.tokens();
    let gate = several.fleet.path().join(format!("{token}.gate"));
    let command = format!(
        "echo begun-{token} >> {}; while [ ! -e {} ]; do sleep 0.02; done; {}",
        tokens.0.display(),
        gate.display(),
        tokens.command(token)
    );
    (tokens, command, gate)
}

/// PR 51672, #55907, #11847, #20197: the master that asked is gone when the job
/// ends; another one takes the result of a job it has never published.
#[test]
fn another_master_takes_the_result_of_a_dead_one() -> Result<()> {
    let mut several = Several::start(2, 1)?;
    let (tokens, command, gate) = held(&several, "orphan");
    let (first, second, _) = several.two()?;
    let jid = publish(first, "web1", &command)?;
    tokens.wait("begun-orphan")?;
    first.kill9()?;
    fs::write(&gate, "")?;
    assert_eq!(wait_stored(second, &jid, "web1")?, "orphan");
    check_told_once(second, &jid, "web1")?;
    // The dead one returns and offers the job again: it has run already.
    first.start()?;
    wait_ping(first, "web1")?;
    let after = publish(first, "web1", &tokens.command("after"))?;
    wait_stored(first, &after, "web1")?;
    assert_eq!(tokens.count("orphan"), 1);
    assert_eq!(tokens.count("begun-orphan"), 1);
    Ok(())
}

/// The same with a master that hangs: its connection stands, nobody answers.
#[test]
fn another_master_takes_the_result_of_a_hanging_one() -> Result<()> {
    let mut several = Several::start(2, 1)?;
    let (tokens, command, gate) = held(&several, "hung");
    let (first, second, _) = several.two()?;
    let jid = publish(first, "web1", &command)?;
    tokens.wait("begun-hung")?;
    first.daemon().signal(Signal::SIGSTOP)?;
    fs::write(&gate, "")?;
    assert_eq!(wait_stored(second, &jid, "web1")?, "hung");
    first.daemon().signal(Signal::SIGCONT)?;
    wait_ping(first, "web1")?;
    check_told_once(second, &jid, "web1")?;
    ensure!(count_return_events(first, &jid, "web1")? <= 1, "told twice");
    assert_eq!(tokens.count("hung"), 1);
    Ok(())
}

/// With no other master the result waits for the one that asked.
#[test]
fn the_result_waits_for_the_only_master() -> Result<()> {
    let mut several = Several::start(1, 1)?;
    let (tokens, command, gate) = held(&several, "wait");
    let master = &mut several.masters[0];
    let jid = publish(master, "web1", &command)?;
    tokens.wait("begun-wait")?;
    master.kill9()?;
    fs::write(&gate, "")?;
    tokens.wait("wait")?;
    master.start()?;
    assert_eq!(wait_stored(master, &jid, "web1")?, "wait");
    wait_ping(master, "web1")?;
    check_told_once(master, &jid, "web1")?;
    assert_eq!(tokens.count("wait"), 1);
    Ok(())
}

/// A result that no master has taken survives the minion's own death.
#[test]
fn the_result_survives_the_minion() -> Result<()> {
    let mut several = Several::start(2, 1)?;
    let (tokens, command, gate) = held(&several, "kept");
    let (first, second, minion) = several.two()?;
    let jid = publish(first, "web1", &command)?;
    tokens.wait("begun-kept")?;
    first.kill9()?;
    second.kill9()?;
    fs::write(&gate, "")?;
    tokens.wait("kept")?;
    let proc = minion.dir().join("cache/proc").join(&jid);
    until("the result to be on disk", SHORT, || {
        Ok((!proc.exists()).then_some(()))
    })?;
    minion.kill9()?;
    second.start()?;
    minion.start()?;
    assert_eq!(wait_stored(second, &jid, "web1")?, "kept");
    first.start()?;
    wait_ping(first, "web1")?;
    assert_eq!(tokens.count("kept"), 1);
    check_told_once(second, &jid, "web1")?;
    Ok(())
}

/// The result went to another master, then the minion died: when the master
/// that asked comes back it offers the job again, and it must not run again.
#[test]
fn a_job_that_another_master_knows_done_is_not_run_again() -> Result<()> {
    let mut several = Several::start(2, 1)?;
    let (tokens, command, gate) = held(&several, "done");
    let (first, second, minion) = several.two()?;
    let jid = publish(first, "web1", &command)?;
    tokens.wait("begun-done")?;
    first.kill9()?;
    fs::write(&gate, "")?;
    assert_eq!(wait_stored(second, &jid, "web1")?, "done");
    minion.kill9()?;
    minion.start()?;
    first.start()?;
    wait_ping(first, "web1")?;
    let after = publish(first, "web1", &tokens.command("after"))?;
    wait_stored(first, &after, "web1")?;
    assert_eq!(tokens.count("begun-done"), 1, "run again");
    Ok(())
}

/// A minion that is killed in the middle of a job says so once, and does not
/// run the job again.
#[test]
fn a_job_that_was_cut_off_is_reported_once() -> Result<()> {
    let mut several = Several::start(2, 1)?;
    let (tokens, command, gate) = held(&several, "cut");
    let (first, second, minion) = several.two()?;
    let jid = publish(first, "web1", &command)?;
    tokens.wait("begun-cut")?;
    minion.kill9()?;
    minion.start()?;
    let holder = until("the report", SHORT, || {
        for master in [&*first, &*second] {
            if let Some(value) = stored(master, &jid, "web1")? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    })?;
    ensure!(
        holder
            .as_str()
            .is_some_and(|text| text.contains("stopped while")),
        "unexpected {holder}"
    );
    fs::write(&gate, "")?;
    for _ in 0..2 {
        minion.kill9()?;
        minion.start()?;
        wait_ping(first, "web1")?;
        wait_ping(second, "web1")?;
    }
    assert_eq!(tokens.count("begun-cut"), 1, "run again");
    assert_eq!(tokens.count("cut"), 0, "its processes went on");
    let told =
        count_return_events(first, &jid, "web1")? + count_return_events(second, &jid, "web1")?;
    assert_eq!(told, 1, "reported {told} times");
    Ok(())
}
