//! A master of ours and one of real Salt that run beside each other and share the cache
//! of their git remotes.

use std::fs;
use std::os::unix::fs::symlink;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master, START, until};
use serde_json::{Value, json};

use crate::git_remotes::Tree;

/// What a master lists without fetching, as its daemon has fetched it.
fn files(master: &Master) -> Result<Value> {
    let words = ["fileserver.file_list", "--out=json", "-l", "quiet"];
    let output = master.tools(master.kind()).runner(&words)?;
    // Salt writes of its own faults behind its answer.
    let answer = output
        .stdout
        .split("\nunclosed ")
        .next()
        .unwrap_or_default();
    serde_json::from_str(answer.trim()).with_context(|| output.to_string())
}

/// Commits a file, and waits until these masters serve it.
fn is_served(tree: &Tree, name: &str, masters: &[&Master]) -> Result<()> {
    tree.commit(&[(name, "x\n")])?;
    for master in masters {
        let what = format!("{name} at a master of {:?}", master.kind());
        until(&what, 2 * START, || {
            let files = files(master)?;
            let files = files.as_array().context("no list")?;
            Ok(files.contains(&json!(name)).then_some(()))
        })?;
    }
    Ok(())
}

#[test]
fn a_running_master_of_salt_and_ours_share_a_cache() -> Result<()> {
    let fleet = Fleet::new("gitshared")?;
    let tree = Tree::new(&fleet.path().join("states"))?;
    tree.commit(&[("start", "x\n")])?;
    let shared = fleet.path().join("shared");
    fs::create_dir_all(&shared)?;
    let start = |name: &str, kind| {
        let cache = fleet.path().join(name).join("cache");
        fs::create_dir_all(&cache)?;
        symlink(&shared, cache.join("gitfs"))?;
        fleet
            .master(name, kind)
            .set("fileserver_backend", json!(["gitfs"]))
            .set("gitfs_provider", "gitpython")
            .set("gitfs_base", "main")
            .set("gitfs_update_interval", 1)
            .set("gitfs_remotes", json!([tree.url()]))
            .set("loop_interval", 1)
            .start()
    };
    let mut theirs = start("m2", Kind::Salt3008)?;
    let mut ours = start("m1", Kind::Ours)?;
    for round in 0..5 {
        is_served(&tree, &format!("both{round}"), &[&ours, &theirs])?;
    }
    // Whoever dies, whatever it held, the other one goes on.
    theirs.kill9()?;
    is_served(&tree, "without-salt", &[&ours])?;
    theirs.start()?;
    is_served(&tree, "with-salt", &[&ours, &theirs])?;
    ours.kill9()?;
    is_served(&tree, "without-ours", &[&theirs])?;
    ours.start()?;
    is_served(&tree, "with-ours", &[&ours, &theirs])?;
    let locks = fs::read_dir(shared.join("work"))?.flatten();
    ensure!(locks.count() > 0, "they do not share it");
    Ok(())
}
