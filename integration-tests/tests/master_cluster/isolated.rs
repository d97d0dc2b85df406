//! Masters without shared files: a new one joins, and decisions about keys at one
//! of them reach all.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use anyhow::{Result, ensure};
use halite_integration_tests::{Kind, START, until};
use serde_json::Value;

use crate::isolated_cluster::{IsolatedCluster, SECRET};

#[test]
fn what_is_decided_at_one_master_is_so_at_all_and_a_deleted_key_stays_deleted() -> Result<()> {
    decide_at_one(IsolatedCluster::lay(3)?)
}

#[test]
fn what_is_decided_at_one_master_is_so_at_all_over_a_bus() -> Result<()> {
    IsolatedCluster::lay_on_bus(3)?.map_or(Ok(()), decide_at_one)
}

fn decide_at_one(mut isolated: IsolatedCluster) -> Result<()> {
    isolated.start(3)?;
    let all = [0, 1, 2];
    for n in all {
        let key = fs::read(isolated.pki(n).join("cluster.pub"))?;
        ensure!(
            key == fs::read(isolated.pki(0).join("cluster.pub"))?,
            "m{n}"
        );
    }
    let minion = isolated
        .fleet
        .minion("web1", Kind::Ours)
        .of(&isolated.masters[2]);
    let mut minion = minion.start()?;
    isolated.wait_file(&all, "minions_pre/web1", true)?;
    isolated.masters[1].key(&["-y", "-a", "web1"])?.ok()?;
    isolated.wait_file(&all, "minions/web1", true)?;
    for master in &isolated.masters {
        until("web1 to answer", START, || {
            let said = master.salt(&["-t", "1", "web1", "test.ping", "--out=txt"])?;
            Ok(said.stdout.contains("web1: True").then_some(()))
        })?;
    }
    minion.stop()?;
    let before = fs::read(isolated.pki(0).join(".aes"))?;
    isolated.masters[0].kill9()?;
    isolated.masters[2].key(&["-y", "-d", "web1"])?.ok()?;
    isolated.wait_file(&[1, 2], "minions/web1", false)?;
    until("another publish key", START, || {
        let key = isolated.publish_key(&[1, 2])?;
        Ok(key.filter(|key| *key != before))
    })?;
    ensure!(isolated.pki(0).join("minions/web1").exists(), "m1 was down");
    isolated.masters[0].start()?;
    isolated.wait_file(&all, "minions/web1", false)?;
    // They are of one mind about the publish key too, which is a new one, and the key
    // of the minion does not come back meanwhile.
    until("one publish key", START, || {
        for n in all {
            let key = isolated.pki(n).join("minions/web1");
            ensure!(!key.exists(), "the deleted key is back at m{}", n + 1);
        }
        let key = isolated.publish_key(&all)?;
        Ok(key.filter(|key| *key != before))
    })?;
    Ok(())
}

#[test]
fn an_old_publish_key_in_a_file_does_not_become_that_of_the_cluster() -> Result<()> {
    keep_new_key(IsolatedCluster::lay(2)?)
}

#[test]
fn an_old_publish_key_in_a_file_does_not_become_that_of_a_cluster_on_a_bus() -> Result<()> {
    IsolatedCluster::lay_on_bus(2)?.map_or(Ok(()), keep_new_key)
}

fn keep_new_key(mut isolated: IsolatedCluster) -> Result<()> {
    isolated.start(2)?;
    let old = fs::read(isolated.pki(0).join(".aes"))?;
    let tools = isolated.masters[1].tools(Kind::Ours);
    tools.runner(&["cluster.rotate_keys"])?.ok()?;
    let new = until("the new publish key", START, || {
        let key = isolated.publish_key(&[0, 1])?;
        Ok(key.filter(|key| *key != old))
    })?;
    // As after a crash, or a full disk, between the registers and the file.
    isolated.masters[0].kill9()?;
    let file = isolated.pki(0).join(".aes");
    fs::write(&file, &old)?;
    isolated.masters[0].start()?;
    ensure!(fs::read(&file)? == new, "the registers have the new key");
    // What m2 hears of a minion at m1 comes behind all that m1 has to say.
    let minion = isolated
        .fleet
        .minion("web1", Kind::Ours)
        .of(&isolated.masters[0]);
    let mut minion = minion.start()?;
    isolated.wait_file(&[0, 1], "minions_pre/web1", true)?;
    minion.stop()?;
    for n in [0, 1] {
        let found = fs::read(isolated.pki(n).join(".aes"))?;
        ensure!(found == new, "m{} has another publish key", n + 1);
    }
    Ok(())
}

