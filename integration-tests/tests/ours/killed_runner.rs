//! A runner whose master is killed.

use anyhow::{Context as _, Result, ensure};
use halite_integration_tests::{Fleet, Kind, START, until};

#[test]
fn a_runner_that_dies_with_its_master_has_an_end() -> Result<()> {
    let fleet = Fleet::new("killed-runner")?;
    let mut master = fleet.master("m1", Kind::Ours).start()?;
    master
        .tools(Kind::Ours)
        .runner(&["--async", "test.sleep", "600"])?
        .ok()?;
    let begun = master
        .events()?
        .wait("the runner to begin", START, |event| {
            event.tag.ends_with("/new") && event.data["fun"] == "runner.test.sleep"
        })?;
    let jid = begun.data["jid"].as_str().context("no id")?;
    let file = master.dir().join("cache/proc").join(jid);
    until("its file", START, || Ok(file.exists().then_some(())))?;
    master.kill9()?;
    ensure!(file.exists(), "a killed master has tidied up");
    master.start()?;
    let kept = until("its end", START, || {
        let looked = ["jobs.lookup_jid", jid, "--out=json"];
        let found = master.tools(Kind::Ours).runner(&looked)?.ok()?.stdout;
        Ok(found.contains("test.sleep").then_some(found))
    })?;
    ensure!(
        kept.contains("its master was killed while the runner ran"),
        "{kept}"
    );
    ensure!(!file.exists(), "it runs on");
    // And no other time.
    master.stop()?;
    master.start()?;
    let tag = format!("salt/run/{jid}/ret");
    let events = master.events()?;
    master
        .tools(Kind::Ours)
        .runner(&["test.arg", "later"])?
        .ok()?;
    events.wait("a later runner to end", START, |event| {
        event.tag.ends_with("/ret") && event.data["fun"] == "runner.test.arg"
    })?;
    ensure!(events.events().iter().all(|event| event.tag != tag));
    Ok(())
}
