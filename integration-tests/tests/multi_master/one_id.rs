//! Two masters give two commands one job id, as clocks of microseconds may. Each
//! command is run, and each master has the result of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Result, ensure};

use halite_integration_tests::local_program::{LocalJob, LocalProgram};
use halite_integration_tests::{Master, SHORT, until};
use serde_json::{Value, json};

use crate::support::{
    Several, Tokens, check_told_once, count_return_events, publish, stored, wait_log, wait_ping,
    wait_stored,
};
use halite_integration_tests::chaos::read_cache;

const ONE_ID: &str = "20261120141841939742";

fn publish_one_id(master: &Master, command: &str) -> Result<()> {
    let job = LocalJob {
        jid: ONE_ID,
        target: "web1",
        fun: "cmd.run",
        arg: command,
    };
    let jid = LocalProgram::of(master)?.publish(&job)?;
    ensure!(jid == ONE_ID, "published as {jid}");
    Ok(())
}

/// A command that leaves a token, waits for a file and leaves another one.
struct Held {
    command: String,
    begun: String,
    gate: PathBuf,
}

fn held(several: &Several, tokens: &Tokens, token: &str) -> Held {
    let gate = several.fleet.path().join(format!("{token}.gate"));
    let begun = format!("begun-{token}");
    let command = format!(
        "echo {begun} >> {}; while [ ! -e {} ]; do sleep 0.02; done; {}",
        tokens.0.display(),
        gate.display(),
        tokens.command(token)
    );
    Held {
        command,
        begun,
        gate,
    }
}

impl Held {
    fn release(&self) -> Result<()> {
        Ok(fs::write(&self.gate, "")?)
    }
}

/// What the master's minion says of the job that the master means.
fn found(master: &Master) -> Result<Value> {
    let found = master.returns(&["web1", "saltutil.find_job", ONE_ID])?;
    Ok(found["web1"]["arg"][0].clone())
}

#[test]
fn two_commands_of_one_id_both_run_and_each_master_has_its_own_result() -> Result<()> {
    let mut several = Several::start(2, 1)?;
    let tokens = several.tokens();
    let [one, other] = ["one", "other"].map(|token| held(&several, &tokens, token));
    let (first, second, _) = several.two()?;
    publish_one_id(first, &one.command)?;
    publish_one_id(second, &other.command)?;
    tokens.wait(&one.begun)?;
    tokens.wait(&other.begun)?;
    // Each is asked about its own, and ends its own.
    assert_eq!(found(first)?, json!(one.command));
    assert_eq!(found(second)?, json!(other.command));
    let running = first.returns(&["web1", "saltutil.running"])?;
    assert_eq!(running["web1"].as_array().map(Vec::len), Some(2));
    other.release()?;
    assert_eq!(wait_stored(second, ONE_ID, "web1")?, "other");
    assert_eq!(found(second)?, Value::Null);
    assert_eq!(found(first)?, json!(one.command));
    one.release()?;
    assert_eq!(wait_stored(first, ONE_ID, "web1")?, "one");
    assert_eq!(stored(second, ONE_ID, "web1")?, Some(json!("other")));
    for (master, token) in [(&*first, "one"), (&*second, "other")] {
        check_told_once(master, ONE_ID, "web1")?;
        ensure!(
            tokens.count(token) == 1,
            "{token} ran {:?}",
            tokens.counts()
        );
    }
    Ok(())
}