#[test]
fn a_publish_key_that_is_too_old_is_replaced_by_one_master_for_all() -> Result<()> {
    let mut isolated = IsolatedCluster::lay(2)?;
    for master in &isolated.masters {
        let text = "publish_session: 8\nloop_interval: 1\n";
        fs::write(master.dir().join("master.d/session.conf"), text)?;
    }
    isolated.start(2)?;
    let first = until("one publish key", START, || isolated.publish_key(&[0, 1]))?;
    until("another publish key", START, || {
        let key = isolated.publish_key(&[0, 1])?;
        Ok(key.filter(|key| *key != first))
    })?;
    let made = |n: usize| -> Result<usize> {
        let log = fs::read_to_string(isolated.masters[n].dir().join("log"))?;
        Ok(log.matches("made a new publish key").count())
    };
    // As texts: that of `.10` is before that of `.9`.
    let maker = usize::from(isolated.ip(1) < isolated.ip(0));
    // The other one may have the key before the first one's log has the line.
    until("the first by name to say so", START, || {
        Ok((made(maker)? > 0).then_some(()))
    })?;
    ensure!(made(1 - maker)? == 0, "the other one makes one too");
    Ok(())
}

#[test]
fn a_wrong_secret_is_refused_and_a_removed_master_is_cut_off() -> Result<()> {
    refuse_and_remove(IsolatedCluster::lay(3)?)
}

#[test]
fn a_wrong_secret_is_refused_and_a_removed_master_is_cut_off_from_a_bus() -> Result<()> {
    IsolatedCluster::lay_on_bus(3)?.map_or(Ok(()), refuse_and_remove)
}

fn refuse_and_remove(mut isolated: IsolatedCluster) -> Result<()> {
    isolated.configure(2, "another secret")?;
    isolated.start(2)?;
    isolated.masters[2].daemon().start()?;
    let log = isolated.masters[2].dir().join("log");
    until("the refusal", START, || {
        let said = fs::read_to_string(&log).unwrap_or_default();
        Ok(said.contains("`cluster_secret` differs").then_some(()))
    })?;
    isolated.masters[2].stop()?;
    let file = format!("peers/{}.pub", isolated.ip(2));
    ensure!(!isolated.pki(0).join(&file).exists(), "it was taken in");
    ensure!(
        !isolated.pki(2).join("cluster.pem").exists(),
        "it has a key"
    );
    isolated.configure(2, SECRET)?;
    isolated.masters[2].start()?;
    isolated.wait_file(&[0, 1], &file, true)?;
    let before = fs::read(isolated.pki(0).join(".aes"))?;
    let ip = isolated.ip(2);
    let tools = isolated.masters[1].tools(Kind::Ours);
    tools.runner(&["cluster.remove", &ip])?.ok()?;
    isolated.wait_file(&[0, 1], &file, false)?;
    until("another publish key", START, || {
        let key = isolated.publish_key(&[0, 1])?;
        Ok(key.filter(|key| *key != before).map(|_| ()))
    })?;
    // Neither side holds a link to the other.
    for n in [0, 1] {
        let members = isolated.members(n)?;
        ensure!(members.get(&ip).is_none(), "m{}: {members:?}", n + 1);
        let is_linked = |n: usize| members[&isolated.ip(n)]["connected"] == true;
        ensure!(is_linked(0) && is_linked(1), "{members:?}");
    }
    until("the removed master to have no link", START, || {
        let members = isolated.members(2)?;
        let is_linked = |n: usize| members[&isolated.ip(n)]["connected"] != false;
        Ok((!is_linked(0) && !is_linked(1)).then_some(()))
    })?;
    ensure!(
        fs::read(isolated.pki(2).join(".aes"))? == before,
        "the removed master has the new publish key"
    );
    // Nor does it know by what masters join from now on.
    isolated.wait_secret(&[0, 1], None)?;
    ensure!(
        !isolated.pki(2).join("cluster_secret").exists(),
        "the removed master has the new secret"
    );
    Ok(())
}

