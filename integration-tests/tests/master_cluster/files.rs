//! The shared files, and errors that stop a start.

use std::fs;

use anyhow::{Result, ensure};
use halite_integration_tests::{SHORT, until};

use crate::support::{Cluster, plain};

/// So many first starts of three masters at once.
const FIRST_STARTS: usize = 10;

#[test]
fn three_masters_that_start_at_once_have_one_key() -> Result<()> {
    for _ in 0..FIRST_STARTS {
        let mut cluster = Cluster::lay(3, plain)?;
        cluster.start()?;
        let pki = cluster.shared().join("pki");
        let names = fs::read_dir(pki.join("peers"))?.count();
        ensure!(names == 3, "{names} peers");
        for master in &cluster.masters {
            let log = master.dir().join("log");
            until("links to both peers", SHORT, || {
                let said = fs::read_to_string(&log)?;
                Ok((said.matches("linked to the peer").count() >= 2).then_some(()))
            })?;
        }
        for master in &mut cluster.masters {
            ensure!(master.stop()? == 0, "a master did not end well");
        }
    }
    Ok(())
}

#[test]
fn another_fingerprint_than_that_of_the_cluster_stops_the_start() -> Result<()> {
    let wrong = "ab".repeat(32);
    let mut cluster = Cluster::lay(1, |plan| {
        plan.set("cluster_pub_fingerprint", wrong.as_str())
    })?;
    let master = &mut cluster.masters[0];
    let code = master
        .daemon()
        .start()
        .and_then(|()| master.daemon().wait_exit(SHORT))?;
    ensure!(code != 0, "it started");
    let said = master.daemon().said();
    ensure!(said.contains("cluster_pub_fingerprint"), "{said}");
    Ok(())
}

#[test]
fn a_master_under_the_name_of_another_is_stopped() -> Result<()> {
    let mut cluster = Cluster::lay(2, plain)?;
    cluster.start()?;
    let [first, second] = &mut cluster.masters[..] else {
        unreachable!("two were laid")
    };
    second.stop()?;
    let peers = cluster.fleet.path().join("share/pki/peers");
    let file = |master: &halite_integration_tests::Master| {
        peers.join(format!("{}.pub", master.address().ip()))
    };
    fs::remove_file(file(second))?;
    fs::copy(file(first), file(second))?;
    let code = second
        .daemon()
        .start()
        .and_then(|()| second.daemon().wait_exit(SHORT))?;
    let said = second.daemon().said();
    ensure!(
        code != 0 && said.contains("remove it to continue"),
        "{said}"
    );
    // The other one goes on.
    until("the first master to answer", SHORT, || {
        Ok(first.key(&["-L"])?.ok().ok().map(drop))
    })
}
