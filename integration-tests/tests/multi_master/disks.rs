//! Disks that cannot be written, and files that a power cut has damaged: accepted
//! data is not lost, and nobody waits for a result that cannot come.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use halite_integration_tests::{FullDisk, SHORT, Signal, until};
use serde_json::json;

use crate::cables::returned;
use crate::support::{
    Several, Tokens, check_told_once, count_return_events, publish, stored, wait_log, wait_ping,
    wait_stored,
};

/// So many that each of two masters is very likely reached first once.
const CALLS: usize = 6;

/// A command that ends when there is a file, so that a test says when.
fn held(gate: &Path, tokens: &Tokens, token: &str) -> String {
    let gate = gate.display();
    let command = tokens.command(token);
    format!("while [ ! -e {gate} ]; do sleep 0.02; done; {command}")
}

/// The files of returns that wait.
fn segments(minion: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(minion.join("cache/returns"))?;
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// A minion whose disk takes nothing, and no master: the results are there
/// when a master is, and on the disk when that takes them again.
#[test]
fn results_outlive_their_masters_without_a_disk() -> Result<()> {
    let mut several = Several::start(1, 1)?;
    let tokens = several.tokens();
    let (master, minion) = (&mut several.masters[0], &mut several.minions[0]);
    minion.stop()?;
    let returns = FullDisk::at(&minion.dir().join("cache/returns"))?;
    let proc = FullDisk::at(&minion.dir().join("cache/proc"))?;
    minion.start()?;
    wait_log(minion.dir(), &["could not write returns to disk"])?;
    wait_ping(master, "web1")?;
    let gates = ["gate1", "gate2"].map(|name| several.fleet.path().join(name));
    let first = publish(master, "web1", &held(&gates[0], &tokens, "first"))?;
    let second = publish(master, "web1", &held(&gates[0], &tokens, "second"))?;
    wait_log(minion.dir(), &[&first, "executing"])?;
    wait_log(minion.dir(), &[&second, "executing"])?;
    master.kill9()?;
    fs::write(&gates[0], "")?;
    tokens.wait("first")?;
    tokens.wait("second")?;
    master.start()?;
    assert_eq!(wait_stored(master, &first, "web1")?, "first");
    assert_eq!(wait_stored(master, &second, "web1")?, "second");
    check_told_once(master, &first, "web1")?;

    let third = publish(master, "web1", &held(&gates[1], &tokens, "third"))?;
    wait_log(minion.dir(), &[&third, "executing"])?;
    master.kill9()?;
    fs::write(&gates[1], "")?;
    tokens.wait("third")?;
    returns.mend()?;
    proc.mend()?;
    wait_log(minion.dir(), &["returns can be written to disk again"])?;
    minion.kill9()?;
    minion.start()?;
    master.start()?;
    assert_eq!(wait_stored(master, &third, "web1")?, "third");
    assert_eq!(tokens.count("third"), 1);
    Ok(())
}

/// The results of an earlier run are on a disk that can be used only after the
/// minion's start: they are delivered then, and their jobs do not run again.
#[test]
fn a_disk_that_comes_late_brings_its_results() -> Result<()> {
    let mut several = Several::start(1, 1)?;
    let tokens = several.tokens();
    let gate = several.fleet.path().join("gate");
    let (master, minion) = (&mut several.masters[0], &mut several.minions[0]);
    let jid = publish(master, "web1", &held(&gate, &tokens, "late"))?;
    wait_log(minion.dir(), &[&jid, "executing"])?;
    master.kill9()?;
    fs::write(&gate, "")?;
    until("the result to be on disk", SHORT, || {
        let files = segments(minion.dir())?.into_iter();
        let bytes = files.map(fs::read).collect::<Result<Vec<_>, _>>()?.concat();
        let mut windows = bytes.windows(jid.len());
        Ok(windows.any(|window| window == jid.as_bytes()).then_some(()))
    })?;
    let cache = minion.dir().join("cache");
    let running = cache.join("proc").join(&jid);
    until("the job to count as ended", SHORT, || {
        Ok((!running.exists()).then_some(()))
    })?;
    minion.kill9()?;
    let returns = FullDisk::at(&cache.join("returns"))?;
    // What else would tell that it has run is not there either.
    fs::remove_file(cache.join("claims"))?;
    minion.start()?;
    wait_log(minion.dir(), &["could not write returns to disk"])?;
    returns.mend()?;
    wait_log(minion.dir(), &["found returns of an earlier run"])?;
    master.start()?;
    assert_eq!(wait_stored(master, &jid, "web1")?, "late");
    wait_ping(master, "web1")?;
    check_told_once(master, &jid, "web1")?;
    assert_eq!(tokens.count("late"), 1);
    Ok(())
}

/// A master that cannot store anything still sends commands and shows what
/// comes back; the results wait until somebody can store them.
#[test]
fn a_master_without_a_disk_serves_and_loses_nothing() -> Result<()> {
    let mut several = Several::start(2, 1)?;
    let tokens = several.tokens();
    let (first, second, _) = several.two()?;
    let jobs = FullDisk::at(&first.dir().join("cache/jobs"))?;
    let returned = first.returns(&["web1", "cmd.run", &tokens.command("shown")])?;
    assert_eq!(returned["web1"], "shown");
    let jid = publish(first, "web1", &tokens.command("kept"))?;
    // The first one has heard of it and cannot keep it; the second one can.
    assert_eq!(wait_stored(second, &jid, "web1")?, "kept");
    ensure!(
        count_return_events(first, &jid, "web1")? <= 1,
        "told again and again"
    );
    jobs.mend()?;
    let after = publish(first, "web1", &tokens.command("after"))?;
    assert_eq!(wait_stored(first, &after, "web1")?, "after");
    assert_eq!((tokens.count("shown"), tokens.count("kept")), (1, 1));
    Ok(())
}

/// A `salt-call` brings its result once: to another master if the first one cannot store
/// it, also where no daemon of the minion shows that it is one of Halite's.
#[test]
fn the_result_of_salt_call_goes_to_a_master_with_a_disk() -> Result<()> {
    let mut several = Several::start(2, 1)?;
    several.minions[0].stop()?;
    let jobs = FullDisk::at(&several.masters[0].dir().join("cache/jobs"))?;
    // It takes the master that it reaches first.
    for _ in 0..CALLS {
        several.minions[0].call(&["test.echo", "its own"])?.ok()?;
    }
    let (first, second, _) = several.two()?;
    let listed = ["jobs.list_jobs", "search_function=test.echo"];
    let stored = returned(second, &listed)?;
    ensure!(
        stored.as_object().is_some_and(|jobs| jobs.len() == CALLS),
        "{stored}"
    );
    let status = returned(first, &["store.status"])?;
    ensure!(status["jobs"]["in_memory"].is_null(), "{status}");
    jobs.mend()?;
    ensure!(returned(first, &listed)? == json!({}), "kept twice");
    Ok(())
}

/// The power goes, and of the file of returns a part never reached the disk:
/// the others are delivered.
#[test]
fn damage_in_the_spool_costs_what_it_hits() -> Result<()> {
    let mut several = Several::start(1, 1)?;
    let tokens = several.tokens();
    let gate = several.fleet.path().join("gate");
    let (master, minion) = (&mut several.masters[0], &mut several.minions[0]);
    let mut jids = Vec::new();
    for token in ["one", "two", "three"] {
        jids.push(publish(master, "web1", &held(&gate, &tokens, token))?);
    }
    for jid in &jids {
        wait_log(minion.dir(), &[jid, "executing"])?;
    }
    master.kill9()?;
    fs::write(&gate, "")?;
    let waiting = || -> Result<Option<(PathBuf, Vec<usize>)>> {
        let Some(path) = segments(minion.dir())?.pop() else {
            return Ok(None);
        };
        let bytes = fs::read(&path)?;
        let place = |jid: &String| {
            let mut windows = bytes.windows(jid.len());
            windows.position(|window| window == jid.as_bytes())
        };
        let places: Option<Vec<usize>> = jids.iter().map(place).collect();
        Ok(places.map(|places| (path, places)))
    };
    let (path, places) = until("the results to be on disk", SHORT, waiting)?;
    minion.kill9()?;
    // The one that stands in the middle, wherever it began.
    let mut order: Vec<usize> = (0..3).collect();
    order.sort_by_key(|which| places[*which]);
    let (hit, at) = (order[1], places[order[1]] as u64);
    let file = OpenOptions::new().write(true).open(path)?;
    file.write_all_at(&[0; 20], at)?;
    minion.start()?;
    wait_log(minion.dir(), &["a part of the spool is damaged"])?;
    master.start()?;
    for which in [order[0], order[2]] {
        let expected = ["one", "two", "three"][which];
        assert_eq!(wait_stored(master, &jids[which], "web1")?, expected);
    }
    wait_ping(master, "web1")?;
    assert_eq!(stored(master, &jids[hit], "web1")?, None);
    assert!(tokens.counts().values().all(|count| *count == 1));
    Ok(())
}

/// The power goes while a job runs, and its proc file is empty afterwards: who
/// waits is told all the same, once, and the job is not run again.
#[test]
fn an_empty_proc_file_is_one_of_a_job() -> Result<()> {
    let mut several = Several::start(1, 1)?;
    let tokens = several.tokens();
    let (master, minion) = (&mut several.masters[0], &mut several.minions[0]);
    let command = format!("echo begun >> {}; sleep 30", tokens.0.display());
    let jid = publish(master, "web1", &command)?;
    tokens.wait("begun")?;
    minion.kill9()?;
    let proc = minion.dir().join("cache/proc").join(&jid);
    OpenOptions::new().write(true).open(&proc)?.set_len(0)?;
    minion.start()?;
    let told = wait_stored(master, &jid, "web1")?;
    let text = told.as_str().unwrap_or_default();
    ensure!(text.contains("stopped while"), "unexpected {text}");
    wait_ping(master, "web1")?;
    ensure!(!proc.exists(), "it would be reported again");
    check_told_once(master, &jid, "web1")?;
    assert_eq!(tokens.count("begun"), 1);
    Ok(())
}

/// A minion that is stopped in the middle of its jobs, and its masters too, go
/// on where they were.
#[test]
fn whoever_is_stopped_goes_on() -> Result<()> {
    let mut several = Several::start(2, 1)?;
    let tokens = several.tokens();
    let gate = several.fleet.path().join("gate");
    let command = |token: &str| {
        let begun = format!("echo begun-{token} >> {}", tokens.0.display());
        format!("{begun}; {}", held(&gate, &tokens, token))
    };
    let (first, second, minion) = several.two()?;
    let one = publish(first, "web1", &command("one"))?;
    let two = publish(second, "web1", &command("two"))?;
    tokens.wait("begun-one")?;
    tokens.wait("begun-two")?;
    minion.daemon().signal(Signal::SIGSTOP)?;
    second.daemon().signal(Signal::SIGSTOP)?;
    fs::write(&gate, "")?;
    tokens.wait("one")?;
    tokens.wait("two")?;
    // It has not heard of their ends, and of this command neither.
    let three = publish(first, "web1", &command("three"))?;
    minion.daemon().signal(Signal::SIGCONT)?;
    assert_eq!(wait_stored(first, &one, "web1")?, "one");
    assert_eq!(wait_stored(first, &three, "web1")?, "three");
    second.daemon().signal(Signal::SIGCONT)?;
    until("the result of the second master's job", SHORT, || {
        let at = [&*first, &*second].map(|master| stored(master, &two, "web1"));
        let [at_first, at_second] = at;
        Ok(at_second?.or(at_first?))
    })?;
    wait_ping(second, "web1")?;
    assert!(tokens.counts().values().all(|count| *count == 1));
    Ok(())
}
