//! A shared directory that cannot be used for a while.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use halite_integration_tests::{FullDisk, HungMount, Kind, Master, START, until};
use halite_test_support::{http, not_run};

use crate::support::{BalancedCluster, plain};

const MINIONS: [(&str, Kind); 3] = [
    ("web1", Kind::Ours),
    ("web2", Kind::Ours),
    ("py3008", Kind::Salt3008),
];

/// Of the clusters whose keys cannot be read.
const HEALTH_PORT: u16 = 4517;

/// `health_port` answers from memory. A master on a busy machine takes so long.
const ANSWERED_WITHIN: Duration = Duration::from_secs(2);

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

#[test]
fn a_balancer_sends_nobody_to_masters_whose_keys_cannot_be_read() -> Result<()> {
    let Some(mut balanced) = BalancedCluster::with_health(&MINIONS, Some(HEALTH_PORT), plain)?
    else {
        return Ok(());
    };
    wait_ready(&balanced, true)?;
    let keys = FullDisk::at(&balanced.cluster.shared().join("pki"))?;
    wait_ready(&balanced, false)?;
    keys.mend()?;
    check_whole_again(&mut balanced)
}

/// As while a file system is not mounted: there is an empty directory in its place.
#[test]
fn an_empty_directory_in_place_of_the_keys_deletes_none_and_ends_readiness() -> Result<()> {
    let Some(mut balanced) = BalancedCluster::with_health(&MINIONS, Some(HEALTH_PORT), plain)?
    else {
        return Ok(());
    };
    wait_ready(&balanced, true)?;
    let keys = balanced.cluster.shared().join("pki");
    let aside = keys.with_extension("aside");
    fs::rename(&keys, &aside)?;
    fs::create_dir(&keys)?;
    wait_ready(&balanced, false)?;
    // Whatever was made there meanwhile goes with the empty directory.
    fs::rename(&keys, keys.with_extension("empty"))?;
    fs::rename(&aside, &keys)?;
    check_whole_again(&mut balanced)
}

#[test]
fn masters_whose_keys_are_on_a_mount_that_hangs_say_so_at_once_and_go_on_after() -> Result<()> {
    let Some(mut balanced) = BalancedCluster::with_health(&MINIONS, Some(HEALTH_PORT), plain)?
    else {
        return Ok(());
    };
    wait_ready(&balanced, true)?;
    let keys = match HungMount::over(&balanced.cluster.shared().join("pki")) {
        Ok(keys) => keys,
        Err(why) => {
            not_run(&format!("a mount that hangs: {why:#}"));
            return Ok(());
        }
    };
    wait_ready(&balanced, false)?;
    for master in &balanced.cluster.masters {
        let begun = Instant::now();
        ensure!(status(master) == Some(503), "not 503");
        let took = begun.elapsed();
        ensure!(took < ANSWERED_WITHIN, "the health page took {took:?}");
    }
    keys.mend()?;
    check_whole_again(&mut balanced)
}

/// The status of `health_port`; `None` if nobody answers.
fn status(master: &Master) -> Option<u16> {
    let at = SocketAddr::from((master.address().ip(), HEALTH_PORT));
    let said = http::ask(at, "GET", "/health", &[], "").ok()?;
    http::status(&said)
}

/// The file of a master that says the same.
fn ready_file(balanced: &BalancedCluster, master: &Master) -> PathBuf {
    let own = balanced.cluster.shared().join("cache/cluster");
    own.join(master.address().ip().to_string())
        .join("health/ready")
}

/// Waits until all masters say that they take minions, or that they do not.
fn wait_ready(balanced: &BalancedCluster, wanted: bool) -> Result<()> {
    let status_wanted = if wanted { 200 } else { 503 };
    let what = format!("all masters to answer {status_wanted}");
    until(&what, START, || {
        let all = balanced.cluster.masters.iter().all(|master| {
            let is_there = ready_file(balanced, master).exists();
            status(master) == Some(status_wanted) && is_there == wanted
        });
        Ok(all.then_some(()))
    })
}

/// Checks that the masters are ready again, that all minions are connected and the
/// processes that they were, and that a command of each master is run once by all.
fn check_whole_again(balanced: &mut BalancedCluster) -> Result<()> {
    wait_ready(balanced, true)?;
    balanced.wait_all(START)?;
    for n in 0..3 {
        let token = format!("again-{n}");
        let jid = balanced.leave(n, "*", &token)?;
        balanced.wait_results(&jid, &balanced.ids())?;
        let left = balanced.left(&token);
        ensure!(left == MINIONS.len(), "{token} was run {left} times");
    }
    for minion in &mut balanced.minions {
        minion.daemon().check_runs()?;
    }
    Ok(())
}
