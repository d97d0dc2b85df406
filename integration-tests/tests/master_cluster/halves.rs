//! A cluster on links that is cut in two: each half has a first master, and when they
//! meet all of them say who ran what meanwhile.

use anyhow::{Result, ensure};
use halite_integration_tests::proxy::Cable;
use halite_integration_tests::{HAPROXY, Kind, START, until};
use halite_test_support::have_programs;
use serde_json::Value;

use crate::cabled::{Cabled, MASTERS, PAIRS};

#[test]
fn two_halves_each_have_a_first_master_and_say_so_when_they_meet() -> Result<()> {
    if !have_programs(&[HAPROXY]) {
        return Ok(());
    }
    let cabled = Cabled::start(&[])?;
    cabled.wait_of_one_mind()?;
    let name = |n: usize| cabled.masters[n].address().ip().to_string();
    let mut order: Vec<usize> = (0..MASTERS).collect();
    order.sort_by_key(|n| name(*n));
    let &[first, second, last] = order.as_slice() else {
        unreachable!("three were laid")
    };
    let sees = |n: usize, half: bool, first: usize, runs: bool| {
        let what = format!("m{} to see m{} as first, half: {half}", n + 1, first + 1);
        until(&what, START, || {
            let of = status(&cabled, n)?;
            let is_so = of["half"] == half
                && of["first"] == name(first).as_str()
                && of["runs_schedule"] == runs;
            Ok(is_so.then_some(()))
        })
    };
    for n in 0..MASTERS {
        sees(n, false, first, n == first)?;
    }
    let links_of_last = (0..PAIRS.len()).filter(|pair| {
        let (one, other) = PAIRS[*pair];
        one == last || other == last
    });
    let links_of_last: Vec<usize> = links_of_last.collect();
    for pair in &links_of_last {
        cabled.set_links(*pair, Cable::Cut);
    }
    sees(last, true, last, true)?;
    sees(first, true, first, true)?;
    sees(second, true, first, false)?;
    for master in &cabled.masters {
        ensure!(
            master
                .events()?
                .events()
                .iter()
                .all(|of| of.tag != "salt/cluster/met"),
            "nobody has met"
        );
    }
    for pair in &links_of_last {
        cabled.set_links(*pair, Cable::Whole);
    }
    // Each of both sides tells of the other, and whether it ran the tasks itself.
    check_met(
        &cabled,
        &[
            (first, last, true),
            (second, last, false),
            (last, first, true),
            (last, second, true),
        ],
    )?;
    for n in 0..MASTERS {
        sees(n, false, first, n == first)?;
    }
    Ok(())
}

/// Waits for the event of each of these masters about another one, and checks whether it
/// says that it ran the tasks.
fn check_met(cabled: &Cabled, met: &[(usize, usize, bool)]) -> Result<()> {
    let name = |n: usize| cabled.masters[n].address().ip().to_string();
    for &(own, peer, ran) in met {
        let what = format!("m{} to have met m{}", own + 1, peer + 1);
        let events = cabled.masters[own].events()?;
        let event = events.wait(&what, START, |event| {
            event.tag == "salt/cluster/met"
                && event.data["node_id"] == name(own).as_str()
                && event.data["peer"] == name(peer).as_str()
        })?;
        ensure!(event.data["ran_schedule"] == ran, "{}", event.data);
        let apart_ms = event.data["apart_ms"].as_u64().unwrap_or_default();
        ensure!(apart_ms > 0, "{}", event.data);
    }
    Ok(())
}

fn status(cabled: &Cabled, n: usize) -> Result<Value> {
    let tools = cabled.masters[n].tools(Kind::Ours);
    let shown = tools.runner(&["cluster.status", "--out=json"])?.ok()?;
    Ok(serde_json::from_str(&shown.stdout)?)
}
