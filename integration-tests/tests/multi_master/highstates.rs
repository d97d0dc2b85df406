//! States that are applied while the master that gave them dies.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use halite_integration_tests::{Kind, MasterPlan, Program, SHORT, START, Signal, until};
use serde_json::Value;

use crate::support::{Several, plain, wait_stored};

/// What both masters serve: a state that waits for a gate, then files that are
/// fetched only after it.
fn files<'a>(plan: MasterPlan<'a>, dir: &Path) -> MasterPlan<'a> {
    let (begun, gate) = (dir.join("begun"), dir.join("gate"));
    let slow = format!(
        "hold:\n  cmd.run:\n    - name: touch {}; while [ ! -e {} ]; do sleep 0.02; done\n",
        begun.display(),
        gate.display()
    );
    let copied = |number: usize| {
        format!(
            "{}:\n  file.managed:\n    - source: salt://text{number}\n    - require:\n      - cmd: hold\n",
            dir.join(format!("copied{number}")).display()
        )
    };
    let mut plan = plan.file("top.sls", "base:\n  '*':\n    - slow\n").file(
        "slow.sls",
        &[slow, copied(1), copied(2), copied(3)].concat(),
    );
    for number in 1..=3 {
        plan = plan.file(&format!("text{number}"), &format!("text {number}\n"));
    }
    plan
}

/// The states' directory; it is known before there is a fleet.
fn scratch() -> Result<tempfile::TempDir> {
    Ok(tempfile::tempdir()?)
}

fn check_applied(states: &Value, dir: &Path) -> Result<()> {
    let states = states.as_object();
    let results = states.map(|states| states.values().map(|state| &state["result"]));
    let all_true = results.is_some_and(|mut results| results.all(|result| *result == true));
    ensure!(
        all_true && states.is_some_and(|states| states.len() == 4),
        "{states:?}"
    );
    for number in 1..=3 {
        let text = fs::read_to_string(dir.join(format!("copied{number}")))?;
        assert_eq!(text, format!("text {number}\n"));
    }
    Ok(())
}

fn wait_begun(dir: &Path) -> Result<PathBuf> {
    until("the first state", SHORT, || {
        Ok(dir.join("begun").exists().then_some(()))
    })?;
    Ok(dir.join("gate"))
}

/// `salt-call state.highstate`: the master that it uses is killed in the middle.
#[test]
fn a_highstate_of_salt_call_outlives_its_master() -> Result<()> {
    let scratch = scratch()?;
    let dir = scratch.path().canonicalize()?;
    let mut several = Several::without_minions(2, |plan| files(plan, &dir))?;
    several.add_minions(1, plain)?;
    for master in &several.masters {
        master.wait_minion("web1")?;
    }
    let (first, second, minion) = several.two()?;
    // Only the first answers at the beginning, so that is the one it uses.
    second.daemon().signal(Signal::SIGSTOP)?;
    let recipe = minion.recipe(Program::Call)?;
    let recipe = recipe.args(&["--out=json", "state.highstate"]);
    let output = dir.join("salt-call.out");
    let mut call = halite_integration_tests::Daemon::new(recipe, output.clone());
    call.start()?;
    let gate = wait_begun(&dir)?;
    second.daemon().signal(Signal::SIGCONT)?;
    first.kill9()?;
    fs::write(gate, "")?;
    assert_eq!(call.wait_exit(START)?, 0, "{}", call.said());
    let said = call.said();
    let json = said
        .split_once("\n{")
        .map_or(said.as_str(), |(_, rest)| rest);
    let json = format!("{{{}", json.trim_start_matches('{'));
    let states: Value = serde_json::from_str(&json)?;
    check_applied(&states["local"], &dir)
}

/// `salt web1 state.apply`: the master that published it is killed in the
/// middle; the states end well, and the other master has their result.
#[test]
fn a_published_highstate_outlives_its_master() -> Result<()> {
    let scratch = scratch()?;
    let dir = scratch.path().canonicalize()?;
    let mut several = Several::without_minions(2, |plan| files(plan, &dir))?;
    several.add_minions(1, plain)?;
    for master in &several.masters {
        master.wait_minion("web1")?;
    }
    let (first, second, _) = several.two()?;
    let output = first
        .tools(Kind::Ours)
        .salt(&["--async", "web1", "state.apply"])?;
    let output = output.ok()?;
    let jid = output.stdout.trim().rsplit(' ').next().unwrap_or_default();
    let gate = wait_begun(&dir)?;
    first.kill9()?;
    fs::write(gate, "")?;
    let states = wait_stored(second, jid, "web1")?;
    check_applied(&states, &dir)
}

/// A large file is on its way when the master that serves it is killed; the
/// other one has the rest.
#[test]
fn a_file_in_transfer_outlives_its_master() -> Result<()> {
    const LINES: usize = 1_500_000;
    let scratch = scratch()?;
    let dir = scratch.path().canonicalize()?;
    let text = "a line of a large file\n".repeat(LINES);
    let copied = dir.join("copied");
    let states = format!(
        "{}:\n  file.managed:\n    - source: salt://large\n    - show_changes: False\n",
        copied.display()
    );
    let mut several =
        Several::without_minions(2, |plan| plan.file("big.sls", &states).file("large", &text))?;
    several.add_minions(1, plain)?;
    for master in &several.masters {
        master.wait_minion("web1")?;
    }
    let (first, second, minion) = several.two()?;
    // Only the first answers at the beginning, so that is the one it uses.
    second.daemon().signal(Signal::SIGSTOP)?;
    let cache = minion.dir().join("cache/files/base");
    let recipe = minion.recipe(Program::Call)?;
    let recipe = recipe.args(&["--out=json", "state.apply", "big"]);
    let mut call = halite_integration_tests::Daemon::new(recipe, dir.join("salt-call.out"));
    call.start()?;
    let under_way = |entry: &fs::DirEntry| {
        let is_part = entry.file_name().to_string_lossy().starts_with(".halite-");
        is_part && entry.metadata().is_ok_and(|data| data.len() > 0)
    };
    until("a part of the file", SHORT, || {
        let entries = fs::read_dir(&cache).into_iter().flatten().flatten();
        let begun = entries.filter(under_way).count() > 0;
        Ok((begun || copied.exists()).then_some(()))
    })?;
    second.daemon().signal(Signal::SIGCONT)?;
    first.kill9()?;
    assert_eq!(call.wait_exit(START)?, 0, "{}", call.said());
    ensure!(fs::read(&copied)? == text.as_bytes(), "the file is another");
    Ok(())
}
