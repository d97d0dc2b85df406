//! Minions of every kind with a list of masters of which one is ours and one
//! is real Salt's, sharing a key pair.

use std::fs;

use anyhow::{Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master, START, scenarios, until};

const MINIONS: [Kind; 3] = [Kind::Ours, Kind::Salt3008, Kind::Salt3006];

#[test]
fn ours_dies_and_3008_goes_on() -> Result<()> {
    scenarios::several_masters_share_their_minions(&[Kind::Ours, Kind::Salt3008], &MINIONS)
}

#[test]
fn salt_3008_dies_and_ours_goes_on() -> Result<()> {
    scenarios::several_masters_share_their_minions(&[Kind::Salt3008, Kind::Ours], &MINIONS)
}

#[test]
fn ours_dies_and_3006_goes_on() -> Result<()> {
    scenarios::several_masters_share_their_minions(&[Kind::Ours, Kind::Salt3006], &MINIONS)
}

#[test]
fn salt_3006_dies_and_ours_goes_on() -> Result<()> {
    scenarios::several_masters_share_their_minions(&[Kind::Salt3006, Kind::Ours], &MINIONS)
}

#[test]
#[ignore = "the long form: cargo xtask test --long"]
fn three_kinds_of_master_share_all_minions() -> Result<()> {
    scenarios::several_masters_share_their_minions(
        &[Kind::Ours, Kind::Salt3008, Kind::Salt3006],
        &[Kind::Ours, Kind::Salt3008, Kind::Salt3006, Kind::Salt3007],
    )
}

/// A real master and one of ours with keys of their own, both signed with one
/// key; our minion serves both and fails over between them.
fn signed_keys(theirs: Kind) -> Result<()> {
    let fleet = Fleet::new("signed")?;
    let first = fleet
        .master("m1", theirs)
        .auto_accept()
        .set("master_sign_pubkey", true)
        .start()?;
    let mut second = fleet
        .master("m2", Kind::Ours)
        .auto_accept()
        .set("master_sign_pubkey", true)
        .lay()?;
    let copy = |name: &str, to: &std::path::Path| {
        fs::copy(
            first.dir().join("pki").join(name),
            to.join("pki").join(name),
        )
    };
    copy("master_sign.pem", second.dir())?;
    copy("master_sign.pub", second.dir())?;
    second.start()?;
    let key = |master: &Master| fs::read_to_string(master.dir().join("pki/master.pub"));
    ensure!(key(&first)? != key(&second)?, "the same key");
    let plan = |id: &str| {
        let plan = fleet.minion(id, Kind::Ours).of(&first).of(&second);
        plan.set("verify_master_pubkey_sign", true)
            .set("always_verify_signature", true)
    };
    let mut hot = plan("hot").lay()?;
    copy("master_sign.pub", hot.dir())?;
    hot.start()?;
    for master in [&first, &second] {
        master.wait_minion("hot")?;
        master.returns(&["hot", "pillar.items"])?;
    }
    let mut over = plan("over")
        .set("master_type", "failover")
        .set("master_alive_interval", 1)
        .lay()?;
    copy("master_sign.pub", over.dir())?;
    over.start()?;
    first.wait_minion("over")?;
    let mut first = first;
    first.kill9()?;
    second.wait_minion("over")?;
    until("both minions to answer the second master", START, || {
        Ok(second.check_ping(&["hot", "over"]).ok())
    })
}

#[test]
fn signed_keys_of_3008_and_ours() -> Result<()> {
    signed_keys(Kind::Salt3008)
}

#[test]
fn signed_keys_of_3006_and_ours() -> Result<()> {
    signed_keys(Kind::Salt3006)
}
