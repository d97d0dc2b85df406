//! Masters of Salt are refused as peers, with the reason.

use std::fs;
use std::net::TcpStream;

use anyhow::Result;
use halite_integration_tests::{Fleet, Kind, Master, START, until};

const POOL_PORT: u16 = 4522;

/// Ours, the first by name, and Salt's, which therefore asks to join; none runs.
fn lay() -> Result<(Fleet, Master, Master)> {
    let fleet = Fleet::new("saltpeers")?;
    let lay = |name: &str| fleet.master(name, Kind::Salt3008).lay();
    let (one, other) = (lay("m1")?, lay("m2")?);
    let ip = |master: &Master| master.address().ip().to_string();
    let (mut ours, salts) = match ip(&one) < ip(&other) {
        true => (one, other),
        false => (other, one),
    };
    ours.replace_by(Kind::Ours)?;
    for (master, peer) in [(&ours, &salts), (&salts, &ours)] {
        let text = format!(
            "root_dir: {}\nid: {}\ncluster_id: master_cluster\ncluster_peers: [{}]\n\
             cluster_pool_port: {POOL_PORT}\ncluster_pki_dir: {}\n\
             cluster_secret: a secret of this test\ncluster_isolated_filesystem: True\n",
            fleet.path().display(),
            ip(master),
            ip(peer),
            master.dir().join("cluster_pki").display(),
        );
        let dir = master.dir().join("master.d");
        fs::create_dir_all(&dir)?;
        fs::write(dir.join("cluster.conf"), text)?;
    }
    Ok((fleet, ours, salts))
}

fn wait_log(ours: &Master, text: &str) -> Result<()> {
    until(&format!("the log to say {text:?}"), START, || {
        let log = fs::read_to_string(ours.dir().join("log")).unwrap_or_default();
        Ok(log.contains(text).then_some(()))
    })
}

#[test]
fn a_master_of_salt_that_wants_to_join_is_named() -> Result<()> {
    let (_fleet, mut ours, mut salts) = lay()?;
    ours.start()?;
    salts.daemon().start()?;
    wait_log(
        &ours,
        "it is a master of Salt: these do not prove who they are",
    )
}

#[test]
fn nobody_joins_through_a_master_of_salt_and_the_log_says_why() -> Result<()> {
    let (_fleet, mut ours, mut salts) = lay()?;
    salts.daemon().start()?;
    let peers = (salts.address().ip(), POOL_PORT);
    until("the port of Salt's master for peers", START, || {
        Ok(TcpStream::connect(peers).ok())
    })?;
    ours.daemon().start()?;
    wait_log(
        &ours,
        "sends nothing: it hangs, is cut off, or is a master of Salt",
    )
}
