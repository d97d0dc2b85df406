//! `schedule` in a master's configuration: its runners, by the clock.

use std::fs;

use anyhow::{Result, ensure};
use halite_integration_tests::{Event, Fleet, Kind, Master, START, until};
use serde_json::{Value, json};

const RETURN: &str = "__schedule_return";

fn jobs() -> Value {
    json!({
        "tick": { "function": "test.arg", "args": [1], "kwargs": { "x": 2 }, "seconds": 1,
                  "metadata": { "who": "me" } },
        "quiet": { "function": "event.send", "args": ["my/tick"], "seconds": 1,
                   "return_job": false },
        "passing": { "function": "event.send", "args": ["my/other"], "seconds": 1,
                     "return_job": "nocache" },
        "none": { "function": "test.nosuch", "seconds": 1 },
        "stopped": { "function": "event.send", "args": ["my/stopped"], "seconds": 1,
                     "enabled": false },
        "first": { "function": "test.arg", "hours": 1,
                   "run_on_start": true },
        "long": { "function": "test.sleep", "args": [600], "seconds": 1, "maxrunning": 1 },
    })
}

fn is_return(event: &Event, job: &str) -> bool {
    event.tag == RETURN && event.data["schedule"] == job
}

fn check(master: &Master, id: &str) -> Result<()> {
    let events = master.events()?;
    let tick = events.wait("a tick", START, |event| is_return(event, "tick"))?;
    ensure!(
        tick.data["return"] == json!({ "args": [1], "kwargs": { "x": 2 } })
            && tick.data["fun_args"] == json!([1, { "x": 2 }])
            && tick.data["id"] == id
            && tick.data["cmd"] == "_return"
            && tick.data["success"] == true
            && tick.data["retcode"] == 0
            && tick.data["metadata"]["who"] == "me",
        "{tick:?}"
    );
    let none = events.wait("what is not there", START, |event| is_return(event, "none"))?;
    ensure!(
        none.data["success"] == false
            && none.data["retcode"] == 254
            && none.data["return"] == "'test.nosuch' is not available.",
        "{none:?}"
    );
    events.wait("the tag of a quiet job", START, |event| {
        event.tag == "my/tick"
    })?;
    until("the job that runs at the start", START, || {
        let log = fs::read_to_string(master.dir().join("log"))?;
        Ok(log.contains("job=\"first\"").then_some(()))
    })?;
    let passing = events.wait("a passing job", START, |event| is_return(event, "passing"))?;
    let seen = events.events();
    ensure!(
        seen.iter().all(|event| !is_return(event, "quiet")),
        "a quiet job was told of"
    );
    ensure!(
        seen.iter().all(|event| event.tag != "my/stopped"),
        "a job ran that is off"
    );
    // The job cache has what was to be kept.
    let tools = master.tools(Kind::Ours);
    let kept = |event: &Event| {
        let jid = event.data["jid"].as_str().unwrap_or_default();
        let ran = tools.runner(&["jobs.lookup_jid", jid, "--out=json"])?;
        anyhow::Ok(ran.stdout.contains(id))
    };
    ensure!(kept(&tick)?, "the result of a job is not kept");
    ensure!(!kept(&passing)?, "a result is kept that was not to be");
    // One at a time of the long one, and it can be ended.
    let running = || {
        let ran = tools.runner(&["jobs.master", "--out=json"])?.json()?;
        let long = ran.as_array().into_iter().flatten();
        let long = long.filter(|job| job["fun"] == "runner.test.sleep");
        anyhow::Ok(long.cloned().collect::<Vec<_>>())
    };
    let long = until("the long job", START, || {
        Ok(Some(running()?).filter(|long| !long.is_empty()))
    })?;
    ensure!(long.len() == 1, "{long:?}");
    let jid = long[0]["jid"].as_str().unwrap_or_default().to_owned();
    tools.runner(&["jobs.kill", &jid])?.ok()?;
    let ended = events.wait("its end", START, |event| is_return(event, "long"))?;
    ensure!(
        ended.data["success"] == false && ended.data["jid"] == jid,
        "{ended:?}"
    );
    Ok(())
}

#[test]
fn each_master_runs_its_own_schedule() -> Result<()> {
    let fleet = Fleet::new("master-schedule")?;
    let start = |name: &str| {
        let id = format!("{name}_master");
        let master = fleet.master(name, Kind::Ours).set("id", id);
        master.set("schedule", jobs()).start()
    };
    let (first, second) = (start("m1")?, start("m2")?);
    check(&first, "m1_master")?;
    check(&second, "m2_master")?;
    until("the complaint", START, || {
        let log = fs::read_to_string(first.dir().join("log"))?;
        Ok(log
            .contains("the scheduled runner test.nosuch failed")
            .then_some(()))
    })
}
