//! The measurements, each of one number.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master, Minion, Programs, START, until};

use crate::load;

/// How often and how long each number is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    starts: usize,
    pings: usize,
    publications: usize,
    load: Duration,
    burst: usize,
}

impl Effort {
    /// For numbers that go into the documentation.
    pub(crate) const FULL: Self = Self {
        starts: 5,
        pings: 20,
        publications: 50,
        load: Duration::from_secs(10),
        burst: 160,
    };

    /// For a first look.
    pub(crate) const QUICK: Self = Self {
        starts: 2,
        pings: 3,
        publications: 10,
        load: Duration::from_secs(2),
        burst: 20,
    };
}

/// What a number is of, which decides how it is shown and which is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Less is better.
    Milliseconds,
    /// Less is better.
    Mebibytes,
    /// Less is better.
    Processes,
    /// More is better.
    PerSecond,
}

/// A number with its name and the aim for ours.
#[derive(Clone, Debug)]
pub(crate) struct Number {
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) unit: Unit,
    pub(crate) aim: &'static str,
}

/// How many minions the larger fleet has.
const MANY: usize = 10;

/// How long a daemon is left alone before its memory counts as idle.
const SETTLE: Duration = Duration::from_secs(5);

/// Measures everything for one kind.
pub(crate) fn all(kind: Kind, effort: Effort) -> Result<Vec<Number>> {
    println!("measuring {kind}");
    let mut numbers = Numbers(Vec::new());
    starts(kind, effort, &mut numbers)?;
    let fleet = Fleet::quiet("bench", Programs::from_env()?)?;
    let master = plan(&fleet, kind)?;
    let mut minions = vec![minion(&fleet, kind, &master, 1)?];
    idle(&master, &mut minions, &mut numbers)?;
    pings(&master, 1, effort, &mut numbers)?;
    latency(&master, effort, &mut numbers)?;
    burst(&master, &mut minions, effort, &mut numbers)?;
    for number in 2..=MANY {
        minions.push(minion(&fleet, kind, &master, number)?);
    }
    pings(&master, MANY, effort, &mut numbers)?;
    drop(minions);
    numbers.add(
        "sign-ins",
        load::sign_ins(&master, effort.load)?,
        Unit::PerSecond,
        "4x Salt's",
    );
    numbers.add(
        "returns",
        load::returns(&master, effort.load)?,
        Unit::PerSecond,
        "20x Salt's",
    );
    Ok(numbers.0)
}

struct Numbers(Vec<Number>);

impl Numbers {
    fn add(&mut self, name: &str, value: f64, unit: Unit, aim: &'static str) {
        println!("  {name}: {value:.1}");
        self.0.push(Number {
            name: name.to_owned(),
            value,
            unit,
            aim,
        });
    }
}

fn plan(fleet: &Fleet, kind: Kind) -> Result<Master> {
    // As it comes: the number of workers is part of what is compared.
    fleet
        .master("m1", kind)
        .auto_accept()
        .set("worker_threads", 5)
        .set("log_level_logfile", "error")
        .start()
}

fn minion(fleet: &Fleet, kind: Kind, master: &Master, number: usize) -> Result<Minion> {
    let id = format!("web{number}");
    let minion = fleet
        .minion(&id, kind)
        .of(master)
        .set("log_level_logfile", "error")
        .start()?;
    master.wait_minion(&id)?;
    Ok(minion)
}

/// From the start of the process until a master answers, and until a minion
/// has said at its master that it is ready. Keys exist already.
fn starts(kind: Kind, effort: Effort, numbers: &mut Numbers) -> Result<()> {
    let fleet = Fleet::quiet("bench", Programs::from_env()?)?;
    let mut master = plan(&fleet, kind)?;
    let mut web1 = minion(&fleet, kind, &master, 1)?;
    let mut times = Vec::new();
    for _ in 0..effort.starts {
        web1.stop()?;
        let mark = master.events()?.mark();
        let begun = Instant::now();
        web1.start()?;
        master
            .events()?
            .wait_after(mark, "the start of the minion", START, |event| {
                event.tag == "salt/minion/web1/start"
            })?;
        times.push(begun.elapsed());
    }
    numbers.add(
        "minion, start to ready",
        median(times)?,
        Unit::Milliseconds,
        "100 ms",
    );
    web1.stop()?;
    let mut times = Vec::new();
    for _ in 0..effort.starts {
        master.stop()?;
        let begun = Instant::now();
        master.start()?;
        times.push(begun.elapsed());
    }
    numbers.add(
        "master, start to ready",
        median(times)?,
        Unit::Milliseconds,
        "100 ms",
    );
    Ok(())
}

