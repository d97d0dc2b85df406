//! Masters with keys of their own, which a common key has signed
//! (`master_sign_pubkey`, `verify_master_pubkey_sign`).

use std::fs;
use std::path::Path;

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

/// The masters' common key is changed while the fleet works: minions follow,
/// one that was off meanwhile too, and a stranger with a key of its own gains
/// nothing.
#[test]
fn a_new_key_that_the_old_one_has_signed_is_followed() -> Result<()> {
    let fleet = Fleet::new("renewed")?;
    let mut first = fleet.master("m1", Kind::Ours).auto_accept().start()?;
    let mut second = fleet.master("m2", Kind::Ours).auto_accept().lay()?;
    let pki = |master: &Master| master.dir().join("pki");
    copy_pair(&pki(&first), &pki(&second))?;
    second.start()?;
    let mut minions = Vec::new();
    for name in ["web1", "web2"] {
        let plan = fleet.minion(name, Kind::Ours).of(&first).of(&second);
        minions.push(plan.start()?);
        wait_ping(&first, name)?;
        wait_ping(&second, name)?;
    }
    let known = |minion: &Minion| fs::read_to_string(minion.dir().join("pki/minion_master.pub"));
    let before = known(&minions[0])?;
    minions[1].stop()?;

    first.key(&["--renew-master-key", "--yes"])?.ok()?;
    first.stop()?;
    first.start()?;
    wait_ping(&first, "web1")?;
    ensure!(known(&minions[0])? != before, "the old key is trusted");
    // The other master as the page says: the same files, and a restart.
    copy_pair(&pki(&first), &pki(&second))?;
    fs::copy(
        pki(&first).join("master_key_changes"),
        pki(&second).join("master_key_changes"),
    )?;
    second.stop()?;
    second.start()?;
    wait_ping(&second, "web1")?;
    minions[1].start()?;
    wait_ping(&first, "web2")?;
    wait_ping(&second, "web2")?;
    ensure!(known(&minions[1])? == known(&minions[0])?, "two keys");

    // A master with a key that nobody has signed, on the first one's place.
    first.stop()?;
    for name in ["master_key_changes", "master.pem", "master.pub"] {
        let _ = fs::remove_file(pki(&first).join(name));
    }
    for entry in fs::read_dir(pki(&first))? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|end| end == "pem" || end == "pub")
        {
            fs::remove_file(path)?;
        }
    }
    first.start()?;
    wait_log(
        minions[0].dir(),
        &["this master has another key", "known", "offered"],
    )?;
    let status = minions[0].status(&["--out=json"])?.json()?;
    ensure!(status.to_string().contains("another key"), "got {status}");
    second.check_ping(&["web1", "web2"])?;
    Ok(())
}

/// Gives a master the pair of another one, under the name that both know.
fn copy_pair(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(to)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|end| end == "pem" || end == "pub")
        {
            fs::remove_file(path)?;
        }
    }
    for name in ["master.pub", "master.pem"] {
        fs::write(to.join(name), fs::read(from.join(name))?)?;
    }
    Ok(())
}