#[test]
fn a_new_secret_reaches_all_members_and_those_with_the_old_one_are_refused() -> Result<()> {
    rotate_secret(IsolatedCluster::lay(3)?)
}

#[test]
fn a_new_secret_reaches_all_members_over_a_bus() -> Result<()> {
    IsolatedCluster::lay_on_bus(3)?.map_or(Ok(()), rotate_secret)
}

fn rotate_secret(mut isolated: IsolatedCluster) -> Result<()> {
    isolated.start(2)?;
    // One is away when it is made.
    isolated.masters[1].kill9()?;
    let tools = isolated.masters[0].tools(Kind::Ours);
    let said = tools.runner(&["cluster.rotate_secret"])?.ok()?;
    let first = isolated.wait_secret(&[0], None)?;
    ensure!(!format!("{said}").contains(&first), "the secret is shown");
    let file = isolated.pki(0).join("cluster_secret");
    ensure!(said.stdout.contains(&file.display().to_string()), "{said}");
    let mode = fs::metadata(&file)?.permissions().mode() & 0o777;
    ensure!(mode == 0o600, "{mode:o}");
    isolated.masters[1].start()?;
    isolated.wait_secret(&[0, 1], None)?;
    // Made by the other one, it is later all the same.
    let tools = isolated.masters[1].tools(Kind::Ours);
    tools.runner(&["cluster.rotate_secret"])?.ok()?;
    let secret = isolated.wait_secret(&[0, 1], Some(&first))?;
    for n in [0, 1] {
        isolated.masters[n].kill9()?;
    }
    for n in [0, 1] {
        isolated.masters[n].start()?;
    }
    isolated.masters[2].daemon().start()?;
    let log = isolated.masters[2].dir().join("log");
    until("the refusal", START, || {
        let said = fs::read_to_string(&log).unwrap_or_default();
        Ok(said.contains("`cluster_secret` differs").then_some(()))
    })?;
    isolated.masters[2].stop()?;
    let file = format!("peers/{}.pub", isolated.ip(2));
    ensure!(!isolated.pki(0).join(&file).exists(), "it was taken in");
    isolated.configure(2, &secret)?;
    isolated.masters[2].start()?;
    isolated.wait_file(&[0, 1], &file, true)?;
    let status = isolated.masters[2].tools(Kind::Ours);
    until("the joiner to hear when it was made", START, || {
        let shown = status.runner(&["cluster.status", "--out=json"])?.ok()?;
        let shown: Value = serde_json::from_str(&shown.stdout)?;
        Ok((shown["secret"]["by"] == isolated.ip(1)).then_some(()))
    })
}

/// The key of the cluster is encrypted on the disk of each member, and each can be started
/// again.
#[test]
fn a_master_joins_a_cluster_whose_key_has_a_passphrase() -> Result<()> {
    let mut isolated = IsolatedCluster::lay_planned(2, |plan| {
        plan.set("cluster_key_pass", "the passphrase of this test")
    })?;
    isolated.start(2)?;
    let pem = |n: usize| fs::read_to_string(isolated.pki(n).join("cluster.pem"));
    for n in [0, 1] {
        ensure!(
            pem(n)?.contains("ENCRYPTED"),
            "m{} has it in the clear",
            n + 1
        );
    }
    let public = |n: usize| fs::read(isolated.pki(n).join("cluster.pub"));
    ensure!(public(0)? == public(1)?, "two clusters");
    ensure!(isolated.masters[1].stop()? == 0, "it did not end well");
    isolated.masters[1].start()?;
    let minion = isolated.fleet.minion("web1", Kind::Ours);
    let mut minion = minion.of(&isolated.masters[1]).start()?;
    isolated.wait_file(&[0, 1], "minions_pre/web1", true)?;
    isolated.masters[0].key(&["-y", "-a", "web1"])?.ok()?;
    until("web1 to answer", START, || {
        let said = isolated.masters[0].salt(&["-t", "1", "web1", "test.ping", "--out=txt"])?;
        Ok(said.stdout.contains("web1: True").then_some(()))
    })?;
    minion.stop()?;
    Ok(())
}