/// The result of the dead master's command goes to the other one, which has a job
/// of that id itself.
#[test]
fn the_result_of_a_dead_master_is_not_taken_for_that_of_another_job() -> Result<()> {
    let mut several = Several::start(2, 1)?;
    let tokens = several.tokens();
    let [one, other] = ["one", "other"].map(|token| held(&several, &tokens, token));
    let (first, second, _) = several.two()?;
    publish_one_id(first, &one.command)?;
    publish_one_id(second, &other.command)?;
    tokens.wait(&one.begun)?;
    tokens.wait(&other.begun)?;
    first.kill9()?;
    one.release()?;
    let mut results = BTreeMap::new();
    let elsewhere = until("the result at the other master", SHORT, || {
        results.clear();
        read_cache(second, &mut results)?;
        let mut known = results.iter();
        Ok(known
            .find(|(_, values)| values.contains(&json!("one")))
            .map(|((jid, _), _)| jid.clone()))
    })?;
    ensure!(elsewhere != ONE_ID, "the other command's result");
    check_told_once(second, &elsewhere, "web1")?;
    ensure!(
        count_return_events(second, ONE_ID, "web1")? == 0,
        "told of the other one's"
    );
    wait_log(second.dir(), &[ONE_ID, "another master's job"])?;
    other.release()?;
    assert_eq!(wait_stored(second, ONE_ID, "web1")?, "other");
    // The dead one comes back and offers what has run.
    first.start()?;
    wait_ping(first, "web1")?;
    let after = publish(first, "web1", &tokens.command("after"))?;
    wait_stored(first, &after, "web1")?;
    for token in ["one", "other"] {
        ensure!(
            tokens.count(token) == 1,
            "{token} ran {:?}",
            tokens.counts()
        );
    }
    Ok(())
}

/// The minion dies while both run: each master is told of its own, and neither
/// runs again.
#[test]
fn both_are_reported_when_the_minion_dies() -> Result<()> {
    let mut several = Several::start(2, 1)?;
    let tokens = several.tokens();
    let [one, other] = ["one", "other"].map(|token| held(&several, &tokens, token));
    let (first, second, minion) = several.two()?;
    publish_one_id(first, &one.command)?;
    publish_one_id(second, &other.command)?;
    tokens.wait(&one.begun)?;
    tokens.wait(&other.begun)?;
    minion.kill9()?;
    for held in [&one, &other] {
        held.release()?;
    }
    minion.start()?;
    for master in [&*first, &*second] {
        let result = wait_stored(master, ONE_ID, "web1")?;
        let text = result.as_str().unwrap_or_default();
        ensure!(
            text.contains("was stopped while this job ran"),
            "got {text}"
        );
        check_told_once(master, ONE_ID, "web1")?;
    }
    for begun in [&one.begun, &other.begun] {
        ensure!(tokens.count(begun) == 1, "{:?}", tokens.counts());
    }
    Ok(())
}

/// What the masters of a cluster do, and masters below another one.
#[test]
fn the_same_command_of_one_id_from_two_masters_runs_once() -> Result<()> {
    let mut several = Several::start(2, 1)?;
    let tokens = several.tokens();
    let (first, second, minion) = several.two()?;
    publish_one_id(first, &tokens.command("once"))?;
    assert_eq!(wait_stored(first, ONE_ID, "web1")?, "once");
    publish_one_id(second, &tokens.command("once"))?;
    // Once more after a restart: the claims are on disk.
    minion.kill9()?;
    minion.start()?;
    for master in [&*first, &*second] {
        wait_ping(master, "web1")?;
        let after = publish(master, "web1", &tokens.command("after"))?;
        wait_stored(master, &after, "web1")?;
    }
    ensure!(tokens.count("once") == 1, "{:?}", tokens.counts());
    Ok(())
}

/// Masters draw ids that differ, those with one key pair too: the last digits are
/// a master's own.
#[test]
fn masters_draw_ids_of_their_own() -> Result<()> {
    let several = Several::start(2, 1)?;
    let tokens = several.tokens();
    for master in &several.masters {
        let ids = (0..3).map(|_| publish(master, "web1", &tokens.command("drawn")));
        let ids: Vec<String> = ids.collect::<Result<_>>()?;
        let has_end = |jid: &String| jid.get(17..) == ids[0].get(17..);
        ensure!(ids.iter().all(has_end), "{ids:?}");
    }
    Ok(())
}
