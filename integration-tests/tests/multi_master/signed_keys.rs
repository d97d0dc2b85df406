//! Masters with keys of their own, which a common key has signed
//! (`master_sign_pubkey`, `verify_master_pubkey_sign`).

use std::fs;

use anyhow::{Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master, Minion};

use crate::support::{wait_log, wait_ping};

/// Two masters with different keys and one signing key, and a minion that
/// trusts that key.
fn start(fleet: &Fleet, failover: bool) -> Result<([Master; 2], Minion)> {
    let mut first = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("master_sign_pubkey", true)
        .start()?;
    let second = fleet
        .master("m2", Kind::Ours)
        .auto_accept()
        .set("master_sign_pubkey", true)
        .lay()?;
    for name in ["master_sign.pem", "master_sign.pub"] {
        fs::copy(
            first.dir().join("pki").join(name),
            second.dir().join("pki").join(name),
        )?;
    }
    let mut second = second;
    second.start()?;
    let key = |master: &Master| fs::read_to_string(master.dir().join("pki/master.pub"));
    ensure!(key(&first)? != key(&second)?, "the same key");
    let mut plan = fleet
        .minion("web1", Kind::Ours)
        .of(&first)
        .of(&second)
        .set("verify_master_pubkey_sign", true)
        .set("always_verify_signature", true);
    if failover {
        plan = plan
            .set("master_type", "failover")
            .set("master_alive_interval", 1)
            .set("master_failback", true)
            .set("master_failback_interval", 1);
    }
    let mut minion = plan.lay()?;
    fs::copy(
        first.dir().join("pki/master_sign.pub"),
        minion.dir().join("pki/master_sign.pub"),
    )?;
    minion.start()?;
    first.daemon().check_runs()?;
    Ok(([first, second], minion))
}

/// A hot list: both serve, although their keys differ; pillars are believed.
#[test]
fn masters_with_different_keys_serve_side_by_side() -> Result<()> {
    let fleet = Fleet::new("signed")?;
    let ([mut first, second], minion) = start(&fleet, false)?;
    for master in [&first, &second] {
        master.wait_minion("web1")?;
        master.check_ping(&["web1"])?;
    }
    first.kill9()?;
    second.check_ping(&["web1"])?;
    first.start()?;
    wait_ping(&first, "web1")?;
    second.returns(&["web1", "pillar.items"])?;
    first.returns(&["web1", "pillar.items"])?;
    drop(minion);
    Ok(())
}

/// #62318: failover to a master with another key, and back.
#[test]
fn failover_between_masters_with_different_keys() -> Result<()> {
    let fleet = Fleet::new("signed")?;
    let ([mut first, second], minion) = start(&fleet, true)?;
    wait_ping(&first, "web1")?;
    first.kill9()?;
    wait_ping(&second, "web1")?;
    second.returns(&["web1", "pillar.items"])?;
    first.start()?;
    wait_ping(&first, "web1")?;
    drop(minion);
    Ok(())
}

/// A third master whose key nobody has signed is refused, and costs nothing.
#[test]
fn a_master_whose_key_is_not_signed_is_refused() -> Result<()> {
    let fleet = Fleet::new("signed")?;
    let ([first, second], mut minion) = start(&fleet, false)?;
    second.wait_minion("web1")?;
    minion.stop()?;
    let rogue = fleet.master("m3", Kind::Ours).auto_accept().start()?;
    let masters = [&rogue, &first, &second].map(|master| master.address().request().to_string());
    crate::support::set_masters(&minion, &masters)?;
    minion.start()?;
    wait_log(
        minion.dir(),
        &[&rogue.address().ip().to_string(), "does not sign its key"],
    )?;
    wait_ping(&first, "web1")?;
    wait_ping(&second, "web1")?;
    let status = minion.status(&["--out=json"])?.exit(1)?.json()?;
    let error = status["masters"][0]["last_error"]
        .as_str()
        .unwrap_or_default();
    ensure!(error.contains("does not sign its key"), "got {status}");
    Ok(())
}
