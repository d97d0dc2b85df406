//! Results that go to returners besides the masters.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, START, until};
use serde_json::{Value, json};

/// The records in a file of `rawfile_json`.
fn records(path: &Path) -> Result<Vec<Value>> {
    let text = fs::read_to_string(path).unwrap_or_default();
    // The last one may be on its way.
    let (whole, _) = text.rsplit_once('\n').unwrap_or_default();
    let lines = whole.lines().map(|line| Ok(serde_json::from_str(line)?));
    lines.collect()
}

#[test]
fn results_reach_returners_and_the_master() -> Result<()> {
    let fleet = Fleet::new("returners")?;
    let master = fleet.master("m1", Kind::Ours).auto_accept().start()?;
    let file = fleet.path().join("events");
    let minion = fleet
        .minion("web1", Kind::Ours)
        .of(&master)
        .set("rawfile_json.filename", file.display().to_string())
        .set(
            "schedule",
            json!({ "now": {
                "function": "test.echo", "args": ["scheduled"], "seconds": 3600,
                "returner": "rawfile_json", "return_config": "mine",
            } }),
        )
        .start()?;
    master.wait_minion("web1")?;
    let scheduled = until("the scheduled job's record", START, || {
        Ok(records(&file)?.into_iter().next())
    })?;
    ensure!(
        scheduled["return"] == "scheduled" && scheduled["schedule"] == "now",
        "{scheduled}"
    );
    ensure!(
        scheduled["jid"] != "req" && scheduled["ret_config"] == "mine",
        "{scheduled}"
    );

    // One that does not exist and one that fails lose nothing.
    let other = fleet.path().join("none").join("events");
    let kwargs = json!({ "filename": other }).to_string();
    let failing = [
        "*",
        "test.echo",
        "kept",
        "--return=nosuch,rawfile_json,local_cache",
        "--return_kwargs",
        &kwargs,
    ];
    let got = master.returns(&failing)?;
    ensure!(got["web1"] == "kept", "{got:?}");
    let jobs = minion.dir().join("cache").join("jobs");
    until("the job in the minion's cache", START, || {
        Ok(jobs.is_dir().then_some(()))
    })?;
    ensure!(records(&file)?.len() == 1, "another file was named");

    let got = master.returns(&["*", "test.arg", "a", "b=1", "--return=rawfile_json"])?;
    let record = until("the job's record", START, || {
        Ok(records(&file)?.into_iter().nth(1))
    })?;
    ensure!(record["return"] == got["web1"], "{record}");
    ensure!(
        record["id"] == "web1" && record["fun"] == "test.arg" && record["success"] == true,
        "{record}"
    );
    ensure!(
        record["fun_args"] == json!(["a", { "__kwarg__": true, "b": 1 }]),
        "{record}"
    );

    let called = minion.call(&["--local", "--return=rawfile_json,local", "test.echo", "7"])?;
    let called = called.ok()?;
    ensure!(called.lines()[0].starts_with("{'jid': '20"), "{called:?}");
    let record = records(&file)?.into_iter().nth(2).context("no record")?;
    ensure!(
        record["return"] == 7 && record["fun_args"] == json!(["7"]),
        "{record}"
    );
    let refused = minion
        .call(&["--local", "--return=nosuch", "test.ping"])?
        .exit(1)?;
    ensure!(
        refused.stderr.contains(
            "unknown returner nosuch; known ones are: local, local_cache, mysql, \
             pgjsonb, postgres, rawfile_json, redis, syslog"
        ),
        "{refused:?}"
    );
    let called = minion.call(&["--return=rawfile_json", "test.echo", "far"])?;
    called.ok()?;
    ensure!(records(&file)?.len() == 4, "salt-call with a master");
    Ok(())
}
