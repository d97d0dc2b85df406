//! No command is lost while a master restarts or a minion is away.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use halite_integration_tests::{Kind, SHORT, Signal, until};

use crate::support::{
    Several, Tokens, check_told_once, is_logged, plain_master, publish, stored, wait_ping,
    wait_starts, wait_stored,
};
use halite_integration_tests::proxy::Proxy;

/// Each of these ran once and no other did.
fn check_once(tokens: &Tokens, sent: &[String]) -> Result<()> {
    let wanted: BTreeMap<_, _> = sent.iter().map(|token| (token.clone(), 1)).collect();
    let ran = tokens.counts();
    ensure!(ran == wanted, "{ran:?} instead of {sent:?}");
    Ok(())
}

/// Salt loses the return of one or two of nine commands that are sent as soon
/// as a restarted master is up.
#[test]
fn commands_right_after_a_masters_restart_run_once() -> Result<()> {
    let mut several = Several::start(2, 1)?;
    let tokens = several.tokens();
    let (first, _, _) = several.two()?;
    let mut sent = Vec::new();
    for round in 0..3 {
        first.kill9()?;
        first.start()?;
        for number in 0..4 {
            let token = format!("r{round}n{number}");
            let jid = publish(first, "web1", &tokens.command(&token))?;
            sent.push((token, jid));
        }
        for (token, jid) in &sent {
            assert_eq!(wait_stored(first, jid, "web1")?, token.as_str());
        }
    }
    let sent: Vec<String> = sent.into_iter().map(|(token, _)| token).collect();
    check_once(&tokens, &sent)
}

/// Published, and the master dies before anyone has it.
#[test]
fn a_command_survives_the_death_of_its_master() -> Result<()> {
    let mut several = Several::start(2, 1)?;
    let tokens = several.tokens();
    let (first, second, minion) = several.two()?;
    minion.daemon().signal(Signal::SIGSTOP)?;
    let jid = publish(first, "web1", &tokens.command("early"))?;
    first.kill9()?;
    minion.kill9()?;
    minion.start()?;
    wait_ping(second, "web1")?;
    first.start()?;
    assert_eq!(wait_stored(first, &jid, "web1")?, "early");
    check_once(&tokens, &["early".to_owned()])
}

/// Salt never runs what is sent while the minion is away.
#[test]
fn commands_to_a_minion_that_is_away_run_once_when_it_is_back() -> Result<()> {
    let mut several = Several::start(2, 1)?;
    let tokens = several.tokens();
    let (first, second, minion) = several.two()?;
    let pid = minion.daemon().pid()?;
    minion.kill9()?;
    let jids = [
        (publish(first, "web1", &tokens.command("a"))?, "a"),
        (publish(second, "web1", &tokens.command("b"))?, "b"),
        (publish(first, "*", &tokens.command("c"))?, "c"),
    ];
    minion.start()?;
    ensure!(minion.daemon().pid()? != pid, "the same process");
    for (jid, token) in &jids {
        let master = if *token == "b" { &*second } else { &*first };
        assert_eq!(wait_stored(master, jid, "web1")?, *token);
        check_told_once(master, jid, "web1")?;
    }
    // Once more: nothing is open any more.
    minion.kill9()?;
    minion.start()?;
    let mark = publish(first, "web1", &tokens.command("d"))?;
    wait_stored(first, &mark, "web1")?;
    let all = ["a", "b", "c", "d"].map(str::to_owned);
    check_once(&tokens, &all)
}

/// #39439: a firewall has forgotten idle connections; both ends believe that
/// they stand. Salt's minion is deaf until TCP gives up.
#[test]
fn a_command_reaches_a_minion_whose_connection_is_dead() -> Result<()> {
    let mut several = Several::without_minions(1, plain_master)?;
    let tokens = several.tokens();
    let master = &several.masters[0];
    let cable = Proxy::before(master)?;
    let minion = several
        .fleet
        .minion("web1", Kind::Ours)
        .set("master", cable.request().to_string())
        .set("master_alive_interval", 1)
        .set("auth_timeout", 1)
        .start()?;
    master.wait_minion("web1")?;
    wait_ping(master, "web1")?;
    cable.forget();
    // The first may still count as published during the sign-in.
    for token in ["deaf", "still"] {
        let jid = publish(master, "web1", &tokens.command(token))?;
        assert_eq!(wait_stored(master, &jid, "web1")?, token);
    }
    // It hears again, whether the job that was not heard or the poll of the
    // master has shown that the connection is dead.
    until("another connection", SHORT, || {
        let signs = [["connecting again"], ["connection lost"]];
        let is_seen = signs.iter().any(|sign| is_logged(minion.dir(), sign));
        Ok(is_seen.then_some(()))
    })?;
    wait_ping(master, "web1")?;
    several.minions.push(minion);
    check_once(&tokens, &["deaf", "still"].map(str::to_owned))
}

/// What is older than the window is not run late.
#[test]
fn a_command_older_than_the_window_is_not_run() -> Result<()> {
    let mut several = Several::with(
        2,
        1,
        |plan| plan.set("job_replay_window", 1),
        crate::support::plain,
    )?;
    let tokens = several.tokens();
    let (first, second, minion) = several.two()?;
    minion.kill9()?;
    let late = publish(first, "web1", &tokens.command("late"))?;
    // Ages with the clock; the other master's jobs show that it has passed.
    let begun = std::time::Instant::now();
    until("the window to close", SHORT, || {
        Ok((begun.elapsed().as_secs() >= 3).then_some(()))
    })?;
    minion.start()?;
    // What is sent before it is there has to be within the window as well.
    for master in [&*first, &*second] {
        wait_starts(master, "web1", 2)?;
    }
    let now = publish(second, "web1", &tokens.command("now"))?;
    wait_stored(second, &now, "web1")?;
    let also = publish(first, "web1", &tokens.command("also"))?;
    wait_stored(first, &also, "web1")?;
    ensure!(stored(first, &late, "web1")?.is_none(), "late, but run");
    check_once(&tokens, &["now", "also"].map(str::to_owned))
}
