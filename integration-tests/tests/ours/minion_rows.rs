//! `salt-run minions.status`: the master's data about minions, without asking them.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Emulator, Fleet, Kind, Master, START, until};
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

/// Minions with a highstate each: more than the highstates of the job cache that are
/// searched.
const HERD: u32 = 25;

/// Enough for a herd on a machine that does other things, too.
const LONG: Duration = Duration::from_secs(120);

#[test]
fn each_minion_has_its_last_highstate_however_many_others_have_run_since() -> Result<()> {
    let fleet = Fleet::new("minion-states")?;
    let mut master = fleet.master("m1", Kind::Ours).auto_accept().lay()?;
    master.start_on_ports()?;
    let herd = Emulator::start(&fleet, &master, (0, HERD), &["--prefix", "web"])?;
    herd.wait_ready(HERD, LONG)?;
    let rows = |master: &Master| -> Result<Value> {
        let args = ["minions.status", "--out=json"];
        master.tools(Kind::Ours).runner(&args)?.ok()?.json()
    };
    let jids = |rows: &Value| -> BTreeSet<String> {
        let rows = rows.as_object().into_iter().flat_map(|rows| rows.values());
        rows.filter_map(|row| row["highstate"]["jid"].as_str())
            .map(str::to_owned)
            .collect()
    };
    for number in 0..HERD {
        let id = format!("web{number:05}");
        master.salt(&["--async", &id, "state.highstate"])?.ok()?;
    }
    let mut last = Value::Null;
    let all = until(
        "a highstate of each minion, with its own job",
        START,
        || {
            last = rows(&master)?;
            let jids = jids(&last);
            Ok((jids.len() == HERD as usize).then_some(jids))
        },
    );
    let all = all.with_context(|| last.to_string())?;
    ensure!(last["web00000"]["highstate"]["ok"] == true, "{last}");

    // The newest of the job cache are all that a new process knows.
    master.kill9()?;
    master.start_on_ports()?;
    let found = jids(&rows(&master)?);
    ensure!(found.len() == 20 && found.is_subset(&all), "{found:?}");
    herd.stop()
}
