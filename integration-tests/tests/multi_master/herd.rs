//! A herd of minions comes back to two masters that start again at once.
//!
//! `HALITE_HERD_MINIONS` makes it larger: `cargo xtask herd`. The measurements are
//! printed, and written to `HALITE_HERD_LEDGER`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Master, pss_kib};

use crate::support::{Several, allowed, plain_master};

/// So many are started at once: each makes a key pair first.
const WAVE: usize = 25;

/// All are back within that, whatever their number, and a bit for each: a
/// sign-in costs a master some milliseconds.
const BACK_WITHIN: Duration = Duration::from_secs(10);
const BACK_WITHIN_EACH: Duration = Duration::from_millis(50);

fn minions() -> usize {
    let wanted = std::env::var("HALITE_HERD_MINIONS").ok();
    wanted.and_then(|text| text.parse().ok()).unwrap_or(20)
}

/// #34055 #19932 #18322: 80 % of 600 failed in Salt.
#[test]
fn a_herd_is_back_on_both_masters_after_both_restart() -> Result<()> {
    let herd = minions();
    let mut ledger = String::new();
    let outcome = come_back(herd, &mut ledger);
    #[allow(clippy::print_stdout, reason = "the ledger is what one wants to see")]
    {
        println!("{ledger}");
    }
    if let Some(path) = std::env::var_os("HALITE_HERD_LEDGER") {
        fs::write(path, &ledger)?;
    }
    outcome
}

fn come_back(herd: usize, ledger: &mut String) -> Result<()> {
    let begun = Instant::now();
    let mut several = Several::without_minions(2, plain_master)?;
    for first in (0..herd).step_by(WAVE) {
        for number in first..herd.min(first + WAVE) {
            let plan = several
                .fleet
                .minion(&id(number), halite_integration_tests::Kind::Ours);
            let plan = several
                .masters
                .iter()
                .fold(plan, |plan, master| plan.of(master));
            // What a fleet does of its own accord is not what this is about.
            let minion = plan.set("mine_enabled", false).start()?;
            several.minions.push(minion);
        }
        for number in first..herd.min(first + WAVE) {
            for master in &several.masters {
                master.wait_minion(&id(number))?;
            }
        }
    }
    writeln!(
        ledger,
        "{herd} minions, each of two masters; started in {:.1} s",
        begun.elapsed().as_secs_f64()
    )?;
    for master in &mut several.masters {
        master.kill9()?;
    }
    for master in &mut several.masters {
        master.start()?;
    }
    let begun = Instant::now();
    for (number, master) in several.masters.iter().enumerate() {
        for minion in 0..herd {
            master.wait_minion(&id(minion))?;
        }
        writeln!(
            ledger,
            "both masters killed and started again: all are back on master {} after {:.1} s",
            number + 1,
            begun.elapsed().as_secs_f64()
        )?;
    }
    let took = begun.elapsed();
    for (number, master) in several.masters.iter_mut().enumerate() {
        let (sign_ins, busiest) = sign_ins(master)?;
        let cpu = cpu_seconds(master.daemon().pid()?)?;
        let memory = master.memory_kib()? / 1024;
        writeln!(
            ledger,
            "master {}: {sign_ins} sign-ins, {busiest} in the busiest second, {cpu:.1} s of CPU since its start, {memory} MiB",
            number + 1
        )?;
    }
    let mut pids = Vec::new();
    for minion in &mut several.minions {
        pids.push(minion.daemon().pid()?);
    }
    let each = pss_kib(&pids)? / u64::try_from(herd.max(1))?;
    writeln!(ledger, "a minion: {each} KiB")?;
    let ids: Vec<String> = (0..herd).map(id).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    for (number, master) in several.masters.iter().enumerate() {
        let begun = Instant::now();
        master.check_ping(&ids)?;
        writeln!(
            ledger,
            "salt '*' test.ping of master {}: all answer, in {:.2} s",
            number + 1,
            begun.elapsed().as_secs_f64()
        )?;
    }
    let within = BACK_WITHIN + BACK_WITHIN_EACH * u32::try_from(herd)?;
    let within = allowed(&several.masters[0], within)?;
    ensure!(took < within, "back after {took:?}");
    Ok(())
}

fn id(number: usize) -> String {
    format!("web{number}")
}

/// How many sign-ins a master has seen since its start, and how many of them
/// in one second.
fn sign_ins(master: &Master) -> Result<(usize, usize)> {
    let mut seconds: BTreeMap<String, usize> = BTreeMap::new();
    for event in master.events()?.events() {
        if event.tag == "salt/auth" {
            let stamp = event.data["_stamp"].as_str().unwrap_or_default();
            let second = stamp.split('.').next().unwrap_or_default();
            *seconds.entry(second.to_owned()).or_default() += 1;
        }
    }
    let busiest = seconds.values().copied().max().unwrap_or_default();
    Ok((seconds.values().sum(), busiest))
}

/// What a process has used so far.
fn cpu_seconds(pid: i32) -> Result<f64> {
    /// Ticks per second of every Linux that there is.
    const TICKS: f64 = 100.0;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, rest) = stat.rsplit_once(')').context("an odd stat")?;
    let field = |number: usize| {
        let text = rest.split_ascii_whitespace().nth(number);
        text.and_then(|text| text.parse::<f64>().ok())
            .context("an odd stat")
    };
    Ok((field(11)? + field(12)?) / TICKS)
}
