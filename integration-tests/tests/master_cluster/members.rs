//! Masters that go and come back.

use std::fs;
use std::time::Duration;

use anyhow::{Result, ensure};
use halite_integration_tests::{Kind, START, until};
use halite_test_services::{Nats, Wanted};
use serde_json::Value;

use crate::support::{BalancedCluster, Cluster, address, plain};

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
    BalancedCluster::start(&MINIONS)?.map_or(Ok(()), restart_one_after_the_other)
}

#[test]
fn a_rolling_restart_loses_no_minion_on_a_bus() -> Result<()> {
    let Some(bus) = Nats::for_test(&Wanted::default()) else {
        return Ok(());
    };
    let on_bus = BalancedCluster::with(&MINIONS, |plan| plan.set("cluster_bus", bus.url()))?;
    on_bus.map_or(Ok(()), restart_one_after_the_other)
}

fn restart_one_after_the_other(mut balanced: BalancedCluster) -> Result<()> {
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

/// As Salt's tutorial removes one: its file goes from `peers/`, it is stopped, and the
/// others are restarted without it in their lists.
#[test]
fn a_master_is_removed_as_the_tutorial_does_it() -> Result<()> {
    let mut cluster = Cluster::lay(3, plain)?;
    cluster.start()?;
    let ip = |cluster: &Cluster, n: usize| cluster.masters[n].address().ip().to_string();
    let removed = ip(&cluster, 2);
    let members = |cluster: &Cluster| -> Result<Value> {
        let tools = cluster.masters[0].tools(Kind::Ours);
        let shown = tools.runner(&["cluster.members", "--out=json"])?.ok()?;
        let shown: Value = serde_json::from_str(&shown.stdout)?;
        Ok(shown["members"].clone())
    };
    let is_linked = |cluster: &Cluster, ip: &str| -> Result<bool> {
        Ok(members(cluster)?[ip]["connected"] == true)
    };
    let second = ip(&cluster, 1);
    until("all to be connected", START, || {
        let both = is_linked(&cluster, &removed)? && is_linked(&cluster, &second)?;
        Ok(both.then_some(()))
    })?;
    let minion = cluster.fleet.minion("web1", Kind::Ours);
    let mut minion = minion.of(&cluster.masters[1]).start()?;
    // It still runs: it is cut off all the same.
    let file = cluster.shared().join(format!("pki/peers/{removed}.pub"));
    fs::remove_file(&file)?;
    until("it to be cut off", START, || {
        Ok((!is_linked(&cluster, &removed)?).then_some(()))
    })?;
    ensure!(cluster.masters[2].stop()? == 0, "it did not end well");
    for n in [0, 1] {
        let config = cluster.masters[n].dir().join("master.d/cluster.conf");
        let text = fs::read_to_string(&config)?;
        fs::write(&config, text.replace(&format!("  - {removed}\n"), ""))?;
        cluster.masters[n].stop()?;
        cluster.masters[n].start()?;
    }
    until("the two to be connected", START, || {
        Ok(is_linked(&cluster, &second)?.then_some(()))
    })?;
    let left = members(&cluster)?;
    ensure!(left.get(&removed).is_none(), "{left}");
    for n in [0, 1] {
        until("web1 to answer", START, || {
            let said = cluster.masters[n].salt(&["-t", "1", "web1", "test.ping", "--out=txt"])?;
            Ok(said.stdout.contains("web1: True").then_some(()))
        })?;
    }
    // Nobody is missed: what is done once is done.
    let status = cluster.masters[0].tools(Kind::Ours);
    let status = status.runner(&["cluster.status", "--out=json"])?.ok()?;
    let status: Value = serde_json::from_str(&status.stdout)?;
    ensure!(status["half"] == false && status["first"] != "", "{status}");
    minion.stop()?;
    Ok(())
}

/// With a shared directory: the file of the removed master is gone, it is cut off, and
/// there is a new publish key, which minions take.
#[test]
fn a_running_master_is_removed_and_keys_are_rotated_where_files_are_shared() -> Result<()> {
    let mut cluster = Cluster::lay(3, plain)?;
    cluster.start()?;
    let names = [0, 1, 2].map(|n| address(&cluster, n));
    let run = |cluster: &Cluster, args: &[&str]| -> Result<Value> {
        let tools = cluster.masters[0].tools(Kind::Ours);
        let shown = tools.runner(&[args, &["--out=json"]].concat())?.ok()?;
        Ok(serde_json::from_str(&shown.stdout)?)
    };
    let linked = |cluster: &Cluster, n: usize| -> Result<bool> {
        let members = run(cluster, &["cluster.members"])?;
        Ok(members["members"][&names[n]]["connected"] == true)
    };
    until("all to be connected", START, || {
        Ok((linked(&cluster, 1)? && linked(&cluster, 2)?).then_some(()))
    })?;
    let minion = cluster.fleet.minion("web1", Kind::Ours);
    let mut minion = minion.of(&cluster.masters[1]).start()?;
    let answers = |n: usize| {
        until("web1 to answer", START, || {
            let said = cluster.masters[n].salt(&["-t", "1", "web1", "test.ping", "--out=txt"])?;
            Ok(said.stdout.contains("web1: True").then_some(()))
        })
    };
    answers(0)?;
    let key = || fs::read(cluster.shared().join("pki/.aes"));
    let at_first = key()?;
    ensure!(
        run(&cluster, &["cluster.rotate_keys"])? == true,
        "not rotated"
    );
    let rotated = key()?;
    ensure!(rotated != at_first, "the publish key is the same");
    answers(0)?;
    answers(2)?;

    ensure!(
        run(&cluster, &["cluster.remove", &names[2]])? == true,
        "not removed"
    );
    ensure!(key()? != rotated, "the removed master has the publish key");
    let file = cluster.shared().join(format!("pki/peers/{}.pub", names[2]));
    ensure!(!file.exists(), "its file is there");
    until("it to be cut off", START, || {
        Ok((!linked(&cluster, 2)?).then_some(()))
    })?;
    answers(0)?;
    answers(1)?;
    let tools = cluster.masters[0].tools(Kind::Ours);
    for (name, why) in [
        (&names[2], "the cluster has no member"),
        (&names[0], "a master cannot remove itself"),
    ] {
        let said = tools.runner(&["cluster.remove", name])?;
        ensure!(format!("{said}").contains(why), "{said}");
    }
    minion.stop()?;
    Ok(())
}
