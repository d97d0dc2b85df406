//! Masters that go and come back.

use std::time::Duration;

use anyhow::{Result, ensure};
use halite_integration_tests::{Kind, START};

use crate::support::BalancedCluster;

const MINIONS: [(&str, Kind); 4] = [
    ("web1", Kind::Ours),
    ("web2", Kind::Ours),
    ("web3", Kind::Ours),
    ("py3008", Kind::Salt3008),
];

/// Every minion answers within 3 s after a master was killed, on a machine that
/// has nothing else to do.
const BACK_ALONE: Duration = Duration::from_secs(3);

/// What a machine adds that runs the other tests at the same time.
const BACK_BUSY: Duration = Duration::from_secs(12);

#[test]
fn every_minion_answers_again_when_a_master_was_killed() -> Result<()> {
    let Some(mut balanced) = BalancedCluster::start(&MINIONS)? else {
        return Ok(());
    };
    for killed in 0..3 {
        balanced.cluster.masters[killed].kill9()?;
        for other in (0..3).filter(|n| *n != killed) {
            let took = balanced.wait_answers(other, START)?;
            ensure!(took < BACK_ALONE + BACK_BUSY, "it took {took:?}");
            println!(
                "m{} killed: all answer m{} after {took:?}",
                killed + 1,
                other + 1
            );
        }
        balanced.cluster.masters[killed].start()?;
        balanced.wait_all(START)?;
    }
    Ok(())
}

#[test]
fn a_rolling_restart_loses_no_minion() -> Result<()> {
    let Some(mut balanced) = BalancedCluster::start(&MINIONS)? else {
        return Ok(());
    };
    for n in 0..3 {
        ensure!(
            balanced.cluster.masters[n].stop()? == 0,
            "m{} did not end well",
            n + 1
        );
        balanced.wait_answers((n + 1) % 3, START)?;
        balanced.cluster.masters[n].start()?;
    }
    balanced.wait_all(START)?;
    for minion in &mut balanced.minions {
        minion.daemon().check_runs()?;
    }
    Ok(())
}
