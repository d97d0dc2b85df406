//! Somebody sends more sign-ins than a master serves, also from the address of a minion,
//! and never comes again when it is told to.

use std::fs;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use halite_integration_tests::overload::Visitor;
use halite_integration_tests::{Fleet, Kind, START, until};

const ADDRESSES: u8 = 20;

/// How many more sign-ins are sent than are served.
const TIMES: f64 = 2.5;

/// How long a minion may be asked to stay away (`docs/protocol.md`): a minute, and an
/// eighth more. It is served as soon as it comes.
const IN_AFTER_MAX: Duration = Duration::from_secs(60 + 8);

#[test]
fn a_flood_from_its_own_address_keeps_no_minion_from_its_appointment() -> Result<()> {
    let fleet = Fleet::new("appointments")?;
    let master = fleet.master("m1", Kind::Ours).auto_accept().start()?;
    let first = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    let visitor = Visitor::new(&master)?;
    let per_s = visitor.served_per_s()?;

    // The first one is that of all minions of this machine.
    let addresses: Vec<_> = (1..=ADDRESSES)
        .map(|n| Ipv4Addr::new(127, 0, 0, n))
        .collect();
    let flood = visitor.flood(&addresses, per_s * TIMES);
    let mut minion = fleet.minion("web2", Kind::Ours).of(&master).lay()?;
    until("the master to be late with sign-ins", START, || {
        let took = Instant::now();
        let late = visitor.sign_in().is_err() || took.elapsed() > Duration::from_secs(2);
        Ok(late.then_some(()))
    })?;
    let begun = Instant::now();
    minion.start()?;
    master.wait_minion("web2")?;
    let took = begun.elapsed();
    let outcome = flood.end()?;
    let sent = outcome.of_salt;
    ensure!(sent.sent > sent.granted, "no flood: {outcome:?}");
    let log = fs::read_to_string(minion.dir().join("log"))?;
    ensure!(
        log.contains("busy with other sign-ins"),
        "it was served at once: {log}"
    );
    ensure!(took < IN_AFTER_MAX, "it was in after {took:?}");
    let pong = master.salt(&["web2", "test.ping", "--out=txt"])?.ok()?;
    ensure!(pong.stdout.contains("web2: True"), "{}", pong.stdout);
    drop(first);
    Ok(())
}
