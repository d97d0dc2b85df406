//! Keys that wait for acceptance.

use std::time::Duration;

use anyhow::{Result, ensure};
use halite_integration_tests::{Fleet, KeyState, Kind, START, until};

use crate::support::{between, moment};

/// #32201 #30595: a key that waits is offered at the configured pace, which
/// grows to its bound, while the other master serves; then it is accepted.
/// How this goes on for a week is in `crates/minion/tests/link_simulation.rs`.
#[test]
fn a_key_that_waits_is_offered_at_its_pace_and_serves_when_accepted() -> Result<()> {
    let fleet = Fleet::new("waits")?;
    let slow = fleet.master("m1", Kind::Ours).start()?;
    let quick = fleet
        .master("m2", Kind::Ours)
        .auto_accept()
        .key_pair_of(&slow)
        .start()?;
    let plan = fleet.minion("web1", Kind::Ours).of(&slow).of(&quick);
    let mut minion = plan
        .set("acceptance_wait_time", 1)
        .set("acceptance_wait_time_max", 3)
        .start()?;
    quick.wait_minion("web1")?;
    slow.wait_key("web1", KeyState::Pending)?;
    // Pauses of 1, 2, 3, 3 s: five offers take at least nine seconds. When
    // each came is the master's to say: we may look late.
    let offers = until("five offers", START, || {
        let events = slow.events()?.events().into_iter();
        let offers: Vec<_> = events.filter(|event| event.tag == "salt/auth").collect();
        Ok((offers.len() >= 5).then_some(offers))
    })?;
    let took = between(moment(&offers[0])?, moment(&offers[4])?);
    ensure!(took > Duration::from_secs(6), "offered too often: {took:?}");
    quick.check_ping(&["web1"])?;
    minion.daemon().check_runs()?;
    slow.accept("web1")?;
    slow.wait_minion("web1")?;
    slow.check_ping(&["web1"])?;
    quick.check_ping(&["web1"])
}
