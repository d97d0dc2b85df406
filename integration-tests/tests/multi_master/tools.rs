//! `salt-call` while masters are away.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use halite_integration_tests::{Kind, SHORT, Signal};
use serde_json::json;

use crate::support::{Several, allowed, plain, set_masters};

/// What a dead master may cost `salt-call` (Salt: 38 s).
const COST: Duration = Duration::from_secs(1);

/// #15082, and the 39 s of `protocol/multi-master`: the first of two masters is
/// dead, hangs, or swallows connections.
#[test]
fn salt_call_with_the_first_master_away_costs_nothing() -> Result<()> {
    let mut several = Several::start(2, 1)?;
    let (first, second, minion) = several.two()?;
    let timed = |args: &[&str]| -> Result<Duration> {
        let begun = Instant::now();
        ensure!(minion.called(args)? == json!(true), "no ping");
        Ok(begun.elapsed())
    };
    let healthy = timed(&["test.ping"])?;
    first.daemon().signal(Signal::SIGSTOP)?;
    let hung = timed(&["test.ping"])?;
    first.daemon().signal(Signal::SIGCONT)?;
    first.kill9()?;
    let dead = timed(&["test.ping"])?;
    let within = healthy + allowed(second, COST)?;
    ensure!(hung < within, "hanging: {hung:?}, not {healthy:?}");
    ensure!(dead < within, "dead: {dead:?}, not {healthy:?}");

    let hole = TcpListener::bind("127.0.0.1:0")?;
    let masters = [
        hole.local_addr()?.to_string(),
        "no-such-name.invalid".to_owned(),
        second.address().request().to_string(),
    ];
    set_masters(minion, &masters)?;
    let swallowed = timed(&["test.ping"])?;
    ensure!(
        swallowed < healthy + allowed(second, COST)?,
        "black-holed: {swallowed:?}, not {healthy:?}"
    );
    Ok(())
}

/// Files and events of `salt-call` come from a master that lives.
#[test]
fn salt_call_fetches_from_a_master_that_lives() -> Result<()> {
    let mut several = Several::without_minions(2, |plan| plan.file("greeting", "hello"))?;
    several.add_minions(1, plain)?;
    for which in [0, 1] {
        several.masters[which].wait_minion("web1")?;
    }
    several.masters[0].daemon().signal(Signal::SIGSTOP)?;
    let begun = Instant::now();
    let text = several.minions[0].called(&["cp.get_file_str", "salt://greeting"])?;
    ensure!(text == json!("hello"), "got {text}");
    ensure!(
        several.minions[0].called(&["event.send", "custom/tag", "a=1"])? == json!(true),
        "the event was not sent"
    );
    let took = begun.elapsed();
    let within = allowed(&several.masters[1], Duration::from_secs(3))?;
    ensure!(took < within, "took {took:?}");
    several.masters[1]
        .events()?
        .wait("custom/tag", SHORT, |event| event.tag == "custom/tag")?;
    ensure!(several.minions[0].kind() == Kind::Ours, "not ours");
    Ok(())
}
