//! A master dies that drives a job in batches, where the masters have common files: what
//! it knew of the job lies there.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use halite_integration_tests::{Kind, START, until};
use serde_json::{Value, json};

use crate::support::BalancedCluster;

const MINIONS: [(&str, Kind); 4] = [
    ("web1", Kind::Ours),
    ("web2", Kind::Ours),
    ("web3", Kind::Ours),
    ("web4", Kind::Ours),
];

/// The master that drives the job, and one of those that may go on with it.
const DRIVER: usize = 0;
const OTHER: usize = 1;

const TOKEN: &str = "batch";

/// What a runner of a master returns.
fn run(balanced: &BalancedCluster, n: usize, args: &[&str]) -> Result<Value> {
    let args = [args, &["--out=json"]].concat();
    let tools = balanced.cluster.masters[n].tools(Kind::Ours);
    let said = tools.runner(&args)?.ok()?;
    serde_json::from_str(&said.stdout).with_context(|| said.stdout.clone())
}

#[test]
fn a_batch_goes_on_at_another_master_on_common_files() -> Result<()> {
    let Some(mut balanced) = BalancedCluster::start(&MINIONS)? else {
        return Ok(());
    };
    let gate = balanced.cluster.fleet.path().join("gate");
    let command = format!(
        "until [ -e {} ]; do sleep 0.05; done; {}",
        gate.display(),
        balanced.leaving(TOKEN)
    );
    let log = balanced.cluster.masters[OTHER].events()?;
    let driver = &balanced.cluster.masters[DRIVER];
    let said = driver.salt(&["--async", "-b", "2", "*", "cmd.run", &command])?;
    let said = said.ok()?.stdout;
    let jid = said.trim().rsplit(' ').next().context("no id")?.to_owned();
    let tag = |what: &str| format!("salt/batch/{jid}/{what}");
    log.wait("the batch to begin", START, |event| event.tag == tag("new"))?;
    let from = log.mark();
    balanced.cluster.masters[DRIVER].kill9()?;
    let log = balanced.cluster.masters[OTHER].events()?;
    log.wait_after(from, "another master to go on", START, |event| {
        event.tag == tag("progress")
    })?;
    fs::write(&gate, "")?;
    let complete = log.wait("the batch to complete", START, |event| {
        event.tag == tag("complete")
    })?;
    ensure!(
        complete.data["completed"] == MINIONS.len() && complete.data["failed"] == 0,
        "{complete:?}"
    );

    balanced.cluster.masters[DRIVER].start()?;
    balanced.wait_answers(DRIVER, START)?;
    for n in [DRIVER, OTHER] {
        let active = run(&balanced, n, &["batch.list_active"])?;
        ensure!(active == json!([]), "m{} drives {active}", n + 1);
        let all = MINIONS.map(|(id, _)| (id.to_owned(), json!(TOKEN)));
        let all = Value::Object(all.into_iter().collect());
        until("the results of the batch", START, || {
            let found = run(&balanced, n, &["jobs.lookup_jid", &jid])?;
            Ok((found == all).then_some(()))
        })?;
    }
    let left = balanced.left(TOKEN);
    ensure!(left == MINIONS.len(), "it was run {left} times");
    Ok(())
}
