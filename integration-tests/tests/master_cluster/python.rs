//! Minions of Salt, which cannot ask what they have missed.

use anyhow::{Result, ensure};
use halite_integration_tests::{Kind, START, for_each_salt};

use crate::support::BalancedCluster;

for_each_salt! {
    fn a_minion_runs_once_what_was_published_while_it_looked_for_a_master(salt) runs_once(salt);
    fn it_cannot_tell_the_masters_from_one(salt) answers_all(salt);
}

fn runs_once(salt: Kind) -> Result<()> {
    let minions = [("web1", Kind::Ours), ("python", salt)];
    let Some(mut balanced) = BalancedCluster::start(&minions)? else {
        return Ok(());
    };
    // One of them has its subscription.
    for killed in 0..3 {
        balanced.cluster.masters[killed].kill9()?;
        let token = format!("killed-{killed}");
        let jid = balanced.leave((killed + 1) % 3, "*", &token)?;
        balanced.wait_results(&jid, &["web1", "python"])?;
        balanced.cluster.masters[killed].start()?;
        balanced.wait_all(START)?;
        let left = balanced.left(&token);
        ensure!(left == 2, "{token} was run {left} times");
    }
    Ok(())
}

fn answers_all(salt: Kind) -> Result<()> {
    let minions = [("web1", Kind::Ours), ("python", salt)];
    let Some(balanced) = BalancedCluster::start(&minions)? else {
        return Ok(());
    };
    for master in &balanced.cluster.masters {
        master.check_ping(&balanced.ids())?;
        let grains = master.returns(&["*", "grains.get", "id"])?;
        for id in balanced.ids() {
            ensure!(
                grains.get(id).is_some_and(|grain| grain == id),
                "{grains:?}"
            );
        }
    }
    Ok(())
}
