//! A master that may open few files serves as many minions as that allows, keeps
//! places for the programs of its own machine, and reports refused connections.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use halite_integration_tests::{Emulator, Fleet, Kind, Master};

/// What a shell may be left with where nobody has raised it.
const FILES: u32 = 256;

/// Enough for a herd on a machine that does other things, too.
const LONG: Duration = Duration::from_secs(120);

/// What that leaves to subscriptions.
const PLACES: u64 = 96;

/// Fewer than that, and more.
const FEW: u32 = 60;
const MANY: u32 = 200;

fn lines_with(master: &Master, text: &str) -> Result<Vec<String>> {
    let log = fs::read_to_string(master.dir().join("log"))?;
    let lines = log.lines().filter(|line| line.contains(text));
    Ok(lines.map(str::to_owned).collect())
}

/// How many minions answer, of those that have places.
fn answering(master: &Master, target: &str) -> Result<usize> {
    let output = master.salt(&[target, "test.ping", "--out=txt", "-t", "30"])?;
    let lines = output.lines().into_iter();
    Ok(lines.filter(|line| line.ends_with(": True")).count())
}

#[test]
fn a_master_with_few_open_files_serves_what_it_can_and_says_so() -> Result<()> {
    let fleet = Fleet::new("few")?;
    let mut master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("max_open_files", FILES)
        .set("log_level_logfile", "info")
        .lay()?;
    master.limit_open_files(FILES)?;
    let begun = Instant::now();
    master.start_on_ports()?;
    let said = lines_with(&master, &format!("at most {PLACES} minions"))?;
    ensure!(said.len() == 1, "it says of its places: {said:?}");

    let first = Emulator::start(&fleet, &master, (0, FEW), &[])?;
    first.wait_ready(FEW, LONG)?;
    ensure!(answering(&master, "*")? == FEW as usize);

    let more = Emulator::start(&fleet, &master, (FEW, MANY - FEW), &[])?;
    more.wait("all places to be taken", LONG, |state| {
        state["ready"].as_u64() >= Some(PLACES - u64::from(FEW))
    })?;
    // `salt` works for those who have one.
    for _ in 0..5 {
        ensure!(answering(&master, "emu000[0-5]*")? == FEW as usize);
    }
    let warned = lines_with(&master, "connections refused since")?;
    ensure!(!warned.is_empty(), "nobody was turned away");
    let minutes = usize::try_from(begun.elapsed().as_secs() / 60)?;
    ensure!(warned.len() <= 1 + minutes, "{warned:?}");
    more.stop()?;
    first.stop()
}