fn idle(master: &Master, minions: &mut [Minion], numbers: &mut Numbers) -> Result<()> {
    std::thread::sleep(SETTLE);
    let minion = minions.first().context("no minion")?.memory_kib()?;
    numbers.add(
        "minion, idle (PSS)",
        mebibytes(minion),
        Unit::Mebibytes,
        "10 MiB",
    );
    numbers.add(
        "master, idle (PSS)",
        mebibytes(master.memory_kib()?),
        Unit::Mebibytes,
        "20 MiB",
    );
    Ok(())
}

fn pings(master: &Master, minions: usize, effort: Effort, numbers: &mut Numbers) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..effort.pings {
        let begun = Instant::now();
        let output = master.salt(&["*", "test.ping", "--out=txt"])?.ok()?;
        times.push(begun.elapsed());
        ensure!(
            output.lines().len() == minions,
            "not all minions answered: {output}"
        );
    }
    let (name, aim) = match minions {
        1 => ("`salt '*' test.ping`, 1 minion", "25 ms"),
        _ => ("`salt '*' test.ping`, 10 minions", "40 ms"),
    };
    numbers.add(name, median(times)?, Unit::Milliseconds, aim);
    Ok(())
}

/// From the publish request to the return on the event bus, without the start
/// of any program.
fn latency(master: &Master, effort: Effort, numbers: &mut Numbers) -> Result<()> {
    let mut publisher = load::Publisher::open(master)?;
    let mut times = Vec::new();
    for _ in 0..effort.publications {
        let begun = Instant::now();
        let jid = publisher.ping("web1")?;
        let tag = format!("salt/job/{jid}/ret/web1");
        master
            .events()?
            .wait(&tag, START, |event| event.tag == tag)?;
        times.push(begun.elapsed());
    }
    numbers.add(
        "publish to return",
        median(times)?,
        Unit::Milliseconds,
        "3 ms",
    );
    Ok(())
}

/// Many commands at once for one minion.
fn burst(
    master: &Master,
    minions: &mut [Minion],
    effort: Effort,
    numbers: &mut Numbers,
) -> Result<()> {
    let minion = minions.first_mut().context("no minion")?;
    let idle = minion.memory_kib()?;
    let mut publisher = load::Publisher::open(master)?;
    let mark = master.events()?.mark();
    let begun = Instant::now();
    for _ in 0..effort.burst {
        publisher.ping("web1")?;
    }
    let (mut memory, mut processes) = (idle, 1);
    until("the returns of a burst", START * 2, || {
        memory = memory.max(minion.memory_kib()?);
        processes = processes.max(minion.daemon().processes()?.len());
        let returned = master
            .events()?
            .events()
            .iter()
            .skip(mark)
            .filter(|event| event.tag.ends_with("/ret/web1"))
            .count();
        Ok((returned >= effort.burst).then_some(()))
    })?;
    let took = begun.elapsed();
    let name = |what: &str| format!("{} pings at once: {what}", effort.burst);
    numbers.add(
        &name("all returned"),
        millis(took),
        Unit::Milliseconds,
        "1000 ms",
    );
    numbers.add(
        &name("minion's memory (PSS)"),
        mebibytes(memory),
        Unit::Mebibytes,
        "1.5x idle",
    );
    numbers.add(
        &name("minion's processes"),
        precise(processes),
        Unit::Processes,
        "",
    );
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Result<f64> {
    times.sort_unstable();
    times
        .get(times.len() / 2)
        .copied()
        .map(millis)
        .context("nothing was measured")
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn mebibytes(kib: u64) -> f64 {
    kib as f64 / 1024.0
}

fn precise(count: usize) -> f64 {
    count as f64
}
