//! A master of a cluster is killed with a job that no minion and no other master has heard
//! of, and starts while the store hangs that knows who has returned it.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use halite_integration_tests::chaos::publish;
use halite_integration_tests::proxy::Cable;
use halite_integration_tests::{HAPROXY, Kind, START, until};
use halite_test_support::have_programs;

use crate::cabled::{Cabled, PAIRS, RAN};

/// The master that is killed.
const KILLED: usize = 0;
const OTHER: usize = 1;

/// What it logs when it starts and cannot ask.
const CANNOT_ASK: &str = "the job cache cannot be asked who has returned the last jobs";

#[test]
fn a_job_of_a_master_that_was_killed_waits_for_the_store() -> Result<()> {
    if !have_programs(&[HAPROXY]) {
        return Ok(());
    }
    let minions = [
        ("web1", Kind::Ours),
        ("web2", Kind::Ours),
        ("py3008", Kind::Salt3008),
    ];
    let minions = minions.map(|(id, kind)| (id.to_owned(), kind));
    // It is killed, hangs at its start and is asked again: a busy machine takes its time.
    let Some(mut cabled) = Cabled::on_store(&minions, "job_replay_window: 240")? else {
        return Ok(());
    };
    set_cables(&cabled, Cable::Cut);
    until("all minions to be with other masters", START, || {
        let said = cabled.masters[OTHER].salt(&["-t", "1", "*", "test.ping", "--out=txt"])?;
        let is_here = |id: &str| said.stdout.contains(&format!("{id}: True"));
        Ok(minions.iter().all(|(id, _)| is_here(id)).then_some(()))
    })?;
    let command = format!("echo late >> ${RAN} && echo late");
    let jid = publish(&cabled.masters[KILLED], "*", &command)?;
    cabled.masters[KILLED].kill9()?;
    cabled.store().context("it is on a store")?.pause();
    set_cables(&cabled, Cable::Whole);
    cabled.masters[KILLED].start()?;
    let log = cabled.masters[KILLED].dir().join("log");
    until("the master to say what it cannot ask", START, || {
        let said = fs::read_to_string(&log).unwrap_or_default();
        Ok(said.contains(CANNOT_ASK).then_some(()))
    })?;
    ensure!(ran(&cabled, "late")? == 0, "some minion had heard of it");
    cabled.store().context("it is on a store")?.resume();
    until("all minions to run the job", START, || {
        Ok((ran(&cabled, "late")? == minions.len()).then_some(()))
    })?;
    until("all results", START, || {
        let results = cabled.results()?;
        let has = |id: &String| results.contains_key(&(jid.clone(), id.clone()));
        Ok(minions.iter().all(|(id, _)| has(id)).then_some(()))
    })?;
    cabled.wait_agreed()?;
    ensure!(ran(&cabled, "late")? == minions.len(), "run more than once");
    cabled.check_no_panic()
}

/// Those of minions and of other masters to the one that is killed.
fn set_cables(cabled: &Cabled, cable: Cable) {
    cabled.set_front(KILLED, cable);
    for (n, (one, other)) in PAIRS.into_iter().enumerate() {
        if one == KILLED || other == KILLED {
            cabled.set_links(n, cable);
        }
    }
}

/// How often minions have run it.
fn ran(cabled: &Cabled, token: &str) -> Result<usize> {
    let mut count = 0;
    for minion in &cabled.minions {
        let ran = fs::read_to_string(minion.dir().join("ran")).unwrap_or_default();
        count += ran.lines().filter(|line| *line == token).count();
    }
    Ok(count)
}
