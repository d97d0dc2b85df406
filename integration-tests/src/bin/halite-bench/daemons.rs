//! Starts, memory and commands of a master with a few minions.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master, MasterPlan, Minion, Programs, START, until};

use crate::load as clients;
use crate::measure::{Effort, Numbers, Unit, mebibytes, median, millis, precise};

/// How many minions the larger fleet has.
const MANY: usize = 10;

/// How long a daemon is left alone before its memory counts as idle.
pub(crate) const SETTLE: Duration = Duration::from_secs(5);

/// Commands and memory of one minion, and of ten.
pub(crate) fn fleet(kind: Kind, effort: Effort, numbers: &mut Numbers) -> Result<()> {
    let fleet = new_fleet()?;
    let master = plan(&fleet, kind)?;
    let mut minions = vec![minion(&fleet, kind, &master, 1)?];
    idle(&master, &minions, numbers)?;
    after_idleness(&master, effort, numbers)?;
    pings(&master, 1, effort, numbers)?;
    latency(&master, effort, numbers)?;
    burst(&master, &mut minions, effort, numbers)?;
    for number in 2..=MANY {
        minions.push(minion(&fleet, kind, &master, number)?);
    }
    pings(&master, MANY, effort, numbers)
}

/// Requests per second that a master answers.
pub(crate) fn load(kind: Kind, effort: Effort, numbers: &mut Numbers) -> Result<()> {
    let fleet = new_fleet()?;
    let mut master = plan(&fleet, kind)?;
    // What the events cost that nobody but this program reads is no part of it.
    master.stop_listening();
    numbers.add(
        "sign-ins",
        clients::sign_ins(&master, effort.load)?,
        Unit::PerSecond,
        "4x Salt's",
    );
    numbers.add(
        "returns",
        clients::returns(&master, effort.jobs)?,
        Unit::PerSecond,
        "20x Salt's",
    );
    numbers.add(
        "returns, each of an unknown job",
        clients::unknown_returns(&master, effort.load)?,
        Unit::PerSecond,
        "",
    );
    Ok(())
}

/// A fleet in memory, where there is room for it.
pub(crate) fn new_fleet() -> Result<Fleet> {
    Fleet::quiet_in("bench", Programs::from_env()?, &base())
}

/// A directory in memory, where there is room for it: disks differ in how long they
/// take for a file, and some are slow for minutes where much was just removed,
/// which would count against who is measured next.
pub(crate) fn base() -> PathBuf {
    const MEMORY: &str = "/dev/shm";
    const ROOM_BYTES: u64 = 4 << 30;
    let free = nix::sys::statvfs::statvfs(MEMORY)
        .map_or(0, |found| found.blocks_available() * found.fragment_size());
    if free >= ROOM_BYTES {
        PathBuf::from(MEMORY)
    } else {
        std::env::temp_dir()
    }
}

/// A fleet on a disk, where its files take what a disk takes for them.
///
/// # Errors
/// When the directory for it is in memory.
pub(crate) fn new_fleet_on_disk() -> Result<Fleet> {
    // What is here is kept over a restart, so it is a disk.
    const DISK: &str = "/var/tmp";
    let found = nix::sys::statfs::statfs(DISK).with_context(|| format!("no {DISK}"))?;
    ensure!(
        found.filesystem_type() != nix::sys::statfs::TMPFS_MAGIC,
        "{DISK} is in memory, not on a disk"
    );
    Fleet::quiet_in("bench", Programs::from_env()?, Path::new(DISK))
}

/// A master as it comes, but that accepts every key.
pub(crate) fn plan(fleet: &Fleet, kind: Kind) -> Result<Master> {
    laid(fleet, kind).start()
}

/// The same before it is started.
pub(crate) fn laid(fleet: &Fleet, kind: Kind) -> MasterPlan<'_> {
    // As it comes: the number of workers, and how often old jobs are looked
    // for, are part of what is compared.
    fleet
        .master("m1", kind)
        .auto_accept()
        .set("worker_threads", 5)
        .set("loop_interval", 60)
        .set("log_level_logfile", "error")
}

/// A minion of a master, ready.
pub(crate) fn minion(fleet: &Fleet, kind: Kind, master: &Master, number: usize) -> Result<Minion> {
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
pub(crate) fn starts(kind: Kind, effort: Effort, numbers: &mut Numbers) -> Result<()> {
    let fleet = new_fleet()?;
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

fn idle(master: &Master, minions: &[Minion], numbers: &mut Numbers) -> Result<()> {
    std::thread::sleep(SETTLE);
    let minion = minions.first().context("no minion")?;
    for (name, kib, aim) in [
        ("minion, idle (PSS)", minion.memory_kib()?, "10 MiB"),
        ("minion, idle (anonymous)", minion.own_memory_kib()?, ""),
        ("master, idle (PSS)", master.memory_kib()?, "20 MiB"),
        ("master, idle (anonymous)", master.own_memory_kib()?, ""),
    ] {
        numbers.add(name, mebibytes(kib), Unit::Mebibytes, aim);
    }
    Ok(())
}

/// The first command after nobody has asked for anything for a while: what was
/// given back meanwhile has to be had again.
fn after_idleness(master: &Master, effort: Effort, numbers: &mut Numbers) -> Result<()> {
    std::thread::sleep(effort.idleness);
    let begun = Instant::now();
    master.salt(&["web1", "test.ping", "--out=txt"])?.ok()?;
    numbers.add(
        "`salt web1 test.ping`, the first after a minute of idleness",
        millis(begun.elapsed()),
        Unit::Milliseconds,
        "",
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
    let took = publish_to_return(master, effort)?;
    numbers.add("publish to return", took, Unit::Milliseconds, "3 ms");
    Ok(())
}

/// From the request to publish until the return is on the event bus.
pub(crate) fn publish_to_return(master: &Master, effort: Effort) -> Result<f64> {
    let mut publisher = clients::Publisher::open(master)?;
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
    median(times)
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
    let mut publisher = clients::Publisher::open(master)?;
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
