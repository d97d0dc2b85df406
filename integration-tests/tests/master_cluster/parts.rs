//! The parts of one job, as a job in batches has them: a minion may return at a master
//! that has not heard of its part.

use std::thread;

use anyhow::{Result, ensure};
use halite_integration_tests::chaos::{Results, read_cache};
use halite_integration_tests::local_program::{LocalJob, LocalProgram};
use halite_integration_tests::proxy::Cable;
use halite_integration_tests::{HAPROXY, Kind, START, until};
use halite_test_support::have_programs;

use crate::cabled::{Cabled, MASTERS};
use crate::copies::AtFirst;

const JID: &str = "20260101000000000099";

/// The master that publishes, and its link to the first one, where minions return.
const PUBLISHER: usize = 1;
const LINK_TO_FIRST: usize = 0;

const EARLY: &str = "part-1";
const LATE: &str = "part-2";

/// How many minions of the job the first master knows.
fn known_at_first(cabled: &Cabled) -> Result<usize> {
    let first = cabled.masters[0].tools(Kind::Ours);
    let shown = first.runner(&["jobs.list_job", JID, "--out=json"])?.ok()?;
    let shown: serde_json::Value = serde_json::from_str(&shown.stdout)?;
    Ok(shown["Minions"].as_array().map_or(0, Vec::len))
}

fn publish(program: &mut LocalProgram, target: &str) -> Result<()> {
    program.publish(&LocalJob {
        jid: JID,
        target,
        fun: "test.echo",
        arg: "here",
    })?;
    Ok(())
}

#[test]
fn a_return_of_a_part_that_its_master_has_not_heard_of_is_kept() -> Result<()> {
    if !have_programs(&[HAPROXY]) {
        return Ok(());
    }
    let cabled = Cabled::start(&[])?;
    let (mut early, mut late) = (
        AtFirst::sign_in_as(EARLY, &cabled)?,
        AtFirst::sign_in_as(LATE, &cabled)?,
    );
    cabled.wait_of_one_mind()?;
    let mut program = LocalProgram::of(&cabled.masters[PUBLISHER])?;
    publish(&mut program, EARLY)?;
    until("the first part to be heard of", START, || {
        Ok((known_at_first(&cabled)? == 1).then_some(()))
    })?;
    cabled.set_links(LINK_TO_FIRST, Cable::Nowhere);
    publish(&mut program, LATE)?;
    ensure!(
        known_at_first(&cabled)? == 1,
        "a cut link has carried a job"
    );
    thread::scope(|scope| {
        let returned = scope.spawn(|| late.give(JID, "late"));
        early.give(JID, "early")?;
        returned.join().expect("a panic")
    })?;
    cabled.set_links(LINK_TO_FIRST, Cable::Whole);
    until("every master to have both returns", START, || {
        let has_both = cabled.masters.iter().map(|master| {
            let mut results = Results::new();
            read_cache(master, &mut results)?;
            let has = |id: &str| results.contains_key(&(JID.to_owned(), id.to_owned()));
            Ok(has(EARLY) && has(LATE))
        });
        let has_both: Vec<bool> = has_both.collect::<Result<_>>()?;
        let all = has_both.iter().filter(|has| **has).count();
        Ok((all == MASTERS).then_some(()))
    })?;
    // The job is for both, whichever part of it a master has heard of first.
    until("both to be minions of the job", START, || {
        Ok((known_at_first(&cabled)? == 2).then_some(()))
    })
}
