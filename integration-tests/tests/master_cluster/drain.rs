//! A master that hands its minions over, on command or because it is stopped.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::chaos::gives_up;
use halite_integration_tests::{Kind, Master, Minion, SHORT, START, until};
use halite_test_services::{Nats, Wanted};

use crate::support::{BalancedCluster, plain};

const MINIONS: [(&str, Kind); 4] = [
    ("web1", Kind::Ours),
    ("web2", Kind::Ours),
    ("web3", Kind::Ours),
    ("web4", Kind::Ours),
];

const HEALTH_PORT: u16 = 4515;

/// Between two commands.
const PACE: Duration = Duration::from_millis(200);

/// What a master says of its health; `None` if nobody answers.
fn health(master: &Master) -> Option<String> {
    let at = SocketAddr::new(master.address().ip().into(), HEALTH_PORT);
    let mut stream = TcpStream::connect_timeout(&at, Duration::from_secs(2)).ok()?;
    stream
        .write_all(b"GET /health HTTP/1.0\r\nHost: m\r\n\r\n")
        .ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    text.lines().next().map(str::to_owned)
}

fn listens(master: &Master) -> bool {
    TcpStream::connect_timeout(&master.address().publish(), Duration::from_secs(2)).is_ok()
}

fn stage(master: &Master) -> Result<String> {
    let tools = master.tools(Kind::Ours);
    let shown = tools.runner(&["cluster.status", "--out=json"])?.ok()?;
    let shown: serde_json::Value = serde_json::from_str(&shown.stdout)?;
    let stage = shown["drain"].as_str().context("no stage")?;
    Ok(stage.to_owned())
}

/// Sends commands from a master until `ended`; their tokens, which begin so, and job ids.
fn send(
    balanced: &BalancedCluster,
    n: usize,
    name: &str,
    ended: &AtomicBool,
) -> Result<Vec<(String, String)>> {
    let mut sent = Vec::new();
    while !ended.load(Ordering::Relaxed) {
        let token = format!("{name}-{}", sent.len());
        let jid = balanced.leave(n, "*", &token)?;
        sent.push((token, jid));
        std::thread::sleep(PACE);
    }
    Ok(sent)
}

/// Does something while commands flow from a master, and checks that every minion
/// has run each of them once and returned it.
fn check_none_lost(
    balanced: &mut BalancedCluster,
    (from, name): (usize, &str),
    act: impl FnOnce(&mut Master) -> Result<()> + Send,
    on: usize,
) -> Result<()> {
    let ended = AtomicBool::new(false);
    // The one that is acted on is taken out of the cluster's masters meanwhile.
    let mut master = balanced.cluster.masters.remove(on);
    let from = if from > on { from - 1 } else { from };
    let (sent, acted) = std::thread::scope(|scope| {
        let acting = scope.spawn(|| {
            let acted = act(&mut master);
            ended.store(true, Ordering::Relaxed);
            acted
        });
        let sent = send(balanced, from, name, &ended);
        (sent, acting.join())
    });
    balanced.cluster.masters.insert(on, master);
    acted.map_err(|_| anyhow::anyhow!("a panic"))??;
    let sent = sent?;
    ensure!(!sent.is_empty(), "nothing was sent");
    let ids = balanced.ids();
    let is_ours = |of: &&Minion| of.kind() == Kind::Ours;
    let ours = balanced.minions.iter().filter(is_ours);
    let ours: Vec<&str> = ours.map(Minion::id).collect();
    for (token, jid) in &sent {
        balanced.wait_results(jid, &ours)?;
        // A minion of Salt is sent again what it may have missed, and may give up its
        // result by its own account.
        let what = format!("{token} to be run by all");
        until(&what, START, || {
            Ok((balanced.left(token) >= ids.len()).then_some(()))
        })?;
    }
    for (token, jid) in &sent {
        let left = balanced.left(token);
        ensure!(left == ids.len(), "{token} was run {left} times");
        until(&format!("the results of {jid}"), SHORT, || {
            let known = balanced.results()?;
            let salts = balanced.minions.iter().filter(|of| !is_ours(of));
            let has_it = |of: &Minion| known.contains_key(&(jid.clone(), of.id().to_owned()));
            let mut open = salts.filter(|of| !has_it(of) && !gives_up(of, jid));
            Ok(open.next().is_none().then_some(()))
        })?;
    }
    Ok(())
}

#[test]
fn a_master_hands_its_minions_over_and_no_command_is_lost() -> Result<()> {
    let balanced = BalancedCluster::with_health(&MINIONS, Some(HEALTH_PORT), plain)?;
    balanced.map_or(Ok(()), hand_over_and_stop)
}

