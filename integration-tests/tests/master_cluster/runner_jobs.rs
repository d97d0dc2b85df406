//! The return of a runner at one master of a cluster is in the job list of all.

use anyhow::{Context as _, Result, ensure};
use halite_integration_tests::{Kind, START, until};
use serde_json::Value;

use crate::isolated_cluster::IsolatedCluster;

#[test]
fn what_a_runner_returned_at_one_master_is_found_at_all() -> Result<()> {
    find_at_all(IsolatedCluster::lay(2)?)
}

#[test]
fn what_a_runner_returned_at_one_master_is_found_at_all_over_a_bus() -> Result<()> {
    IsolatedCluster::lay_on_bus(2)?.map_or(Ok(()), find_at_all)
}

fn find_at_all(mut isolated: IsolatedCluster) -> Result<()> {
    isolated.start(2)?;
    let run = |n: usize, args: &[&str]| -> Result<Value> {
        let args = [args, &["--out=json"]].concat();
        let said = isolated.masters[n].tools(Kind::Ours).runner(&args)?.ok()?;
        serde_json::from_str(&said.stdout).with_context(|| said.stdout.clone())
    };
    run(0, &["test.arg", "from m1"])?;
    let find = |n: usize| -> Result<Value> {
        run(n, &["jobs.list_jobs", "search_function=runner.test.arg"])
    };
    let here = find(0)?;
    let there = until("the job at the other master", START, || {
        let jobs = find(1)?;
        Ok(jobs
            .as_object()
            .is_some_and(|jobs| !jobs.is_empty())
            .then_some(jobs))
    })?;
    ensure!(here == there, "{here}\n{there}");
    let jid = there.as_object().and_then(|jobs| jobs.keys().next());
    let jid = jid.context("no job")?.clone();
    let looked_up = |n: usize| run(n, &["jobs.lookup_jid", &jid]);
    let (here, there) = (looked_up(0)?, looked_up(1)?);
    ensure!(here == there, "{here}\n{there}");
    ensure!(there.to_string().contains("from m1"), "{there}");
    Ok(())
}
