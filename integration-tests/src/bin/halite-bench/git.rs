//! States from git: what an update costs, and what a state run does.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master};
use serde_json::{Value, json};

use crate::daemons::{minion, new_fleet};
use crate::measure::{Effort, Numbers, Unit, median};
use crate::{runs, trees};

/// Files of the large repository, besides those of the formulas.
const FILES: usize = 10_000;

/// Small repositories that are updated together.
const REMOTES: usize = 100;

pub(crate) fn git(kind: Kind, effort: Effort, numbers: &mut Numbers) -> Result<()> {
    one_large(kind, effort, numbers)?;
    many_small(kind, effort, numbers)
}

/// One repository with many files, and the formulas of the other parts.
fn one_large(kind: Kind, effort: Effort, numbers: &mut Numbers) -> Result<()> {
    let fleet = new_fleet()?;
    let target = fleet.path().join("target");
    let tree = fleet.path().join("states");
    trees::formulas(&tree, &target)?;
    for number in 0..FILES {
        let dir = tree.join(format!("many/d{:02}", number % 100));
        fs::create_dir_all(&dir)?;
        fs::write(dir.join(format!("file{number}")), format!("{number}\n"))?;
    }
    commit(&tree)?;
    let master = master(&fleet, kind, "m1", &json!([url(&tree)]))?;
    trees::pillar(&master.dir().join("pillar"))?;
    let mut firsts = Vec::new();
    for _ in 0..effort.calls {
        runner(&master, &["fileserver.clear_cache"])?;
        firsts.push(runner(&master, &["fileserver.update"])?.0);
    }
    let first = median(firsts)?;
    let bare = bare_fetch(&fleet, &url(&tree), effort.calls)?;
    let name = "`fileserver.update`, a repository of 10,000 files for the first time";
    numbers.add(name, first, Unit::Milliseconds, "");
    numbers.add("- to `git fetch` alone", first / bare, Unit::Times, "1.3x");
    let mut times = Vec::new();
    for _ in 0..effort.calls {
        times.push(runner(&master, &["fileserver.update"])?.0);
    }
    let name = "`fileserver.update` with nothing new";
    numbers.add(name, median(times)?, Unit::Milliseconds, "20x");
    lists(&master, effort, numbers)?;
    let web1 = minion(&fleet, kind, &master, 1)?;
    let from_git = applied(&master)?;
    drop((web1, master));
    let from_roots = applied_from_roots(kind)?;
    let name = "`state.apply` from git, 110 states of formulas, second run";
    numbers.add(name, from_git, Unit::Milliseconds, "");
    let times = from_git / from_roots;
    numbers.add("- to that from `file_roots`", times, Unit::Times, "1.1x");
    Ok(())
}

/// The list of its files, as a runner shows it.
fn lists(master: &Master, effort: Effort, numbers: &mut Numbers) -> Result<()> {
    let list = || -> Result<Duration> {
        let (took, files) = runner(master, &["fileserver.file_list", "saltenv=base"])?;
        let count = files.as_array().map_or(0, Vec::len);
        ensure!(count > FILES, "{count} files");
        Ok(took)
    };
    let mut times = Vec::new();
    for _ in 0..effort.calls {
        runner(master, &["fileserver.clear_file_list_cache"])?;
        times.push(list()?);
    }
    let name = "`fileserver.file_list` of 10,000 files, not listed before";
    numbers.add(name, median(times)?, Unit::Milliseconds, "");
    let times: Result<Vec<_>> = (0..effort.calls).map(|_| list()).collect();
    let name = "`fileserver.file_list` of 10,000 files, again";
    numbers.add(name, median(times?)?, Unit::Milliseconds, "");
    Ok(())
}

/// A hundred remotes in one master.
fn many_small(kind: Kind, effort: Effort, numbers: &mut Numbers) -> Result<()> {
    let fleet = new_fleet()?;
    let mut remotes = Vec::new();
    for number in 0..REMOTES {
        let tree = fleet.path().join(format!("remote{number}"));
        fs::create_dir_all(&tree)?;
        fs::write(tree.join(format!("only{number}.sls")), "{}\n")?;
        commit(&tree)?;
        remotes.push(Value::from(url(&tree)));
    }
    let master = master(&fleet, kind, "m1", &Value::from(remotes))?;
    runner(&master, &["fileserver.update"])?;
    let mut times = Vec::new();
    for _ in 0..effort.calls {
        times.push(runner(&master, &["fileserver.update"])?.0);
    }
    let name = "`fileserver.update` of 100 remotes with nothing new";
    numbers.add(name, median(times)?, Unit::Milliseconds, "20x");
    Ok(())
}

/// A master that serves these remotes and nothing else, and updates them when told.
fn master(fleet: &Fleet, kind: Kind, name: &str, remotes: &Value) -> Result<Master> {
    fleet
        .master(name, kind)
        .auto_accept()
        .set("worker_threads", 5)
        .set("loop_interval", 60)
        .set("log_level_logfile", "error")
        .set("fileserver_backend", json!(["gitfs"]))
        .set("gitfs_provider", "gitpython")
        .set("gitfs_base", "main")
        .set("gitfs_update_interval", 86_400)
        .set("gitfs_remotes", remotes.clone())
        .start()
}

/// The time of a second state run, which writes nothing.
fn applied(master: &Master) -> Result<f64> {
    for _ in 0..2 {
        runs::run(master, "formulas", trees::FORMULA_TEMPLATES)?;
    }
    let times: Result<Vec<_>> = (0..3)
        .map(|_| runs::run(master, "formulas", trees::FORMULA_TEMPLATES))
        .collect();
    median(times?)
}

fn applied_from_roots(kind: Kind) -> Result<f64> {
    let fleet = new_fleet()?;
    let master = crate::daemons::plan(&fleet, kind)?;
    trees::formulas(&master.dir().join("srv"), &fleet.path().join("target"))?;
    trees::pillar(&master.dir().join("pillar"))?;
    let _web1 = minion(&fleet, kind, &master, 1)?;
    applied(&master)
}

/// Runs a runner; how long the program took, and what it answered.
fn runner(master: &Master, words: &[&str]) -> Result<(Duration, Value)> {
    let words = [words, &["--out=json"]].concat();
    let begun = Instant::now();
    let output = master.tools(master.kind()).runner(&words)?;
    let took = begun.elapsed();
    Ok((took, output.ok()?.json()?))
}

/// What git alone takes to fetch a repository's branches, in milliseconds.
fn bare_fetch(fleet: &Fleet, url: &str, times: usize) -> Result<f64> {
    let mut taken = Vec::new();
    for number in 0..times {
        let dir = fleet.path().join(format!("bare{number}"));
        fs::create_dir_all(&dir)?;
        let begun = Instant::now();
        run_git(&dir, &["init", "-q", "--bare"])?;
        run_git(&dir, &["fetch", "-q", url, "+refs/heads/*:refs/heads/*"])?;
        taken.push(begun.elapsed());
    }
    median(taken)
}

fn commit(tree: &Path) -> Result<()> {
    run_git(tree, &["init", "-q", "-b", "main"])?;
    run_git(tree, &["add", "-A"])?;
    run_git(tree, &["commit", "-q", "-m", "all of it"])
}

fn url(tree: &Path) -> String {
    format!("file://{}", tree.display())
}

fn run_git(dir: &Path, words: &[&str]) -> Result<()> {
    let output = Command::new("git")
        .args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"])
        .args(words)
        .current_dir(dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()?;
    ensure!(output.status.success(), "git {words:?}: {output:?}");
    Ok(())
}
