//! The schedule exists once per minion, whatever the number of masters.

use std::fs;
use std::time::Duration;

use anyhow::{Result, ensure};
use halite_integration_tests::{Master, SHORT, until};
use serde_json::{Value, json};

use crate::support::{NEVER, Several, allowed, plain, plain_master, wait_ping, wait_stored};

/// The events of returns of a scheduled job that a master has told of.
fn returns(master: &Master, job: &str) -> Result<Vec<Value>> {
    let events = master.events()?.events();
    let of_job = events.into_iter().filter(|event| {
        event.tag.contains("/ret/") && event.data.get("schedule") == Some(&json!(job))
    });
    Ok(of_job.map(|event| event.data).collect())
}

/// #13189 #28785: a job of the schedule runs once, and each master that is
/// there has its return once.
#[test]
fn a_scheduled_job_runs_once_and_returns_once_to_each_master() -> Result<()> {
    let mut several = Several::without_minions(3, plain_master)?;
    let tokens = several.tokens();
    let command = tokens.command("scheduled");
    several.add_minions(1, |plan| {
        plan.set(
            "schedule",
            json!({ "job": { "function": "cmd.run", "args": [command],
                "kwargs": { "python_shell": true }, "when": NEVER, "metadata": { "a": 1 } } }),
        )
    })?;
    for master in &several.masters {
        master.wait_minion("web1")?;
    }
    let report = several.masters[0].returns(&["web1", "schedule.run_job", "job"])?;
    ensure!(report["web1"]["result"] == json!(true), "got {report:?}");
    for master in &several.masters {
        let told = until("the return of the scheduled job", SHORT, || {
            let told = returns(master, "job")?;
            Ok((!told.is_empty()).then_some(told))
        })?;
        ensure!(told[0]["return"] == "scheduled", "got {told:?}");
        ensure!(told[0]["metadata"]["a"] == 1, "got {told:?}");
        ensure!(told[0]["metadata"]["_TS"].is_string(), "got {told:?}");
    }
    // What came after it came through the same links.
    for master in &several.masters {
        master.check_ping(&["web1"])?;
        assert_eq!(returns(master, "job")?.len(), 1);
    }
    assert_eq!(tokens.count("scheduled"), 1);
    Ok(())
}

/// A return that is owed to a dead master holds the living one's commands up
/// for 30 s in Salt.
#[test]
fn a_scheduled_return_owed_to_a_dead_master_slows_nobody() -> Result<()> {
    let mut several = Several::start(2, 1)?;
    several.masters[0].returns(&[
        "web1",
        "schedule.add",
        "often",
        "function=test.ping",
        "seconds=1",
    ])?;
    several.masters[1].kill9()?;
    let (first, ..) = several.two()?;
    for _ in 0..10 {
        let took = crate::support::ping_time(first, "web1")?;
        let within = allowed(first, Duration::from_secs(1))?;
        ensure!(took < within, "a ping took {took:?}");
    }
    Ok(())
}

