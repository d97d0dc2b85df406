//! `fileserver.status`: the state of each remote.

use std::fs;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, START, until};
use serde_json::{Value, json};

use crate::git_files::{States, run};

#[test]
fn a_remote_shows_its_branches_its_age_and_why_it_was_not_fetched() -> Result<()> {
    let fleet = Fleet::new("gitfs-status")?;
    let dir = fleet.path().join("states");
    let states = States::new(&dir)?;
    let first = states.commit("note", "one\n")?;
    states.git(&["tag", "v1"])?;
    states.git(&["branch", "dev"])?;
    let second = states.commit("note", "two\n")?;
    let missing = format!("file://{}", fleet.path().join("missing").display());
    let master = fleet
        .master("m1", Kind::Ours)
        .set("fileserver_backend", json!(["git"]))
        .set("gitfs_base", "main")
        .set("gitfs_update_interval", 3600)
        .set(
            "gitfs_remotes",
            json!([
                { states.url(): [{ "saltenv": [{ "prod": [{ "ref": "v1" }] }] }] },
                missing,
            ]),
        )
        .start()?;
    let status = || run(&master, &["fileserver.status"]);
    let of = |status: &Value| status[states.url()].clone();
    run(&master, &["fileserver.update"])?;
    let shown = status()?;
    let good = of(&shown);
    ensure!(
        good["envs"] == json!({ "base": second, "dev": first, "prod": first }),
        "{shown}"
    );
    ensure!(
        good["refs"] == json!({ "base": "main", "dev": "dev", "prod": "v1" }),
        "{shown}"
    );
    ensure!(good["error"].is_null() && good["age"].is_u64(), "{shown}");
    let bad = &shown[&missing];
    ensure!(bad["age"].is_null(), "{shown}");
    ensure!(
        bad["envs"] == json!({}) && bad["refs"] == json!({}),
        "{shown}"
    );
    let why = bad["error"].as_str().context("it has no error")?;
    ensure!(why.contains("git"), "{shown}");

    // What was fetched stays, and grows old, while the remote is away.
    let away = fleet.path().join("away");
    fs::rename(&dir, &away)?;
    until("an age", START, || {
        let age = of(&status()?)["age"].as_u64().context("no age")?;
        Ok((age > 0).then_some(()))
    })?;
    run(&master, &["fileserver.update"])?;
    let shown = of(&status()?);
    ensure!(shown["error"].is_string(), "{shown}");
    ensure!(shown["age"].as_u64() > Some(0), "{shown}");
    ensure!(shown["envs"] == good["envs"], "{shown}");
    fs::rename(&away, &dir)?;
    run(&master, &["fileserver.update"])?;
    let shown = of(&status()?);
    ensure!(shown["error"].is_null(), "{shown}");
    Ok(())
}
