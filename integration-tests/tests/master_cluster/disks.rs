//! A shared directory that cannot be used for a while.

use anyhow::{Result, ensure};
use halite_integration_tests::{FullDisk, Kind};

use crate::support::BalancedCluster;

const MINIONS: [(&str, Kind); 3] = [
    ("web1", Kind::Ours),
    ("web2", Kind::Ours),
    ("py3008", Kind::Salt3008),
];

#[test]
fn results_outlive_a_shared_job_cache_that_takes_nothing() -> Result<()> {
    let Some(balanced) = BalancedCluster::start(&MINIONS)? else {
        return Ok(());
    };
    let jobs = FullDisk::at(&balanced.cluster.shared().join("cache/jobs"))?;
    let mut sent = Vec::new();
    for n in 0..3 {
        // Who waits is shown the results, wherever they came in.
        let master = &balanced.cluster.masters[n];
        let shown = master.returns(&["*", "cmd.run", "echo shown"])?;
        for id in balanced.ids() {
            ensure!(
                shown.get(id).is_some_and(|said| said == "shown"),
                "{shown:?}"
            );
        }
        let token = format!("full-{n}");
        sent.push((balanced.leave(n, "*", &token)?, token));
    }
    jobs.mend()?;
    for (jid, token) in &sent {
        balanced.wait_results(jid, &balanced.ids())?;
        let left = balanced.left(token);
        ensure!(left == MINIONS.len(), "{token} was run {left} times");
    }
    Ok(())
}
