//! Minions behind the balancer: sign-in at one master, subscription at another,
//! requests at a third.

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Kind, Master, SHORT, START, until};

use crate::support::BalancedCluster;

const OURS: [(&str, Kind); 4] = [
    ("web1", Kind::Ours),
    ("web2", Kind::Ours),
    ("web3", Kind::Ours),
    ("web4", Kind::Ours),
];

#[test]
fn every_minion_answers_every_master() -> Result<()> {
    let Some(balanced) = BalancedCluster::start(&OURS)? else {
        return Ok(());
    };
    for master in &balanced.cluster.masters {
        for _ in 0..5 {
            master.check_ping(&balanced.ids())?;
        }
    }
    // One job, seen from everywhere, with each result once.
    let [first, others @ ..] = &balanced.cluster.masters[..] else {
        unreachable!("three were laid")
    };
    let jid = run_echo(first, "once")?;
    // What the peers tell comes in order: a second copy would be there before the
    // results of a later job are.
    let later = run_echo(first, "later")?;
    for master in others {
        let run = master
            .tools(Kind::Ours)
            .runner(&["jobs.lookup_jid", &jid, "--out=json"])?;
        for id in balanced.ids() {
            ensure!(
                run.stdout.contains(id),
                "{}: {}",
                master.address().ip(),
                run.stdout
            );
        }
        let events = master.events()?;
        for id in balanced.ids() {
            let tag = format!("salt/job/{later}/ret/{id}");
            events.wait(&tag, SHORT, |event| event.tag == tag)?;
        }
        for id in balanced.ids() {
            let tag = format!("salt/job/{jid}/ret/{id}");
            events.wait(&tag, SHORT, |event| event.tag == tag)?;
            let count = events
                .events()
                .iter()
                .filter(|event| event.tag == tag)
                .count();
            ensure!(count == 1, "{} has {count} of {tag}", master.address().ip());
        }
    }
    // No request was refused for want of a session.
    for master in &balanced.cluster.masters {
        let log = std::fs::read_to_string(master.dir().join("log"))?;
        for refusal in ["has no session", "not encrypted with", "is a replay of"] {
            ensure!(
                !log.contains(refusal),
                "{}: {refusal}",
                master.address().ip()
            );
        }
    }
    Ok(())
}

/// Has every minion say a word; the job's id.
fn run_echo(master: &Master, word: &str) -> Result<String> {
    let command = format!("echo {word}");
    let said = master.salt(&["--show-jid", "*", "cmd.run", &command, "--out=txt"])?;
    let jid = said
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("jid: "));
    Ok(jid.context("no job id is shown")?.to_owned())
}

#[test]
fn minions_of_salt_cannot_tell_the_difference() -> Result<()> {
    let minions = [
        ("web1", Kind::Ours),
        ("py3008", Kind::Salt3008),
        ("py3006", Kind::Salt3006),
    ];
    let Some(balanced) = BalancedCluster::start(&minions)? else {
        return Ok(());
    };
    for master in &balanced.cluster.masters {
        master.check_ping(&balanced.ids())?;
        let grains = master.returns(&["*", "grains.get", "id"])?;
        for id in balanced.ids() {
            ensure!(
                grains.get(id).is_some_and(|grain| grain == id),
                "{grains:?}"
            );
        }
    }
    Ok(())
}

#[test]
fn a_key_that_is_deleted_at_one_master_is_out_at_all() -> Result<()> {
    let Some(balanced) = BalancedCluster::with(&OURS[..2], |plan| plan.set("auto_accept", false))?
    else {
        return Ok(());
    };
    let [first, second, third] = &balanced.cluster.masters[..] else {
        unreachable!("three were laid")
    };
    first.key(&["-y", "-d", "web1"])?.ok()?;
    for master in [second, third] {
        master.events()?.wait("the deletion", SHORT, |event| {
            let is = |field: &str, wanted: &str| event.data[field] == wanted;
            event.tag == "salt/key" && is("act", "delete") && is("id", "web1")
        })?;
    }
    // It asks again, and is served by nobody until somebody decides.
    for master in [first, second, third] {
        until("web1 to wait", START, || {
            let said = master.key(&["-l", "pre", "--out=json"])?;
            Ok(said.stdout.contains("web1").then_some(()))
        })?;
        let said = master
            .salt(&["-t", "1", "*", "test.ping", "--out=txt"])?
            .stdout;
        ensure!(
            said.contains("web2: True") && !said.contains("web1: True"),
            "{said}"
        );
        let said = master.salt(&["-t", "1", "-L", "web1", "test.ping", "--out=txt"])?;
        ensure!(!said.stdout.contains("web1: True"), "{}", said.stdout);
    }
    // A minion that is accepted anew is served by all.
    third.key(&["-y", "-a", "web1"])?.ok()?;
    balanced.wait_all(START)
}
