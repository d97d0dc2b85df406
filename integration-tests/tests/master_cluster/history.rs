//! What the masters of a cluster remember of each other's minions.

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Kind, Master, START, Signal, until};
use serde_json::Value;

use crate::support::Cluster;

/// What has become of web1, as a master tells it of another one.
fn changes_at(master: &Master, other: &str) -> Result<Vec<String>> {
    let args = ["minions.history", "web1", "--out=json"];
    let said = master.tools(Kind::Ours).runner(&args)?.ok()?.json()?;
    let changes = said["minions"]["web1"].as_array().cloned();
    let at_other = |change: &Value| change["master"] == other;
    let changes = changes.into_iter().flatten().filter(at_other);
    changes
        .map(|change| {
            let name = change["change"].as_str().context("a change has a name")?;
            Ok(match change["times"].as_u64() {
                Some(times) => format!("{name} {times} times"),
                None => name.to_owned(),
            })
        })
        .collect()
}

#[test]
fn a_master_that_is_away_ends_no_connection_and_its_return_tells_what_has() -> Result<()> {
    let mut cluster = Cluster::lay(2, |plan| plan)?;
    cluster.start()?;
    let [m1, m2] = [0, 1].map(|n| cluster.masters[n].address().ip().to_string());
    let plan = cluster.fleet.minion("web1", Kind::Ours);
    let masters = &cluster.masters;
    let mut web1 = plan.of(&masters[0]).of(&masters[1]).start()?;
    let is = |master: &Master, wanted: &[&str]| {
        let mut last = Vec::new();
        let found = until("the history", START, || {
            last = changes_at(master, &m2)?;
            Ok((last == wanted).then_some(()))
        });
        found.with_context(|| format!("{last:?}, not {wanted:?}"))
    };
    is(&cluster.masters[0], &["connected"])?;
    ensure!(changes_at(&cluster.masters[0], &m1)? == ["signed_in", "connected"]);

    cluster.masters[1].kill9()?;
    is(&cluster.masters[0], &["connected", "unreachable"])?;
    // While it was away the minion has gone.
    web1.kill9()?;
    cluster.masters[1].start()?;
    is(&cluster.masters[0], &["connected", "disconnected"])?;
    web1.start()?;
    is(
        &cluster.masters[0],
        &["connected", "disconnected", "connected"],
    )?;
    // One that was stopped for a while has lost nobody.
    cluster.masters[1].daemon().signal(Signal::SIGSTOP)?;
    is(
        &cluster.masters[0],
        &["connected", "disconnected", "connected", "unreachable"],
    )?;
    cluster.masters[1].daemon().signal(Signal::SIGCONT)?;
    is(
        &cluster.masters[0],
        &["connected", "disconnected", "connected"],
    )
}
