//! `salt-run minions.status`: the master's data about minions, without asking them.

use anyhow::{Result, ensure};
use halite_integration_tests::{Fleet, Kind, START, until};
use serde_json::{Value, json};

const WEB_SLS: &str = "\
good:
  test.succeed_with_changes
bad:
  test.fail_without_changes
";

#[test]
fn a_master_tells_of_minions_without_asking_them() -> Result<()> {
    let fleet = Fleet::new("minion-rows")?;
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .file("top.sls", "base:\n  '*':\n    - web\n")
        .file("web.sls", WEB_SLS)
        .file("other.sls", "fine: test.nop\n")
        .start()?;
    let mut web1 = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    let status = |args: &[&str]| -> Result<Value> {
        let args = [&["minions.status"], args, &["--out=json"]].concat();
        master.tools(Kind::Ours).runner(&args)?.ok()?.json()
    };
    let history = |args: &[&str]| -> Result<Value> {
        let args = [&["minions.history"], args, &["--out=json"]].concat();
        master.tools(Kind::Ours).runner(&args)?.ok()?.json()
    };
    let row = until("the grains to be there", START, || {
        let row = status(&[])?["web1"].clone();
        Ok((row["connected"] == true && row["version"].is_string()).then_some(row))
    })?;
    ensure!(row["proven"] == true && row["master"].is_string(), "{row}");
    let since = row["since"].as_str().unwrap_or_default();
    ensure!(since.ends_with("+00:00"), "{row}");
    ensure!(row["highstate"].is_null(), "{row}");

    let applied = master.salt(&["web1", "state.apply"])?;
    ensure!(applied.code != 0, "a state fails: {applied}");
    // Files that are named are no highstate.
    master.salt(&["web1", "state.apply", "other"])?.ok()?;
    let highstate = status(&["web*"])?["web1"]["highstate"].clone();
    let counts = ["ok", "succeeded", "changed", "failed", "test"].map(|name| &highstate[name]);
    ensure!(
        json!(counts) == json!([false, 1, 1, 1, false]),
        "{highstate}"
    );
    master.salt(&["web1", "state.apply", "test=True"])?;
    let highstate = status(&["tgt=web1", "tgt_type=list"])?["web1"]["highstate"].clone();
    ensure!(highstate["test"] == true, "{highstate}");
    ensure!(status(&["db*"])? == json!({}));
    let short = status(&["highstates=False"])?;
    ensure!(short["web1"]["highstate"].is_null(), "{short}");

    web1.kill9()?;
    let ended = until("the history to have its end", START, || {
        let said = history(&["web1"])?;
        let last = said["minions"]["web1"]
            .as_array()
            .and_then(|all| all.last());
        let last = last.cloned().unwrap_or_default();
        Ok((last["change"] == "disconnected").then_some(said))
    })?;
    let changes = ended["minions"]["web1"].as_array().cloned();
    let changes: Vec<_> = changes.into_iter().flatten().collect();
    let named = |name: &str| changes.iter().any(|change| change["change"] == name);
    ensure!(named("signed_in") && named("connected"), "{ended}");
    ensure!(
        changes
            .iter()
            .all(|change| change["master"] == ended["master"]),
        "{ended}"
    );
    ensure!(history(&["db*"])?["minions"] == json!({}));
    // The newest that is proven, and beside it the newest that anybody could have claimed.
    let newest = history(&["web1", "count=1"])?;
    let signed_in = |change: &&Value| change["change"] == "signed_in";
    let claimed = changes.iter().rev().find(signed_in);
    ensure!(
        newest["minions"]["web1"] == json!([claimed, changes.last()]),
        "{newest}"
    );
    // Who is not accepted has a history, too, if it is asked for by its name.
    master.key(&["-y", "-d", "web1"])?.ok()?;
    ensure!(history(&["web1"])?["minions"] == json!({}));
    let gone = history(&["tgt=web1,web2", "tgt_type=list"])?;
    ensure!(gone["minions"]["web1"].is_array(), "{gone}");
    Ok(())
}

#[test]
fn a_master_tells_of_minions_that_are_gone() -> Result<()> {
    let fleet = Fleet::new("minion-gone")?;
    let master = fleet.master("m1", Kind::Ours).auto_accept().start()?;
    let mut web1 = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    let status = |args: &[&str]| -> Result<Value> {
        let args = [&["minions.status"], args, &["--out=json"]].concat();
        master.tools(Kind::Ours).runner(&args)?.ok()?.json()
    };
    let since = status(&[])?["web1"]["since"].clone();
    web1.kill9()?;
    until("it to be seen that the minion is gone", START, || {
        let row = status(&[])?["web1"].clone();
        let is_gone = row["connected"] == false && row["proven"] == true;
        Ok((is_gone && row["since"] != since && row["master"].is_null()).then_some(()))
    })
}
