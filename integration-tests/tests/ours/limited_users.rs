//! A user with rights on some minions reaches no others, however the target is
//! written.

use std::fs;

use anyhow::{Result, ensure};
use halite_integration_tests::{Fleet, Kind, START, until};
use serde_json::json;

const SECRET: &str = "that of the front end";

/// Targets that mean `web1` for the master, each in one of its readings of
/// globs, lists and patterns. Minions may read them otherwise.
const TARGETS: [&[&str]; 6] = [
    &["[!,web1,]*"],
    &["web1,db*x"],
    &["-L", "web1"],
    &["-E", "web1|(?i:DB1x)"],
    &["-C", "web1 or E@db[^1]"],
    &["web?"],
];

#[test]
fn a_job_runs_where_its_user_may_run_it_and_nowhere_else() -> Result<()> {
    let fleet = Fleet::new("limited")?;
    let rules = json!({ "sharedsecret": { "lim": [{ "web*": ["cmd.run"] }] } });
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("sharedsecret", SECRET)
        .set("external_auth", rules)
        .start()?;
    let mut minions = Vec::new();
    for id in ["web1", "db1"] {
        minions.push(fleet.minion(id, Kind::Ours).of(&master).start()?);
        master.wait_minion(id)?;
    }
    let login = [
        "-a",
        "sharedsecret",
        "--username",
        "lim",
        "--password",
        SECRET,
    ];
    let tools = master.tools(Kind::Ours);
    for (number, target) in TARGETS.iter().enumerate() {
        let ran = fleet.path().join(format!("ran-{number}"));
        let command = format!("echo ran >> {}", ran.display());
        let args = [&login[..], target, &["cmd.run", &command, "--out=json"]].concat();
        let output = tools.salt(&args)?.ok()?;
        let answered: Vec<String> = output.by_minion()?.into_iter().map(|(id, _)| id).collect();
        ensure!(answered == ["web1"], "{target:?}: {output}");
        // What it was not meant for would have begun before this command.
        until("db1 to have nothing to do", START, || {
            let running = tools
                .salt(&["db1", "saltutil.running", "--out=json"])?
                .ok()?;
            Ok((running.of("db1")? == json!([])).then_some(()))
        })?;
        let ran = fs::read_to_string(&ran)?;
        ensure!(ran == "ran\n", "{target:?} ran on others: {ran:?}");
    }
    // Whom the user may not command is refused, and not left out.
    for target in ["*", "db1", "[!,web1,db1,]*"] {
        let args = [&login[..], &[target, "cmd.run", "id"]].concat();
        tools.salt(&args)?.exit(1)?;
    }
    Ok(())
}
