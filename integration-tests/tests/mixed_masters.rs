//! Minions of every kind with a list of masters of which one is ours and one
//! is real Salt's, sharing a key pair.

use std::fs;

use anyhow::{Result, ensure};
use halite_integration_tests::local_program::{LocalJob, LocalProgram};
use halite_integration_tests::{Fleet, Kind, Master, START, scenarios, until};
use serde_json::Value;

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

/// Publishes a command under an id: it tells that it has begun, waits for a file, and
/// says a word.
fn publish_held(fleet: &Fleet, master: &Master, jid: &str, word: &str) -> Result<()> {
    let at = |name: &str| fleet.path().join(format!("{jid}.{name}"));
    let command = format!(
        "echo {word} >> {}; until [ -e {} ]; do sleep 0.02; done; echo {word}",
        at("begun").display(),
        at(word).display()
    );
    let job = LocalJob {
        jid,
        target: "web1",
        fun: "cmd.run",
        arg: &command,
    };
    let given = LocalProgram::of(master)?.publish(&job)?;
    ensure!(given == jid, "published as {given}");
    Ok(())
}

/// What the master says that its job has come to.
fn wait_result(master: &Master, jid: &str) -> Result<Value> {
    until("the result of a job", START, || {
        let asked = ["jobs.lookup_jid", jid, "--out=json"];
        let said = master.tools(master.kind()).runner(&asked)?;
        let found: Value = serde_json::from_str(&said.stdout).unwrap_or_default();
        Ok(found.get("web1").cloned())
    })
}

/// A real master and one of ours give two commands one job id, alive and killed.
fn one_id(theirs: Kind) -> Result<()> {
    const ALIVE: &str = "20261120141841939742";
    const KILLED: &str = "20261120141841939743";
    let fleet = Fleet::new("oneid")?;
    let mut ours = fleet.master("m1", Kind::Ours).auto_accept().start()?;
    let plan = fleet.master("m2", theirs).auto_accept();
    let theirs = plan.key_pair_of(&ours).start()?;
    let _minion = fleet
        .minion("web1", Kind::Ours)
        .of(&ours)
        .of(&theirs)
        .start()?;
    for master in [&ours, &theirs] {
        master.wait_minion("web1")?;
    }
    let begin = |jid: &str, ours: &Master| -> Result<()> {
        publish_held(&fleet, ours, jid, "ours")?;
        publish_held(&fleet, &theirs, jid, "theirs")?;
        until("both commands to run", START, || {
            let begun = fs::read_to_string(fleet.path().join(format!("{jid}.begun")));
            let begun = begun.unwrap_or_default();
            let has = |word: &str| begun.lines().filter(|line| *line == word).count() == 1;
            Ok((has("ours") && has("theirs")).then_some(()))
        })
    };
    let release = |jid: &str, word: &str| fs::write(fleet.path().join(format!("{jid}.{word}")), "");

    begin(ALIVE, &ours)?;
    release(ALIVE, "theirs")?;
    assert_eq!(wait_result(&theirs, ALIVE)?, "theirs");
    release(ALIVE, "ours")?;
    assert_eq!(wait_result(&ours, ALIVE)?, "ours");
    assert_eq!(wait_result(&theirs, ALIVE)?, "theirs");

    // The result of a dead master's job is no result of the other one's.
    begin(KILLED, &ours)?;
    ours.kill9()?;
    release(KILLED, "ours")?;
    release(KILLED, "theirs")?;
    assert_eq!(wait_result(&theirs, KILLED)?, "theirs");
    ours.start()?;
    assert_eq!(wait_result(&ours, KILLED)?, "ours");
    assert_eq!(wait_result(&theirs, KILLED)?, "theirs");
    Ok(())
}

#[test]
fn a_job_id_of_3008_and_of_ours_mixes_nothing() -> Result<()> {
    one_id(Kind::Salt3008)
}

#[test]
fn a_job_id_of_3006_and_of_ours_mixes_nothing() -> Result<()> {
    one_id(Kind::Salt3006)
}
