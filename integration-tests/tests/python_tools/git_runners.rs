//! The runners about git remotes, of a master of real Salt and of ours, beside
//! each other.

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master};
use serde_json::{Value, json};

use crate::git_remotes::Tree;

/// What is run on both, in this order. A lock of Salt's does not count any more
/// when its `salt-run` has ended; until the next one is set it can be removed.
const RUN: &[&[&str]] = &[
    &["fileserver.update"],
    &["fileserver.clear_lock"],
    &["fileserver.lock"],
    &["cache.clear_git_lock", "gitfs", "type=update"],
    &["cache.clear_git_lock", "gitfs"],
    &["fileserver.lock", "remote=*nothing*"],
    &["fileserver.lock", "backend=gitfs", "remote=file://*states"],
    &["fileserver.clear_lock", "remote=*nothing*"],
    &["cache.clear_git_lock", "gitfs", "remote=*states"],
    &["fileserver.lock", "backend=roots"],
    &["fileserver.clear_lock", "backend=-gitfs"],
    &["cache.clear_git_lock", "git_pillar"],
    &["cache.clear_git_lock", "git_pillar", "type=checkout"],
    &["git_pillar.update"],
    &["git_pillar.update", "branch=main"],
    &["fileserver.clear_cache", "backend=roots"],
    &["fileserver.clear_cache"],
    &["fileserver.clear_cache"],
    &["fileserver.update", "backend=git"],
    &["fileserver.file_list"],
    &["fileserver.dir_list"],
    &["fileserver.empty_dir_list"],
    &["fileserver.symlink_list"],
    &["fileserver.envs", "backend=git"],
    &["fileserver.envs", "sources=True"],
];

/// What the runner shows, and its exit code; the remote's address is the same
/// for both masters.
fn shown(master: &Master, words: &[&str]) -> Result<(Value, i32)> {
    let words = [words, &["--out=json", "-l", "quiet"]].concat();
    let output = master.tools(master.kind()).runner(&words)?;
    // Salt writes of its own faults behind its answer.
    let answer = output.stdout.split("\nunclosed ").next();
    let answer = answer.unwrap_or_default().trim();
    let value = serde_json::from_str(answer);
    Ok((
        value.with_context(|| format!("{words:?}: {output}"))?,
        output.code,
    ))
}

#[test]
fn runners_about_git_remotes_show_what_salts_show() -> Result<()> {
    let fleet = Fleet::new("gitrunners")?;
    let states = Tree::new(&fleet.path().join("states"))?;
    states.commit(&[("top.sls", "{}\n"), ("dir/of-git", "x\n")])?;
    let roots = fleet.path().join("roots");
    std::fs::create_dir_all(roots.join("empty/deeper"))?;
    std::fs::write(roots.join("of-roots"), "x\n")?;
    let pillar = Tree::new(&fleet.path().join("pillar"))?;
    pillar.commit(&[("top.sls", "base: {}\n")])?;
    let start = |name: &str, kind| {
        fleet
            .master(name, kind)
            .set("fileserver_backend", json!(["gitfs", "roots"]))
            // One of its directories is empty.
            .set("file_roots", json!({ "base": [roots] }))
            .set("gitfs_provider", "gitpython")
            .set("git_pillar_provider", "gitpython")
            .set("gitfs_base", "main")
            .set("gitfs_update_interval", 3600)
            .set("gitfs_remotes", json!([states.url()]))
            .set("git_pillar_base", "main")
            .set("git_pillar_update_interval", 3600)
            .set(
                "ext_pillar",
                json!([{ "git": [format!("main {}", pillar.url())] }]),
            )
            .start()
    };
    let (ours, theirs) = (start("m1", Kind::Ours)?, start("m2", Kind::Salt3008)?);
    for master in [&ours, &theirs] {
        // Either may have fetched it already.
        shown(master, &["git_pillar.update"])?;
    }
    let mut unlike = Vec::new();
    for words in RUN {
        let (here, there) = (shown(&ours, words)?, shown(&theirs, words)?);
        if here != there {
            unlike.push(format!("{words:?}: {there:?} in Salt, {here:?} here"));
        }
    }
    ensure!(unlike.is_empty(), "{}", unlike.join("\n"));
    // Here Salt lists those of all sources, whichever is named.
    let of_git = ["fileserver.empty_dir_list", "backend=gitfs"];
    ensure!(shown(&theirs, &of_git)?.0 == json!(["empty/deeper"]));
    ensure!(shown(&ours, &of_git)?.0 == json!([]));

    // Another machine's lock stops an update until somebody removes it.
    let lock = |master: &Master, role: &str| {
        let work = master.dir().join("cache").join(role).join("work");
        let dir = std::fs::read_dir(work)?.next().context("no remote")??;
        anyhow::Ok(dir.path().join("_/update.lk"))
    };
    let held = lock(&ours, "git_pillar")?;
    std::fs::write(&held, "1\nanother machine\n")?;
    pillar.commit(&[("top.sls", "base: {'*': []}\n")])?;
    let remote = format!("main {}", pillar.url());
    let update = || shown(&ours, &["git_pillar.update"]);
    ensure!(update()?.0 == json!({ &remote: false }));
    let (cleared, _) = shown(&ours, &["cache.clear_git_lock", "git_pillar"])?;
    let words = cleared["cleared"][0].as_str().unwrap_or_default();
    ensure!(
        words.starts_with("Removed update lock for git_pillar"),
        "{cleared}"
    );
    ensure!(update()?.0 == json!({ &remote: true }));
    let none = ours
        .tools(Kind::Ours)
        .runner(&["git_pillar.update", "repo=none"])?;
    ensure!(none.code == 1, "{none}");
    Ok(())
}
