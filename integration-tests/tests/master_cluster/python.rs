//! Minions of Salt, which cannot ask what they have missed.

use anyhow::{Result, ensure};
use halite_integration_tests::Kind;

use crate::support::BalancedCluster;

#[test]
fn a_minion_of_salt_runs_once_what_was_published_while_it_looked_for_a_master() -> Result<()> {
    let minions = [("web1", Kind::Ours), ("py3008", Kind::Salt3008)];
    let Some(mut balanced) = BalancedCluster::start(&minions)? else {
        return Ok(());
    };
    // One of them has its subscription.
    for killed in 0..3 {
        balanced.cluster.masters[killed].kill9()?;
        let token = format!("killed-{killed}");
        let jid = balanced.leave((killed + 1) % 3, "*", &token)?;
        balanced.wait_results(&jid, &["web1", "py3008"])?;
        balanced.cluster.masters[killed].start()?;
        balanced.wait_all(halite_integration_tests::START)?;
        let left = balanced.left(&token);
        ensure!(left == 2, "{token} was run {left} times");
    }
    Ok(())
}
