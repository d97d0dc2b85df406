//! Masters of a cluster without a balancer: minions have all of them in their list.

use std::fs;

use anyhow::{Result, ensure};
use halite_integration_tests::chaos::{Results, publish, read_cache_in};
use halite_integration_tests::{Kind, Master, SHORT, START, until};

use nix::sys::signal::Signal;
use serde_json::json;

use crate::support::{Cluster, plain};

const MINIONS: [(&str, Kind); 3] = [
    ("web1", Kind::Ours),
    ("web2", Kind::Ours),
    ("py3008", Kind::Salt3008),
];

/// Waits until a master has an answer of each minion.
fn wait_answers(master: &Master) -> Result<()> {
    until("all minions to answer", START, || {
        let said = master.salt(&["-t", "1", "*", "test.ping", "--out=txt"])?;
        let is_here = |(id, _): &(&str, Kind)| said.stdout.contains(&format!("{id}: True"));
        Ok(MINIONS.iter().all(is_here).then_some(()))
    })
}

/// Has all minions leave a token, and checks that each has done so once, and no other
/// one again.
fn check_runs_once(cluster: &Cluster, master: usize, token: &str) -> Result<()> {
    let tokens = cluster.fleet.path().join("tokens");
    let command = format!("echo {token} >> {}; echo {token}", tokens.display());
    let jid = publish(&cluster.masters[master], "*", &command)?;
    let cache = cluster.shared().join("cache");
    until("all results", SHORT, || {
        let mut results = Results::new();
        read_cache_in(&cache, &mut results)?;
        let has = |(id, _): &(&str, Kind)| results.contains_key(&(jid.clone(), (*id).to_owned()));
        Ok(MINIONS.iter().all(has).then_some(()))
    })?;
    let text = fs::read_to_string(tokens)?;
    for token in text.lines() {
        let left = text.lines().filter(|line| *line == token).count();
        ensure!(left == MINIONS.len(), "{token} was run {left} times");
    }
    Ok(())
}

#[test]
fn minions_with_a_list_of_all_masters_run_a_command_once_and_are_accepted_once() -> Result<()> {
    let mut cluster = Cluster::lay(2, |plan| plan.set("auto_accept", false))?;
    cluster.start()?;
    let minions = MINIONS.map(|(id, kind)| {
        let plan = cluster.fleet.minion(id, kind);
        plan.of(&cluster.masters[0])
            .of(&cluster.masters[1])
            .set("master_alive_interval", 1)
            .start()
    });
    let mut minions = minions.into_iter().collect::<Result<Vec<_>>>()?;
    let pki = cluster.shared().join("pki");
    for (id, _) in MINIONS {
        until(&format!("{id} to be accepted"), START, || {
            if pki.join("minions_pre").join(id).exists() {
                cluster.masters[0].key(&["-y", "-a", id])?;
            }
            Ok(pki.join("minions").join(id).exists().then_some(()))
        })?;
    }
    for n in 0..2 {
        wait_answers(&cluster.masters[n])?;
        for round in 0..3 {
            check_runs_once(&cluster, n, &format!("m{n}-{round}"))?;
        }
    }
    cluster.masters[0].kill9()?;
    check_runs_once(&cluster, 1, "killed")?;
    cluster.masters[0].start()?;
    wait_answers(&cluster.masters[0])?;
    check_runs_once(&cluster, 0, "back")?;
    for minion in &mut minions {
        minion.daemon().check_runs()?;
    }
    Ok(())
}

/// What every master is told without a cluster, a cluster is told once: its masters tell
/// each other, and each would react.
#[test]
fn masters_of_a_list_react_once_to_an_event_of_a_minion() -> Result<()> {
    let mut cluster = Cluster::lay(2, plain)?;
    let seen = cluster.fleet.path().join("seen");
    for master in &cluster.masters {
        let states = master.dir().join("reactor");
        fs::create_dir_all(&states)?;
        let text = format!(
            "note:\n  local.cmd.run:\n    - tgt: web1\n    - arg:\n      - echo {{{{ tag }}}} >> {}\n",
            seen.display()
        );
        fs::write(states.join("note.sls"), text)?;
        let note = states.join("note.sls");
        let reactor = json!({
            "reactor": [{"noted/*": [note]}, {"salt/minion/web1/start": [note]}],
        });
        fs::write(
            master.dir().join("master.d/reactor.conf"),
            reactor.to_string(),
        )?;
    }
    cluster.start()?;
    let minion = cluster.fleet.minion("web1", Kind::Ours);
    let minion = minion
        .of(&cluster.masters[0])
        .of(&cluster.masters[1])
        .set("master_alive_interval", 1)
        .set(
            "schedule",
            json!({
                "once": {"function": "event.send", "args": ["noted/scheduled"],
                    "run_on_start": true, "minutes": 60},
                "tick": {"function": "event.send", "args": ["noted/tick"], "seconds": 2},
            }),
        )
        .start()?;
    for master in &cluster.masters {
        until("web1 to answer", START, || {
            let said = master.salt(&["-t", "1", "web1", "test.ping", "--out=txt"])?;
            Ok(said.stdout.contains("web1: True").then_some(()))
        })?;
    }
    let lines = || -> Vec<String> {
        let text = fs::read_to_string(&seen).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    };
    let count = |tag: &str| lines().iter().filter(|line| *line == tag).count();
    cluster.masters[0]
        .salt(&["web1", "event.send", "noted/by-a-job"])?
        .ok()?;
    minion.called(&["event.send", "noted/by-a-call"])?;
    let tags = [
        "salt/minion/web1/start",
        "noted/scheduled",
        "noted/by-a-job",
        "noted/by-a-call",
    ];
    for tag in tags {
        until(&format!("a reaction to {tag}"), START, || {
            Ok((count(tag) > 0).then_some(()))
        })?;
    }
    // What comes by way of the other master would have come by now: it is told later.
    cluster.masters[1]
        .salt(&["web1", "event.send", "noted/last"])?
        .ok()?;
    until("the last reaction", START, || {
        Ok((count("noted/last") > 0).then_some(()))
    })?;
    for tag in tags.iter().chain(&["noted/last"]) {
        ensure!(count(tag) == 1, "{tag}: {:?}", lines());
    }

    // The one that is asked first may hang: the other one is told.
    cluster.masters[0].daemon().signal(Signal::SIGSTOP)?;
    let before = count("noted/tick");
    let told = until("reactions of the other", START, || {
        Ok((count("noted/tick") >= before + 3).then_some(()))
    });
    cluster.masters[0].daemon().signal(Signal::SIGCONT)?;
    told
}
