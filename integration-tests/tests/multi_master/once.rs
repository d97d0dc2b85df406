//! A minion does its own work once, not once per master; what all masters should
//! have, each gets once.

use std::time::Duration;

use anyhow::{Result, ensure};
use halite_integration_tests::{Master, SHORT, until};
use serde_json::json;

use crate::support::{Several, plain_master, wait_ping};

/// How long nothing happens once it is over: more than a minion waits for a
/// second answer.
const AT_REST: Duration = Duration::from_secs(3);

fn count(master: &Master, tag: &str) -> Result<usize> {
    let events = master.events()?.events();
    Ok(events.iter().filter(|event| event.tag == tag).count())
}

/// #13189 #28785 #7697 #29926: the mine is collected once and every master has
/// it.
#[test]
fn the_mine_is_collected_once_and_told_to_every_master() -> Result<()> {
    let mut several = Several::without_minions(3, plain_master)?;
    let tokens = several.tokens();
    let command = tokens.command("mined");
    several.add_minions(1, |plan| {
        plan.set(
            "mine_functions",
            json!({ "what": [{ "mine_function": "cmd.run" }, command, { "python_shell": true }] }),
        )
        .set("mine_interval", 60)
    })?;
    for master in &several.masters {
        master.wait_minion("web1")?;
        let mine = until("the mine", SHORT, || {
            let mine = master.returns(&["web1", "mine.get", "*", "what"])?;
            Ok((mine.get("web1") != Some(&json!({}))).then_some(mine))
        })?;
        ensure!(mine["web1"] == json!({ "web1": "mined" }), "got {mine:?}");
    }
    // A master that came late has had it by another one, once for each; of
    // those that are ready and have it there is none to be made up for.
    for master in &several.masters {
        wait_ping(master, "web1")?;
    }
    let mut before = tokens.count("mined");
    until("the mine to be at rest", SHORT, || {
        std::thread::sleep(AT_REST);
        let was = std::mem::replace(&mut before, tokens.count("mined"));
        Ok((was == before).then_some(()))
    })?;
    ensure!((1..=3).contains(&before), "collected {before} times");
    several.masters[0].returns(&["web1", "mine.update"])?;
    assert_eq!(tokens.count("mined"), before + 1, "not collected once");
    Ok(())
}

/// A master that was away when the mine was told has it when it is there, not
/// only after the next hour.
#[test]
fn the_mine_is_made_up_for_at_a_master_that_was_away() -> Result<()> {
    let mut several = Several::without_minions(2, plain_master)?;
    several.masters[1].kill9()?;
    several.add_minions(1, |plan| {
        plan.set("mine_functions", json!({ "test.ping": [] }))
            .set("mine_interval", 60)
    })?;
    let mine = |master: &Master| {
        until("the mine", SHORT, || {
            let mine = master.returns(&["web1", "mine.get", "*", "test.ping"])?;
            Ok((mine.get("web1") == Some(&json!({ "web1": true }))).then_some(()))
        })
    };
    several.masters[0].wait_minion("web1")?;
    mine(&several.masters[0])?;
    several.masters[1].start()?;
    several.masters[1].wait_minion("web1")?;
    mine(&several.masters[1])
}

/// #48415 #53506: an event of a job or of `salt-call` is heard once by each
/// master.
#[test]
fn an_event_reaches_each_master_once() -> Result<()> {
    let mut several = Several::start(3, 1)?;
    several.masters[0].returns(&["web1", "event.send", "from/job", "a=1"])?;
    several.minions[0].called(&["event.send", "from/call", "a=1"])?;
    for tag in ["from/job", "from/call"] {
        for master in &several.masters {
            master
                .events()?
                .wait(tag, SHORT, |event| event.tag == tag)?;
        }
    }
    // What came after it came through the same links.
    for master in &several.masters {
        master.check_ping(&["web1"])?;
        assert_eq!(count(master, "from/job")?, 1);
        assert_eq!(count(master, "from/call")?, 1);
    }
    // With one of them dead the others still hear.
    several.masters[1].kill9()?;
    several.minions[0].called(&["event.send", "from/late", "a=1"])?;
    for which in [0, 2] {
        let master = &several.masters[which];
        master
            .events()?
            .wait("from/late", SHORT, |event| event.tag == "from/late")?;
    }
    Ok(())
}

/// #13189: one start, one pillar of each master, and a job of two masters with
/// the same target runs for each of them.
#[test]
fn each_master_hears_one_start() -> Result<()> {
    let several = Several::start(3, 2)?;
    for master in &several.masters {
        master.check_ping(&["web1", "web2"])?;
        for id in ["web1", "web2"] {
            assert_eq!(crate::support::starts(master, id)?, 1);
        }
    }
    Ok(())
}
