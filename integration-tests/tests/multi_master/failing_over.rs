//! `master_type: failover`: one master at a time.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use halite_integration_tests::{Master, MinionPlan, SHORT, Signal, until};

use crate::support::{
    Several, Tokens, allowed, ping_time, plain, plain_master, publish, starts, stored, wait_ping,
};

/// What is promised; [`allowed`] adds what a busy machine takes.
const FAILOVER: Duration = Duration::from_secs(3);
const FAILBACK: Duration = Duration::from_secs(6);

fn failover(plan: MinionPlan<'_>) -> MinionPlan<'_> {
    plan.set("master_type", "failover")
        .set("master_alive_interval", 1)
        .set("master_failback", true)
        .set("master_failback_interval", 1)
}

fn start(change: impl for<'a> Fn(MinionPlan<'a>) -> MinionPlan<'a>) -> Result<Several> {
    let mut several = Several::without_minions(2, plain_master)?;
    several.add_minions(1, |plan| change(failover(plan)))?;
    let [first, second] = several.masters.as_slice() else {
        bail!("not two masters");
    };
    first.wait_minion("web1")?;
    // As an administrator does who adds a master: it knows the keys.
    let key = |master: &Master| master.dir().join("pki/minions/web1");
    fs::copy(key(first), key(second))?;
    Ok(several)
}

fn send(
    sent: &mut Vec<(String, String)>,
    master: &Master,
    token: String,
    tokens: &Tokens,
) -> Result<()> {
    let jid = publish(master, "web1", &tokens.command(&token))?;
    sent.push((token, jid));
    Ok(())
}

/// #50606 #29567 #32150 #38376 #30181 #35041: over, back, and over again,
/// while commands flow from whichever master lives; each runs once.
#[test]
fn over_and_back_and_over_again_without_a_lost_command() -> Result<()> {
    let mut several = start(plain)?;
    let tokens = several.tokens();
    let (first, second, _) = several.two()?;
    let mut sent: Vec<(String, String)> = Vec::new();
    for round in 0..2 {
        send(&mut sent, first, format!("before{round}"), &tokens)?;
        first.kill9()?;
        send(&mut sent, second, format!("over{round}"), &tokens)?;
        let begun = Instant::now();
        tokens.wait(&format!("over{round}"))?;
        let took = begun.elapsed();
        let within = allowed(second, FAILOVER)?;
        ensure!(took < within, "failover took {took:?}");

        // This one runs while the minion goes back; its result finds a master.
        let slow = format!("both{round}");
        let jid = publish(
            second,
            "web1",
            &format!("sleep 2; {}", tokens.command(&slow)),
        )?;
        sent.push((slow, jid));
        first.start()?;
        let begun = Instant::now();
        send(&mut sent, first, format!("back{round}"), &tokens)?;
        tokens.wait(&format!("back{round}"))?;
        let took = begun.elapsed();
        let within = allowed(first, FAILBACK)?;
        ensure!(took < within, "failback took {took:?}");
        tokens.wait(&format!("both{round}"))?;
    }
    until("every result at some master", SHORT, || {
        for (_, jid) in &sent {
            let at_first = stored(first, jid, "web1")?;
            if at_first.is_none() && stored(second, jid, "web1")?.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(()))
    })?;
    for (token, count) in tokens.counts() {
        assert_eq!(count, 1, "{token}");
    }
    assert_eq!(tokens.counts().len(), sent.len());
    Ok(())
}

/// #30181 #35041: more than two masters: each in its turn, round the end of the
/// list, and always back to the first that is there.
#[test]
fn failover_goes_round_three_masters_and_back() -> Result<()> {
    let mut several = Several::without_minions(3, plain_master)?;
    several.add_minions(1, failover)?;
    several.masters[0].wait_minion("web1")?;
    for other in [1, 2] {
        let key = |master: &Master| master.dir().join("pki/minions/web1");
        fs::copy(key(&several.masters[0]), key(&several.masters[other]))?;
    }
    let serves = |several: &Several, which: usize| wait_ping(&several.masters[which], "web1");
    for round in 0..2 {
        several.masters[0].kill9()?;
        serves(&several, 1)?;
        several.masters[1].kill9()?;
        serves(&several, 2)?;
        // The second is there again, and nobody has to change for it.
        several.masters[1].start()?;
        serves(&several, 2)?;
        several.masters[2].kill9()?;
        let took = serves(&several, 1)?;
        let within = allowed(&several.masters[1], FAILBACK)?;
        ensure!(took < within, "round {round}: the second after {took:?}");
        several.masters[2].start()?;
        several.masters[0].start()?;
        let took = serves(&several, 0)?;
        let within = allowed(&several.masters[0], FAILBACK)?;
        ensure!(took < within, "round {round}: the first after {took:?}");
    }
    several.minions[0].daemon().check_runs()
}

/// #39439 #60008: the connection of the serving master stands, but nobody is
/// there any more; only questions find that out.
#[test]
fn a_hanging_master_is_left() -> Result<()> {
    let mut several = start(|plan| plan.set("auth_timeout", 1))?;
    let (first, second, _) = several.two()?;
    first.daemon().signal(Signal::SIGSTOP)?;
    let took = wait_ping(second, "web1")?;
    let within = allowed(second, Duration::from_secs(10))?;
    ensure!(took < within, "took {took:?}");
    first.daemon().signal(Signal::SIGCONT)?;
    wait_ping(first, "web1")?;
    Ok(())
}

/// #66497: polling a master that is well changes nothing.
#[test]
fn polling_a_healthy_master_is_not_flapping() -> Result<()> {
    let mut several = Several::with(2, 1, plain_master, |plan| {
        plan.set("master_alive_interval", 1)
    })?;
    let (first, second, _) = several.two()?;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(4) {
        for master in [&*first, &*second] {
            let took = ping_time(master, "web1")?;
            let within = allowed(master, Duration::from_secs(1))?;
            ensure!(took < within, "took {took:?}");
        }
    }
    for master in [&*first, &*second] {
        assert_eq!(starts(master, "web1")?, 1);
    }
    Ok(())
}

/// #66534: nothing can be reached at the start, neither the name nor the
/// other; then one comes up.
#[test]
fn failover_starts_with_every_master_away() -> Result<()> {
    let mut several = Several::without_minions(2, plain_master)?;
    several.masters[0].kill9()?;
    several.masters[1].kill9()?;
    several.add_minions(1, failover)?;
    let minion = several.minions[0].dir().to_path_buf();
    crate::support::wait_log(&minion, &["does not answer"])?;
    several.masters[1].start()?;
    wait_ping(&several.masters[1], "web1")?;
    several.masters[0].start()?;
    let took = wait_ping(&several.masters[0], "web1")?;
    let within = allowed(&several.masters[0], FAILBACK)?;
    ensure!(took < within, "failback took {took:?}");
    several.minions[0].daemon().check_runs()
}
