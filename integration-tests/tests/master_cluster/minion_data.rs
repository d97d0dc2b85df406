//! In a cluster without shared files all masters know what one knows of minions:
//! grains, pillar and mine, also after one was away. The same holds for tokens.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use halite_integration_tests::{Kind, Master, START, until};

use serde_json::Value;

use crate::isolated_cluster::IsolatedCluster;

#[test]
fn all_masters_target_by_what_one_has_learnt() -> Result<()> {
    targets_and_mines(IsolatedCluster::lay(3)?)
}

#[test]
fn all_masters_target_by_what_one_has_learnt_over_a_bus() -> Result<()> {
    IsolatedCluster::lay_on_bus(3)?.map_or(Ok(()), targets_and_mines)
}

fn targets_and_mines(mut isolated: IsolatedCluster) -> Result<()> {
    for master in &isolated.masters {
        let pillar = master.dir().join("srv/pillar");
        fs::create_dir_all(&pillar)?;
        fs::write(pillar.join("top.sls"), "base:\n  '*':\n    - all\n")?;
        fs::write(pillar.join("all.sls"), "site: basle\n")?;
        let text = format!("pillar_roots: {{base: [{}]}}\n", pillar.display());
        fs::write(master.dir().join("master.d/pillar.conf"), text)?;
    }
    isolated.start(3)?;
    let minion = isolated
        .fleet
        .minion("web1", Kind::Ours)
        .set("grains", serde_json::json!({"role": "web"}))
        .of(&isolated.masters[2]);
    let mut minion = minion.start()?;
    isolated.wait_file(&[0, 1, 2], "minions_pre/web1", true)?;
    isolated.masters[1].key(&["-y", "-a", "web1"])?.ok()?;
    for master in &isolated.masters {
        wait_match(master, &["-G", "role:web"])?;
        wait_match(master, &["-I", "site:basle"])?;
    }

    let sent = isolated.masters[0].salt(&["web1", "mine.send", "test.ping", "--out=txt"])?;
    ensure!(sent.stdout.contains("True"), "{sent:?}");
    for master in &isolated.masters {
        wait_mine(master, true)?;
    }

    // What is removed is removed everywhere.
    let flushed = isolated.masters[1].salt(&["web1", "mine.flush", "--out=txt"])?;
    ensure!(flushed.stdout.contains("True"), "{flushed:?}");
    for master in &isolated.masters {
        wait_mine(master, false)?;
    }

    // A master that was down learns what it has missed, of its own life before, too.
    isolated.masters[0].kill9()?;
    minion.called(&["grains.setval", "stage", "two"])?;
    let said = isolated.masters[1].salt(&["web1", "saltutil.refresh_grains"])?;
    said.ok().context("the refresh of grains")?;
    wait_match(&isolated.masters[1], &["-G", "stage:two"])?;
    isolated.masters[0].start()?;
    wait_match(&isolated.masters[0], &["-G", "stage:two"])?;
    minion.stop()?;
    Ok(())
}

#[test]
fn a_token_of_one_master_is_known_to_all_until_one_takes_it_back() -> Result<()> {
    share_token(IsolatedCluster::lay(3)?)
}

#[test]
fn a_token_of_one_master_is_known_to_all_over_a_bus() -> Result<()> {
    IsolatedCluster::lay_on_bus(3)?.map_or(Ok(()), share_token)
}

fn share_token(mut isolated: IsolatedCluster) -> Result<()> {
    for master in &isolated.masters {
        fs::write(
            master.dir().join("master.d/logins.conf"),
            "sharedsecret: open sesame\nexternal_auth:\n  sharedsecret:\n    alice: ['@runner']\n",
        )?;
    }
    isolated.start(3)?;
    let run = |n: usize, args: &[&str]| -> Result<Value> {
        let args = [args, &["--out=json"]].concat();
        let said = isolated.masters[n].tools(Kind::Ours).runner(&args)?.ok()?;
        serde_json::from_str(&said.stdout).with_context(|| said.stdout.clone())
    };
    let made = run(
        0,
        &[
            "auth.mk_token",
            "username=alice",
            "password=open sesame",
            "eauth=sharedsecret",
        ],
    )?;
    let token = made["token"].as_str().context("no token")?.to_owned();
    let file = format!("cache/tokens/{token}.p");
    let stored = |n: usize| isolated.masters[n].dir().join(&file);
    until("the token at all masters", START, || {
        Ok((0..3).all(|n| stored(n).exists()).then_some(()))
    })?;
    ensure!(run(1, &["auth.del_token", &token])? == Value::Bool(true));
    until("the token at no master", START, || {
        Ok((0..3).all(|n| !stored(n).exists()).then_some(()))
    })
}

/// Waits until web1 matches at a master, and answers it.
fn wait_match(master: &Master, target: &[&str]) -> Result<()> {
    until(&format!("web1 to match {target:?}"), START, || {
        let args = [target, &["-t", "2", "test.ping", "--out=txt"]].concat();
        let said = master.salt(&args)?;
        Ok(said.stdout.contains("web1: True").then_some(()))
    })
}

/// Waits until a master has or has not what web1 publishes.
fn wait_mine(master: &Master, is_there: bool) -> Result<()> {
    let tools = master.tools(Kind::Ours);
    until(
        &format!("the mine of web1 (there: {is_there})"),
        START,
        || {
            let said = tools.runner(&["mine.get", "*", "test.ping", "--out=json"])?;
            let has = said.ok()?.stdout.contains("web1");
            Ok((has == is_there).then_some(()))
        },
    )
}
