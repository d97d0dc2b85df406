//! Two masters of ours that share the cache of their git remotes: after a kill
//! during an update, no person has to remove anything, and no commit is lost.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master, START, until};
use serde_json::{Value, json};

use crate::git_files::{States, run};

/// Kills that fell into an update, so many.
const KILLED_INSIDE: usize = 6;

/// Tries for them.
const ROUNDS_MAX: usize = 30;

/// Such a commit takes a while to be fetched.
const LARGE_BYTES: usize = 3_000_000;

/// Text that cannot be made smaller, another one for each number.
fn noise(number: usize) -> String {
    let mut state = number as u64 + 1;
    let digits = (0..LARGE_BYTES).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        char::from(b' ' + u8::try_from(state >> 58).unwrap_or_default())
    });
    digits.collect()
}

/// The lock of the one remote.
fn lock_of(shared: &Path) -> Result<PathBuf> {
    let mut remotes = fs::read_dir(shared.join("work"))?;
    let remote = remotes.next().context("nothing was fetched")??;
    Ok(remote.path().join("_/update.lk"))
}

/// The process that a lock names, if there is one.
fn holder(lock: &Path) -> Option<i32> {
    fs::read_to_string(lock).ok()?.lines().next()?.parse().ok()
}

/// Waits until these masters serve a file, which they have fetched by themselves.
fn is_served(name: &str, masters: &[&Master]) -> Result<()> {
    for master in masters {
        until(&format!("{name} at {:?}", master.dir()), START, || {
            let files = run(master, &["fileserver.file_list"])?;
            let files = files.as_array().context("no list")?;
            Ok(files.contains(&json!(name)).then_some(()))
        })?;
    }
    Ok(())
}

/// Kills a master while it updates; whether it was inside when it died.
fn kill_inside(master: &mut Master, lock: &Path) -> Result<bool> {
    let pids = master.daemon().processes()?;
    until("an update of this master", START, || {
        let is_at_it = holder(lock).is_some_and(|pid| pids.contains(&pid));
        Ok(is_at_it.then_some(()))
    })?;
    master.kill9()?;
    Ok(holder(lock).is_some_and(|pid| pids.contains(&pid)))
}

#[test]
fn masters_killed_inside_updates_lose_no_commit_and_leave_nothing_to_remove() -> Result<()> {
    let fleet = Fleet::new("gitfs-shared")?;
    let states = States::new(&fleet.path().join("states"))?;
    states.commit("start", "x\n")?;
    let shared = fleet.path().join("shared");
    fs::create_dir_all(&shared)?;
    let start = |name: &str| {
        let cache = fleet.path().join(name).join("cache");
        fs::create_dir_all(&cache)?;
        symlink(&shared, cache.join("gitfs"))?;
        fleet
            .master(name, Kind::Ours)
            .set("fileserver_backend", json!(["gitfs"]))
            .set("gitfs_base", "main")
            .set("gitfs_update_interval", 1)
            .set("gitfs_remotes", json!([states.url()]))
            .start()
    };
    let mut masters = [start("m1")?, start("m2")?];
    is_served("start", &[&masters[0], &masters[1]])?;
    let lock = lock_of(&shared)?;
    let mut inside = 0;
    let mut committed = vec!["start".to_owned()];
    for round in 0..ROUNDS_MAX {
        if inside == KILLED_INSIDE {
            break;
        }
        let [first, second] = &mut masters;
        let (killed, other) = match round % 2 {
            0 => (first, second),
            _ => (second, first),
        };
        let name = format!("round{round}");
        states.commit(&name, &noise(round))?;
        inside += usize::from(kill_inside(killed, &lock)?);
        is_served(&name, &[other])?;
        committed.push(name);
        let alone = format!("alone{round}");
        states.commit(&alone, "x\n")?;
        is_served(&alone, &[other])?;
        committed.push(alone);
        killed.start()?;
        is_served(committed.last().context("none")?, &[killed])?;
    }
    ensure!(
        inside == KILLED_INSIDE,
        "only {inside} died inside an update"
    );
    committed.sort_unstable();
    for master in &masters {
        let files = run(master, &["fileserver.file_list"])?;
        ensure!(files == json!(committed), "{files}");
        let status: Value = run(master, &["fileserver.status"])?;
        ensure!(status[states.url()]["error"].is_null(), "{status}");
    }
    for master in &mut masters {
        ensure!(master.stop()? == 0, "it did not end well");
    }
    ensure!(
        holder(&lock).is_none(),
        "a lock is left: {:?}",
        holder(&lock)
    );
    let left = unfinished(&shared)?;
    ensure!(left.is_empty(), "{left:?}");
    Ok(())
}

/// What an update that was cut off leaves, until the next one.
fn unfinished(shared: &Path) -> Result<Vec<PathBuf>> {
    let left = fs::read_dir(shared)?.flatten().flat_map(|remote| {
        let names = ["objects.new", "objects.old", "objects.init"];
        names.map(|name| remote.path().join(name))
    });
    Ok(left.filter(|path| path.exists()).collect())
}
