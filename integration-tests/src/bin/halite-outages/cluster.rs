//! A cluster of three masters on common files, behind a balancer: its first start, a master
//! that comes later, the way of events between masters, and a master that is killed.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use halite_integration_tests::wire::msgpack::Item;
use halite_integration_tests::wire::stand_in::StandIn;
use halite_integration_tests::{
    Balancer, Event, Fleet, Kind, Master, MasterPlan, Minion, Programs, share_files,
};

use crate::scenes::{Number, add};

/// The line of the document behind which the table stands.
pub(crate) const BEGIN: &str = "<!-- begin: cargo xtask outages --cluster --write -->";

const MASTERS: usize = 3;
const MINIONS: usize = 10;

/// The master that commands, the one that is killed, and the one that comes later.
const COMMANDS: usize = 0;
const DIES: usize = 1;
const LATER: usize = 2;

/// First starts: each with directories of its own.
const STARTS: usize = 100;
/// Of masters of Salt, which take long to start and longer to fail.
const STARTS_OF_SALT: usize = 6;

const POOL_PORT: u16 = 4520;

/// How long it is waited for masters that start, and for answers of all minions.
const START_MAX: Duration = Duration::from_secs(60);
const ANSWERS_MAX: Duration = Duration::from_secs(180);

/// Events whose way to another master is timed, and how long one may take.
const EVENTS: usize = 200;
const EVENT_MAX: Duration = Duration::from_secs(30);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// How often the same command is timed.
const PINGS: usize = 15;

/// All of it, one after the other.
pub(crate) fn all(kind: Kind) -> Result<Vec<Number>> {
    let mut numbers = Vec::new();
    first_starts(kind, &mut numbers)?;
    a_fleet(kind, &mut numbers)?;
    Ok(numbers)
}

/// Three masters whose directories are empty start at once.
fn first_starts(kind: Kind, numbers: &mut Vec<Number>) -> Result<()> {
    let stand_in = StandIn::new("first")?;
    let tries = match kind {
        Kind::Ours => STARTS,
        _ => STARTS_OF_SALT,
    };
    let mut took = Vec::new();
    for _ in 0..tries {
        took.extend(first_start(kind, &stand_in)?);
    }
    took.sort_unstable();
    let slowest = took.last().copied();
    add(
        numbers,
        "three masters start at once for the first time: all of them serve",
        format!("{} of {tries}", took.len()),
    );
    let name = "- after, in the slowest of these";
    add(numbers, name, seconds(slowest, START_MAX));
    Ok(())
}

/// How long it took until all three served a minion; `None` if they did not in time.
fn first_start(kind: Kind, stand_in: &StandIn) -> Result<Option<Duration>> {
    let (mut masters, _fleet) = lay(kind, |plan| plan)?;
    let begun = Instant::now();
    for master in &mut masters {
        master.daemon().start()?;
    }
    for master in &masters {
        while !serves(master, stand_in) {
            if begun.elapsed() > START_MAX {
                return Ok(None);
            }
            std::thread::sleep(PAUSE);
        }
    }
    Ok(Some(begun.elapsed()))
}

/// Whether a master takes a minion's sign-in, and answers a request of it.
fn serves(master: &Master, minion: &StandIn) -> bool {
    let asked = || -> Result<Item> {
        let mut connection = master.connect()?;
        let session = minion.must_sign_in(&mut connection)?;
        let load = [("cmd", Item::from("_file_envs"))];
        minion.ask(&mut connection, &session, &load)
    };
    matches!(asked(), Ok(Item::List(_)))
}

/// Two masters with minions; the third one comes; one of the first two dies.
fn a_fleet(kind: Kind, numbers: &mut Vec<Number>) -> Result<()> {
    let (mut masters, fleet) = lay(kind, patient)?;
    // The first by name founds the cluster.
    masters.sort_by_key(|master| master.address().ip().to_string());
    for n in [COMMANDS, DIES] {
        masters[n].start()?;
    }
    let addresses: Vec<_> = masters.iter().map(Master::address).collect();
    let balancer = Balancer::start(&fleet, &addresses, None)?;
    let minions = (0..MINIONS).map(|n| {
        let plan = fleet.minion(&format!("web{n}"), kind);
        let plan = plan.set("master", balancer.address.request().to_string());
        plan.set("publish_port", balancer.address.publish().port())
            .start()
    });
    let _minions = minions.collect::<Result<Vec<Minion>>>()?;
    all_answer(&masters[COMMANDS])?;

    let begun = Instant::now();
    masters[LATER].start()?;
    let answered = all_answer(&masters[LATER])?.map(|_| begun.elapsed());
    let name = "a third master joins: until all minions have answered a command of it";
    add(numbers, name, seconds(answered, ANSWERS_MAX));

    let name = "`salt '*' test.ping` of ten minions, to a lone master";
    let ratio = ping(&masters[COMMANDS])?.as_secs_f64() / lone_ping(kind)?.as_secs_f64();
    add(numbers, name, format!("{ratio:.1}x"));

    events_to_peers(&masters[COMMANDS], &masters[LATER], numbers)?;

    masters[DIES].kill9()?;
    let answered = all_answer(&masters[COMMANDS])?;
    let name = "one of three masters dies by kill -9: until all minions answer another one";
    add(numbers, name, seconds(answered, ANSWERS_MAX));
    Ok(())
}

