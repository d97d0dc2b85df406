//! One large tree of states, applied by real Salt and by ours to the same machine:
//! the results of every state are equal, and so is what the two leave on disk. A
//! second run changes nothing.
//!
//! Each side has a temporary root of its own (`root.sh`); see `README.md` for what
//! is where.

mod differences;
mod explained;
mod layer;
mod side;

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use halite_integration_tests::Kind;
use serde_json::{Map, Value, json};

use side::{Prepared, Side};

/// Fewer states would not be the tree that it claims to be.
const STATES_MIN: usize = 400;

/// The same of the states that cannot be done.
const BAD_STATES_MIN: usize = 100;

/// The four runs: test mode on the untouched machine, the first and the second
/// application, and test mode again.
const RUNS: [&str; 4] = ["predicted", "first", "second", "settled"];

/// The release of Salt that the tree is compared with; an older one on demand,
/// by hand: what differs between releases differs here too.
fn real() -> Kind {
    match std::env::var("HALITE_BIG_TREE_SALT").as_deref() {
        Ok("3006.30") => Kind::Salt3006,
        _ => Kind::Salt3008,
    }
}

/// Applies the tree with both, side by side.
fn apply(real: Kind, what: &str) -> Result<Option<(Side, Side)>> {
    if let Some((theirs, ours)) = side::kept(real, what)? {
        return Ok(Some((theirs, ours)));
    }
    if let Some(why) = side::unable() {
        halite_test_support::not_run(&why);
        return Ok(None);
    }
    let prepared = Prepared::new()?;
    std::thread::scope(|scope| {
        let theirs = scope.spawn(|| prepared.apply(real, what));
        let ours = prepared.apply(Kind::Ours, what)?;
        let theirs = theirs
            .join()
            .map_err(|_| anyhow::anyhow!("the thread of {real} has panicked"))??;
        Ok(Some((theirs, ours)))
    })
}

/// What changed although it had been brought to what is wanted before. What
/// fails has not.
fn changed_again<'r>(
    run: &'r Map<String, Value>,
    second: &Map<String, Value>,
) -> BTreeSet<&'r str> {
    run.iter()
        .filter(|(tag, result)| {
            result["changes"] != json!({}) && second[*tag]["result"] != json!(false)
        })
        .map(|(tag, _)| tag.as_str())
        .filter(|tag| explained::why_always(tag).is_none())
        .collect()
}

/// How the states that fail differ from those that are listed to fail: all
/// others are meant to succeed. `HALITE_UPDATE_BIG_TREE=1` writes the list anew.
fn unlisted_failures(what: &str, first: &Map<String, Value>) -> Result<Vec<String>> {
    let failed = first
        .iter()
        .filter(|(_, result)| result["result"] == json!(false));
    let failed: BTreeSet<String> = failed.map(|(tag, _)| tag.clone()).collect();
    let dir = halite_integration_tests::package_dir().join("tests/big_tree/failing");
    let path = dir.join(format!("{what}.json"));
    if std::env::var_os("HALITE_UPDATE_BIG_TREE").is_some() {
        std::fs::write(&path, serde_json::to_string_pretty(&failed)? + "\n")?;
    }
    let listed: BTreeSet<String> = serde_json::from_str(&std::fs::read_to_string(&path)?)?;
    let fails = failed.difference(&listed).map(|tag| format!("{tag} fails"));
    let succeeds = listed.difference(&failed);
    let succeeds = succeeds.map(|tag| format!("{tag} is listed to fail and does not"));
    Ok(fails.chain(succeeds).collect())
}

/// Compares two sides of the tree `what`, of at least so many states, and texts
/// that each has written.
fn compare(
    what: &str,
    theirs: &Side,
    ours: &Side,
    states_min: usize,
    texts: &[&str],
) -> Result<()> {
    let mut wrong = Vec::new();
    for (side, results) in [
        ("theirs", theirs.run("first")?),
        ("ours", ours.run("first")?),
    ] {
        let unlisted = unlisted_failures(what, &results)?;
        wrong.extend(unlisted.iter().map(|text| format!("first: {side}: {text}")));
    }
    let second = theirs.run("second")?;
    for run in RUNS {
        let codes = (theirs.code(run)?, ours.code(run)?);
        if codes.0 != codes.1 {
            wrong.push(format!("{run}: exit codes {} and {}", codes.0, codes.1));
        }
        let (theirs, ours) = (theirs.run(run)?, ours.run(run)?);
        ensure!(
            theirs.len() >= states_min,
            "{run}: only {} states",
            theirs.len()
        );
        wrong.extend(differences::of_runs(run, &theirs, &ours));
        if run == "second" || run == "settled" {
            for (side, results) in [("theirs", &theirs), ("ours", &ours)] {
                let again = changed_again(results, &second);
                wrong.extend(
                    again
                        .iter()
                        .map(|tag| format!("{run}: {side} changes {tag}")),
                );
            }
        }
    }
    for name in texts {
        let (theirs, ours) = (theirs.text(name)?, ours.text(name)?);
        if theirs != ours {
            wrong.push(format!("{name}\n  theirs {theirs}\n  ours   {ours}"));
        }
    }
    wrong.extend(differences::of_layers(&theirs.layer()?, &ours.layer()?));
    ensure!(
        wrong.is_empty(),
        "{} differences:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    Ok(())
}

#[test]
fn a_large_tree_comes_out_as_with_salt() -> Result<()> {
    match apply(real(), "all")? {
        Some((theirs, ours)) => compare("all", &theirs, &ours, STATES_MIN, &["mounts", "sysctls"]),
        None => Ok(()),
    }
}

/// Sources, disks, commands, services and packages that are not as states
/// expect them: each fails as with Salt, and the run goes on.
#[test]
fn what_cannot_be_done_fails_as_with_salt() -> Result<()> {
    match apply(real(), "bad")? {
        Some((theirs, ours)) => {
            ensure!(
                ours.text("disks")? == ours.text("disks-before")?,
                "{}",
                ours.text("disks")?
            );
            compare("bad", &theirs, &ours, BAD_STATES_MIN, &[])
        }
        None => Ok(()),
    }
}
