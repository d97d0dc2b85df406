//! Two masters publish as fast as they can, without a pause, so that their job ids
//! may collide. Nothing is lost, and no result is that of another command.
//!
//! `HALITE_LOAD_JOBS` says how many jobs: `cargo xtask load`. The observations are
//! printed, and written to `HALITE_LOAD_LEDGER`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use halite_integration_tests::Master;
use halite_integration_tests::chaos::{Results, read_cache};
use serde_json::json;

use crate::support::{Several, wait_stored};
use halite_integration_tests::local_program::{LocalJob, LocalProgram};

const MASTERS: usize = 2;
const MINIONS: usize = 4;

/// Jobs of each master that are published before one of them is waited for: as many as the
/// minions keep up with.
const AHEAD: usize = 200;

/// How long the last results may take, and a bit for each job.
const SETTLED: Duration = Duration::from_secs(60);
const SETTLED_EACH: Duration = Duration::from_millis(2);

/// Between two looks at all results.
const PAUSE: Duration = Duration::from_secs(1);

/// Jobs where nothing else is said, and in the long form of the suites.
const JOBS: usize = 600;
const JOBS_LONG: usize = 100_000;

fn jobs_wanted(default: usize) -> usize {
    let wanted = std::env::var("HALITE_LOAD_JOBS").ok();
    wanted.and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn a_load_of_two_masters_loses_and_mixes_nothing() -> Result<()> {
    run(jobs_wanted(JOBS))
}

#[test]
#[ignore = "the long form: cargo xtask test --long"]
fn a_long_load_of_two_masters_loses_and_mixes_nothing() -> Result<()> {
    run(jobs_wanted(JOBS_LONG))
}

/// A job that a master has accepted.
struct Sent {
    jid: String,
    /// What its minions say.
    arg: String,
}

fn run(jobs: usize) -> Result<()> {
    let several = Several::start(MASTERS, MINIONS)?;
    let begun = Instant::now();
    let sent = publish_all(&several, jobs)?;
    let published = begun.elapsed();
    let outcome = check_all(&several, &sent);
    let ids: BTreeSet<&String> = sent.iter().flatten().map(|job| &job.jid).collect();
    let count = sent.iter().map(Vec::len).sum::<usize>();
    let ledger = format!(
        "{count} jobs of {MASTERS} masters for {MINIONS} minions each, {} job ids\n\
         published in {:.1} s, {:.0} jobs a second; checked after {:.1} s\n\
         {}\n",
        ids.len(),
        published.as_secs_f64(),
        f64::from(u32::try_from(count)?) / published.as_secs_f64(),
        begun.elapsed().as_secs_f64(),
        match &outcome {
            Ok(()) => "none lost, none mixed".to_owned(),
            Err(error) => error.to_string(),
        }
    );
    #[allow(clippy::print_stdout, reason = "the ledger is what one wants to see")]
    {
        println!("{ledger}");
    }
    if let Some(path) = std::env::var_os("HALITE_LOAD_LEDGER") {
        fs::write(path, &ledger)?;
    }
    outcome
}

/// Publishes so many jobs, of both masters at the same time; those of each master.
fn publish_all(several: &Several, jobs: usize) -> Result<Vec<Vec<Sent>>> {
    let mut locals = Vec::new();
    for master in &several.masters {
        locals.push((
            LocalProgram::of(master)?,
            Vec::with_capacity(jobs / MASTERS),
        ));
    }
    for number in 0..jobs / MASTERS {
        for (at, (local, _)) in locals.iter_mut().enumerate() {
            local.send(&LocalJob {
                jid: "",
                target: "*",
                fun: "test.echo",
                arg: &arg(at, number),
            })?;
        }
        for (at, (local, sent)) in locals.iter_mut().enumerate() {
            let job = Sent {
                jid: local.jid()?,
                arg: arg(at, number),
            };
            if number % AHEAD == AHEAD - 1 {
                wait_stored(&several.masters[at], &job.jid, "web1")?;
            }
            sent.push(job);
        }
    }
    Ok(locals.into_iter().map(|(_, sent)| sent).collect())
}

fn arg(master: usize, number: usize) -> String {
    format!("m{master}-{number}")
}

/// Waits until each master has the results of its jobs, and checks that they are.
fn check_all(several: &Several, sent: &[Vec<Sent>]) -> Result<()> {
    let jobs = u32::try_from(sent.iter().map(Vec::len).sum::<usize>())?;
    let give_up = Instant::now() + SETTLED + SETTLED_EACH * jobs;
    for (master, sent) in several.masters.iter().zip(sent) {
        loop {
            let missing = missing(master, sent)?;
            if missing.is_empty() {
                break;
            }
            let first: Vec<_> = missing.iter().take(9).collect();
            let count = missing.len();
            ensure!(Instant::now() < give_up, "{count} lost, as {first:?}");
            std::thread::sleep(PAUSE);
        }
    }
    Ok(())
}

/// The results that a master has not, once each; a result of something else is an error.
fn missing(master: &Master, sent: &[Sent]) -> Result<Vec<String>> {
    let mut results: Results = BTreeMap::new();
    read_cache(master, &mut results)?;
    let mut missing = Vec::new();
    for Sent { jid, arg } in sent {
        for number in 1..=MINIONS {
            let id = format!("web{number}");
            let key = (jid.clone(), id);
            match results.get(&key).map(Vec::as_slice) {
                Some([one]) => {
                    ensure!(*one == json!(arg), "mixed: {key:?} is {one} and not {arg}");
                }
                other => missing.push(format!("{key:?} {arg}: {other:?}")),
            }
        }
    }
    Ok(missing)
}