/// Of Salt's masters more come through their elections with this.
fn patient(plan: MasterPlan<'_>) -> MasterPlan<'_> {
    plan.set("cluster_secret", "a secret of this run")
        .set("cluster_election_min", 3000)
        .set("cluster_election_max", 6000)
}

/// A minion fires events at one master, each when the one before has come. Subscribers of
/// this master and of another one read them in this process: what lies between the two
/// is the way from master to master.
fn events_to_peers(first: &Master, other: &Master, numbers: &mut Vec<Number>) -> Result<()> {
    let sender = StandIn::new("sender")?;
    let mut connection = first.connect()?;
    let session = sender.must_sign_in(&mut connection)?;
    let (here, there) = (first.events()?, other.events()?);
    let mut later = Vec::with_capacity(EVENTS);
    for n in 0..EVENTS {
        let marks = (here.mark(), there.mark());
        let tag = format!("timed/{n}");
        let event = [
            ("cmd", Item::from("_minion_event")),
            ("tag", Item::from(tag.as_str())),
            ("data", Item::map([("n", Item::from("1"))])),
        ];
        sender.ask(&mut connection, &session, &event)?;
        let is_it = |event: &Event| event.tag == tag;
        let here = here.wait_after(marks.0, "the event at its master", EVENT_MAX, is_it)?;
        let there = there.wait_after(marks.1, "the event at the other", EVENT_MAX, is_it)?;
        later.push(there.at.saturating_duration_since(here.at));
    }
    later.sort_unstable();
    let millis = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
    let name = "an event fired at one master reaches a subscriber of another one so much later";
    add(numbers, name, millis(later[EVENTS / 2]));
    let name = "- of 100 such events, 99 within";
    add(numbers, name, millis(later[EVENTS * 99 / 100]));
    Ok(())
}

fn lay(
    kind: Kind,
    change: impl for<'a> Fn(MasterPlan<'a>) -> MasterPlan<'a>,
) -> Result<(Vec<Master>, Fleet)> {
    let fleet = Fleet::quiet("cluster", Programs::from_env()?)?;
    let lay = |n| change(fleet.master(&format!("m{n}"), kind).auto_accept()).lay();
    let masters = (0..MASTERS).map(lay).collect::<Result<Vec<_>>>()?;
    share_files(&fleet, &masters, POOL_PORT)?;
    Ok((masters, fleet))
}

/// The time of a ping of as many minions by a master that is in no cluster.
fn lone_ping(kind: Kind) -> Result<Duration> {
    let fleet = Fleet::quiet("lone", Programs::from_env()?)?;
    let master = fleet.master("m1", kind).auto_accept().start()?;
    let minions = (0..MINIONS).map(|n| {
        let plan = fleet.minion(&format!("web{n}"), kind);
        plan.of(&master).start()
    });
    let _minions = minions.collect::<Result<Vec<Minion>>>()?;
    all_answer(&master)?.context("the minions of a lone master do not answer")?;
    ping(&master)
}

/// The median time of a ping.
fn ping(master: &Master) -> Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..PINGS {
        let begun = Instant::now();
        master.salt(&["*", "test.ping"])?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    Ok(times[PINGS / 2])
}

/// How long it takes until all minions answer one command of a master.
fn all_answer(master: &Master) -> Result<Option<Duration>> {
    let begun = Instant::now();
    while begun.elapsed() < ANSWERS_MAX {
        let said = master.salt(&["-t", "2", "*", "test.ping", "--out=txt"])?;
        if said.stdout.matches(": True").count() == MINIONS {
            return Ok(Some(begun.elapsed()));
        }
    }
    Ok(None)
}

fn seconds(time: Option<Duration>, max: Duration) -> String {
    match time {
        Some(time) => format!("{:.2} s", time.as_secs_f64()),
        None => format!("> {} s", max.as_secs()),
    }
}