/// Jobs are added, changed and looked at over any master and by `salt-call`,
/// and what is saved is there after a restart.
#[test]
fn the_schedule_is_changed_from_anywhere_and_survives_a_restart() -> Result<()> {
    let mut several = Several::with(2, 1, plain_master, plain)?;
    let (first, second, minion) = several.two()?;
    let added = first.returns(&[
        "web1",
        "schedule.add",
        "tea",
        "function=test.ping",
        "when=5:00pm",
    ])?;
    let expected = json!({ "comment": "Added job: tea to schedule.", "result": true,
        "changes": { "tea": "added" } });
    assert_eq!(added["web1"], expected);
    let twice = second.salt(&[
        "web1",
        "schedule.add",
        "tea",
        "function=test.ping",
        "--out=json",
    ])?;
    let twice = twice.exit(1)?.of("web1")?;
    assert_eq!(twice["comment"], "Job tea already exists in schedule.");
    let disabled = minion.called(&["schedule.disable_job", "tea"])?;
    assert_eq!(disabled["comment"], "Disabled Job tea in schedule.");
    let next = minion.called(&["schedule.show_next_fire_time", "tea"])?;
    ensure!(
        next["next_fire_time"]
            .as_str()
            .is_some_and(|at| at.ends_with("T17:00:00")),
        "{next}"
    );
    let args = [
        "schedule.add",
        "x",
        "function=test.ping",
        "when=soon",
        "--out=json",
    ];
    let bad = minion.call(&args)?.exit(1)?.of("local")?;
    assert_eq!(
        bad["comment"],
        "Schedule item soon for \"when\" in invalid."
    );
    let saved = fs::read_to_string(minion.dir().join("minion.d/_schedule.conf"))?;
    ensure!(saved.starts_with("schedule:\n  tea:\n"), "{saved}");
    minion.kill9()?;
    minion.start()?;
    wait_ping(second, "web1")?;
    let listed = second.returns(&["web1", "schedule.list", "return_yaml=False"])?;
    assert_eq!(listed["web1"]["tea"]["enabled"], json!(false));
    let deleted = second.returns(&["web1", "schedule.delete", "tea"])?;
    assert_eq!(deleted["web1"]["comment"], "Deleted Job tea from schedule.");
    minion.stop()?;
    // Without the minion the saved file alone is changed.
    let offline = minion.called(&[
        "--local",
        "schedule.add",
        "later",
        "function=test.ping",
        "seconds=60",
        "offline=True",
    ])?;
    assert_eq!(offline["comment"], "Added job: later to schedule.");
    minion.start()?;
    wait_ping(second, "web1")?;
    let listed = second.returns(&["web1", "schedule.list", "return_yaml=False"])?;
    ensure!(listed["web1"].get("later").is_some(), "got {listed:?}");
    ensure!(listed["web1"].get("tea").is_none(), "got {listed:?}");
    Ok(())
}

/// The minion is killed while a job of its schedule runs: each master is
/// told so at the next start, and it is not taken for one that still runs.
#[test]
fn a_scheduled_job_that_is_cut_off_is_told_of() -> Result<()> {
    let mut several = Several::without_minions(2, plain_master)?;
    let tokens = several.tokens();
    let command = format!("echo begun >> {}; sleep 60", tokens.0.display());
    let told = json!({ "function": "cmd.run", "args": [command],
        "kwargs": { "python_shell": true }, "when": NEVER, "metadata": { "a": 1 } });
    let mut untold = told.clone();
    untold["return_job"] = json!(false);
    several.add_minions(1, |plan| {
        plan.set("schedule", json!({ "told": told, "untold": untold }))
    })?;
    let (master, second, minion) = several.two()?;
    master.wait_minion("web1")?;
    second.wait_minion("web1")?;
    for (count, job) in [(1, "untold"), (2, "told")] {
        master.returns(&["web1", "schedule.run_job", job])?;
        until("the job to begin", SHORT, || {
            Ok((tokens.count("begun") == count).then_some(()))
        })?;
    }
    minion.kill9()?;
    minion.start()?;
    let told = until("the job's end to be told", SHORT, || {
        Ok(returns(master, "told")?.pop())
    })?;
    let text = told["return"].as_str().unwrap_or_default();
    ensure!(text.contains("stopped while this job ran"), "got {told}");
    ensure!(
        told["retcode"] == 1 && told["fun"] == "cmd.run",
        "got {told}"
    );
    ensure!(told["metadata"]["a"] == 1, "got {told}");
    let jid = told["jid"].as_str().unwrap_or_default();
    wait_stored(master, jid, "web1")?;
    until("the other master to be told", SHORT, || {
        Ok(returns(second, "told")?.pop())
    })?;
    wait_stored(second, jid, "web1")?;
    // A later start has nothing more to tell.
    wait_ping(master, "web1")?;
    minion.kill9()?;
    minion.start()?;
    wait_ping(master, "web1")?;
    wait_ping(second, "web1")?;
    for master in [&*master, &*second] {
        assert_eq!(returns(master, "told")?.len(), 1);
        assert_eq!(returns(master, "untold")?.len(), 0);
    }
    assert_eq!(tokens.count("begun"), 2);
    Ok(())
}
