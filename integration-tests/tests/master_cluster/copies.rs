//! Copies of returns at a second master: peers that stall, and repeated returns.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use halite_integration_tests::chaos::{Results, read_cache};
use halite_integration_tests::proxy::Cable;
use halite_integration_tests::wire::msgpack::Item;
use halite_integration_tests::wire::stand_in::{Session, StandIn};
use halite_integration_tests::wire::zmtp::Connection;
use halite_integration_tests::{HAPROXY, START, until};
use halite_test_support::have_programs;

use crate::cabled::{Cabled, MASTERS, PAIRS};

/// How long a minion waits for a peer that does not say that it has a return.
const WAITS: Duration = Duration::from_secs(5);

/// Much longer on a slow link than that.
const LARGE: usize = 1024 * 1024;

const AGAIN: usize = 300;

/// Takes a second or so on a slow link.
const SOME: usize = 30 * 1024;

/// The pairs that the first master belongs to.
const LINKS_OF_FIRST: [usize; 2] = [0, 1];

/// How often a master is killed right after it has acknowledged a return.
const KILLS: usize = 4;

const MINION: &str = "stand-in";

/// A minion of a few lines at the first master.
pub(crate) struct AtFirst {
    minion: StandIn,
    session: Session,
    connection: Connection,
}

impl AtFirst {
    fn sign_in(cabled: &Cabled) -> Result<Self> {
        Self::sign_in_as(MINION, cabled)
    }

    pub(crate) fn sign_in_as(id: &str, cabled: &Cabled) -> Result<Self> {
        let minion = StandIn::new(id)?;
        let mut connection = cabled.masters[0].connect()?;
        Ok(Self {
            session: minion.must_sign_in(&mut connection)?,
            minion,
            connection,
        })
    }

    /// Returns this for a job; how long it took until the master said that it has it.
    pub(crate) fn give(&mut self, jid: &str, result: &str) -> Result<Duration> {
        let load = [
            ("cmd", Item::from("_return")),
            ("success", Item::from(true)),
            ("return", Item::from(result)),
            ("retcode", Item::from(0)),
            ("jid", Item::from(jid)),
            ("fun", Item::from("test.echo")),
            ("fun_args", Item::List(Vec::new())),
        ];
        let begun = Instant::now();
        let reply = self
            .minion
            .ask(&mut self.connection, &self.session, &load)?;
        ensure!(reply == Item::Nil, "a return got {reply:?}");
        Ok(begun.elapsed())
    }
}

impl AtFirst {
    /// Fires an event with no more than this tag.
    fn fire(&mut self, tag: &str) -> Result<()> {
        let load = [
            ("cmd", Item::from("_minion_event")),
            ("tag", Item::from(tag)),
            ("data", Item::map([("a", Item::from("b"))])),
        ];
        self.minion
            .ask(&mut self.connection, &self.session, &load)?;
        Ok(())
    }
}

fn jid(n: usize) -> String {
    format!("20260101{n:012}")
}

/// Waits until all masters have the results of so many jobs.
fn wait_copies(cabled: &Cabled, jobs: usize) -> Result<()> {
    until("every master to have every return", START, || {
        let all = cabled.masters.iter().map(|master| {
            let mut results = Results::new();
            read_cache(master, &mut results)?;
            Ok(results.len() >= jobs)
        });
        let all = all.collect::<Result<Vec<_>>>()?;
        Ok(all.iter().all(|has_all| *has_all).then_some(()))
    })
}

#[test]
fn a_return_is_fired_once_at_every_master() -> Result<()> {
    const LAST: &str = "fired/last";
    if !have_programs(&[HAPROXY]) {
        return Ok(());
    }
    let cabled = Cabled::start(&[])?;
    let mut minion = AtFirst::sign_in(&cabled)?;
    // The event of the second one is too large to be fired as it is.
    let results = ["small".to_owned(), "x".repeat(2 * LARGE)];
    for (n, result) in results.iter().enumerate() {
        minion.give(&jid(n), result)?;
    }
    minion.fire(LAST)?;
    let first = cabled.masters[0].address().ip().to_string();
    for (at, master) in cabled.masters.iter().enumerate() {
        let events = master.events()?;
        events.wait(LAST, START, |event| event.tag == LAST)?;
        for (n, fired) in ["small", "VALUE_TRIMMED"].into_iter().enumerate() {
            let tag = format!("salt/job/{}/ret/{MINION}", jid(n));
            let event = events.wait(&tag, START, |event| event.tag == tag)?;
            let data = &event.data;
            ensure!(
                data["return"] == fired && data["id"] == MINION && data["jid"] == jid(n),
                "m{}: {data}",
                at + 1
            );
            let of_peer = (at > 0).then_some(first.as_str());
            ensure!(data["__peer_id"].as_str() == of_peer, "m{}: {data}", at + 1);
            let all = events.events();
            let times = all.iter().filter(|event| event.tag == tag).count();
            ensure!(times == 1, "m{} has fired {tag} {times} times", at + 1);
        }
    }
    wait_copies(&cabled, results.len())?;
    let mut stored = Results::new();
    for master in &cabled.masters {
        read_cache(master, &mut stored)?;
    }
    for (n, result) in results.iter().enumerate() {
        let found = stored.get(&(jid(n), MINION.to_owned()));
        let is_all = |found: &Vec<serde_json::Value>| {
            found.len() == MASTERS && found.iter().all(|value| value == result)
        };
        ensure!(found.is_some_and(is_all), "the job caches lack job {n}");
    }
    Ok(())
}