#[test]
fn a_master_on_a_bus_hands_its_minions_over_and_no_command_is_lost() -> Result<()> {
    let Some(bus) = Nats::for_test(&Wanted::default()) else {
        return Ok(());
    };
    let balanced = BalancedCluster::with_health(&MINIONS, Some(HEALTH_PORT), |plan| {
        plan.set("cluster_bus", bus.url())
    })?;
    balanced.map_or(Ok(()), hand_over_and_stop)
}

fn hand_over_and_stop(mut balanced: BalancedCluster) -> Result<()> {
    let cache = balanced.cluster.shared().join("cache/cluster");
    let ready_file = |master: &Master| {
        let own = cache.join(master.address().ip().to_string());
        own.join("health/ready")
    };
    let is_ready = |master: &Master| {
        health(master).is_some_and(|said| said.contains("200")) && ready_file(master).exists()
    };
    check_none_lost(
        &mut balanced,
        (1, "drained"),
        |first| {
            ensure!(is_ready(first), "{:?}", health(first));
            let said = first
                .tools(Kind::Ours)
                .runner(&["cluster.drain", "--out=json"])?
                .ok()?;
            ensure!(said.stdout.trim() == "true", "{said}");
            let said = health(first);
            ensure!(
                said.as_deref().is_some_and(|said| said.contains("503")),
                "{said:?}"
            );
            until("the file of a ready master to be gone", SHORT, || {
                Ok((!ready_file(first).exists()).then_some(()))
            })?;
            // The balancer hears of it before anybody is turned away.
            ensure!(listens(first), "the publish port was closed first");
            until("the minions to be gone", SHORT, || {
                Ok((stage(first)? == "done" && !listens(first)).then_some(()))
            })?;
            // Commands and requests go on.
            first.key(&["-L"])?.ok()?;
            ensure!(first.stop()? == 0, "it did not end well");
            Ok(())
        },
        0,
    )?;
    balanced.cluster.masters[0].start()?;
    until("the first master to be ready", SHORT, || {
        Ok(is_ready(&balanced.cluster.masters[0]).then_some(()))
    })?;
    // The same for one that is stopped.
    check_none_lost(
        &mut balanced,
        (2, "stopped"),
        |second| {
            ensure!(second.stop()? == 0, "it did not end well");
            Ok(())
        },
        1,
    )?;
    for minion in &mut balanced.minions {
        minion.daemon().check_runs()?;
    }
    Ok(())
}

#[test]
fn a_minion_of_salt_misses_no_command_when_its_master_drains_or_is_stopped() -> Result<()> {
    let minions = [("web1", Kind::Ours), ("py3008", Kind::Salt3008)];
    let Some(mut balanced) = BalancedCluster::with_health(&minions, Some(HEALTH_PORT), plain)?
    else {
        return Ok(());
    };
    // The minion is at one of the three.
    for on in 0..3 {
        let from = (on + 1) % 3;
        check_none_lost(
            &mut balanced,
            (from, &format!("drained-{on}")),
            |master| {
                let tools = master.tools(Kind::Ours);
                let said = tools.runner(&["cluster.drain", "--out=json"])?.ok()?;
                ensure!(said.stdout.trim() == "true", "{said}");
                until("the minions to be gone", SHORT, || {
                    Ok((stage(master)? == "done").then_some(()))
                })?;
                ensure!(master.stop()? == 0, "it did not end well");
                Ok(())
            },
            on,
        )?;
        balanced.cluster.masters[on].start()?;
        balanced.wait_all(START)?;
    }
    for on in 0..3 {
        let stop = |master: &mut Master| {
            ensure!(master.stop()? == 0, "it did not end well");
            Ok(())
        };
        let from = ((on + 1) % 3, &*format!("stopped-{on}"));
        check_none_lost(&mut balanced, from, stop, on)?;
        balanced.cluster.masters[on].start()?;
        balanced.wait_all(START)?;
    }
    for minion in &mut balanced.minions {
        minion.daemon().check_runs()?;
    }
    Ok(())
}

#[test]
fn a_master_that_is_alone_hands_nobody_over() -> Result<()> {
    let mut cluster = crate::support::Cluster::lay(1, plain)?;
    cluster.start()?;
    let master = &cluster.masters[0];
    let said = master.tools(Kind::Ours).runner(&["cluster.drain"])?;
    ensure!(
        format!("{said}").contains("no other master that accepts minions is connected"),
        "{said}"
    );
    ensure!(stage(master)? == "no" && listens(master), "it drains");
    Ok(())
}