#[test]
fn peers_that_stall_are_waited_for_once_and_get_their_copies_later() -> Result<()> {
    if !have_programs(&[HAPROXY]) {
        return Ok(());
    }
    let cabled = Cabled::start(&[])?;
    let mut minion = AtFirst::sign_in(&cabled)?;
    let at_once = minion.give(&jid(0), "small")?;
    ensure!(at_once < WAITS, "a copy took {at_once:?}");
    for pair in 0..PAIRS.len() {
        cabled.set_slow(pair, true);
    }
    let large = "x".repeat(LARGE);
    let waited = minion.give(&jid(1), &large)?;
    ensure!(
        waited >= WAITS && waited < START,
        "a return that no peer had was acknowledged after {waited:?}"
    );
    let mut others = Duration::ZERO;
    for n in 2..10 {
        others += minion.give(&jid(n), "small")?;
    }
    ensure!(others < 4 * WAITS, "further returns took {others:?}");
    for pair in 0..PAIRS.len() {
        cabled.set_slow(pair, false);
    }
    wait_copies(&cabled, 10)
}

#[test]
fn returns_that_come_again_and_again_are_sent_to_the_peers_once() -> Result<()> {
    if !have_programs(&[HAPROXY]) {
        return Ok(());
    }
    const BYTES: usize = 64 * 1024;
    let cabled = Cabled::start(&[])?;
    let mut minion = AtFirst::sign_in(&cabled)?;
    let result = "x".repeat(BYTES);
    minion.give(&jid(0), &result)?;
    wait_copies(&cabled, 1)?;
    let before = cabled.passed();
    for _ in 0..AGAIN {
        minion.give(&jid(0), &result)?;
    }
    // What is told comes in order: behind all that there may be of the first.
    minion.give(&jid(1), "last")?;
    wait_copies(&cabled, 2)?;
    let passed = cabled.passed() - before;
    // Nothing but signs of life, events and nonces.
    let allowed = (MASTERS - 1) * AGAIN * BYTES / 4;
    ensure!(
        passed < allowed,
        "{AGAIN} repeated returns of {BYTES} bytes made {passed} bytes between the masters"
    );
    Ok(())
}

#[test]
fn a_return_that_was_acknowledged_outlives_the_master_that_is_killed_then() -> Result<()> {
    if !have_programs(&[HAPROXY]) {
        return Ok(());
    }
    let mut cabled = Cabled::start(&[])?;
    for n in 0..KILLS {
        let id = format!("{MINION}-{n}");
        let mut minion = AtFirst::sign_in_as(&id, &cabled)?;
        // It takes its time to a second master.
        for pair in LINKS_OF_FIRST {
            cabled.set_slow(pair, true);
        }
        let result = format!("{n}").repeat(SOME);
        minion.give(&jid(n), &result)?;
        cabled.masters[0].kill9()?;
        for pair in LINKS_OF_FIRST {
            cabled.set_slow(pair, false);
        }
        let mut results = Results::new();
        for master in &cabled.masters[1..] {
            read_cache(master, &mut results)?;
        }
        let found = results.get(&(jid(n), id));
        ensure!(
            found.is_some_and(|found| found.iter().all(|one| *one == result)),
            "the other masters have {} results of {n}",
            found.map_or(0, Vec::len)
        );
        cabled.masters[0].start()?;
        cabled.wait_of_one_mind()?;
    }
    Ok(())
}

#[test]
fn one_copy_does_where_the_option_says_so() -> Result<()> {
    if !have_programs(&[HAPROXY]) {
        return Ok(());
    }
    let cabled = Cabled::with(&[], "cluster_return_copies: 1")?;
    let mut minion = AtFirst::sign_in(&cabled)?;
    for pair in 0..PAIRS.len() {
        cabled.set_links(pair, Cable::Nowhere);
    }
    let took = minion.give(&jid(0), "alone")?;
    ensure!(took < WAITS, "one copy took {took:?}");
    let mut results = Results::new();
    for master in &cabled.masters[1..] {
        read_cache(master, &mut results)?;
    }
    ensure!(results.is_empty(), "a cut link has carried {results:?}");
    for pair in 0..PAIRS.len() {
        cabled.set_links(pair, Cable::Whole);
    }
    wait_copies(&cabled, 1)
}
