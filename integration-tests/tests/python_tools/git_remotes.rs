//! The same git remotes served by a master of real Salt and by ours: the cases
//! that Salt's own tests of gitfs and git_pillar name, and one cache for both.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master, START, until};
use serde_json::{Map, Value, json};

use super::git_cases::all_cases;

/// What Salt serves of the remotes in the master's file, with a cache beside
/// that master's, or with the same one.
pub(super) const SERVE: &str = r#"
import json, os, sys
import salt.config, salt.fileserver
opts = salt.config.master_config(sys.argv[1])
opts["gitfs_provider"] = "gitpython"
if "CACHE":
    opts["cachedir"] = "CACHE"
served = salt.fileserver.Fileserver(opts)
served.update()
found = {"envs": sorted(served.envs()), "of": {}}
for env in found["envs"] + ["nowhere"]:
    load = {"saltenv": env, "prefix": ""}
    files = sorted(served.file_list(dict(load)))
    hashes = {}
    for path in files:
        hashed = served.file_hash({"path": path, "saltenv": env})
        hashes[path] = hashed.get("hsum") if hashed else None
    found["of"][env] = {
        "files": files,
        "dirs": sorted(served.dir_list(dict(load))),
        "links": served.symlink_list(dict(load)),
        "hashes": hashes,
    }
# Salt gives a hash that it has noted before as bytes.
print(json.dumps(found, default=lambda value: value.decode()))
"#;

/// The pillar that Salt compiles from the remotes in the master's file.
pub(super) const COMPILE: &str = r#"
import json, sys
import salt.config, salt.pillar
opts = salt.config.master_config(sys.argv[1])
opts["git_pillar_provider"] = "gitpython"
opts["cachedir"] = "CACHE"
compiled = {}
for env in (None, "dev"):
    pillar = salt.pillar.Pillar(opts, {"id": "MINION"}, "MINION", "base", pillarenv=env)
    compiled[str(env)] = pillar.compile_pillar()
print(json.dumps(compiled))
"#;

/// A repository with branches, tags, links and names of all kinds.
pub(super) struct Tree(PathBuf);

impl Tree {
    pub(super) fn new(dir: &Path) -> Result<Self> {
        fs::create_dir_all(dir)?;
        let this = Self(dir.to_owned());
        this.git(&["init", "-q", "-b", "main"])?;
        Ok(this)
    }

    pub(super) fn git(&self, words: &[&str]) -> Result<String> {
        let output = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@t"])
            .args(words)
            .current_dir(&self.0)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()?;
        ensure!(output.status.success(), "git {words:?}: {output:?}");
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }

    pub(super) fn commit(&self, files: &[(&str, &str)]) -> Result<()> {
        for (path, text) in files {
            let path = self.0.join(path);
            fs::create_dir_all(path.parent().context("it is in a directory")?)?;
            fs::write(path, text)?;
        }
        self.git(&["add", "-A"])?;
        self.git(&["commit", "-q", "-m", "x"]).map(drop)
    }

    /// The tree of most cases.
    fn states(dir: &Path) -> Result<Self> {
        let this = Self::new(dir)?;
        let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, dir.join(name));
        this.commit(&[
            ("top.sls", "base: {}\n"),
            ("testfile", "This is a test file\n"),
            ("grail/scene33", "Knight: They're nervous, sire.\n"),
            ("grail/swallow/african.sls", "speed: 24\n"),
            ("with space/päth ж.txt", "unicode\n"),
            ("соль/foo.txt", "of a directory\n"),
            ("empty", ""),
        ])?;
        link("testfile", "link")?;
        link("grail", "dirlink")?;
        link("../testfile", "grail/up")?;
        link("nowhere", "dangling")?;
        this.commit(&[])?;
        this.git(&["tag", "v1"])?;
        this.git(&["checkout", "-q", "-b", "mybranch"])?;
        this.commit(&[("testfile", "of a branch\n"), ("grail/only", "here\n")])?;
        this.git(&["tag", "-m", "x", "annotated"])?;
        this.git(&["checkout", "-q", "main"])?;
        this.git(&["branch", "соль"])?;
        this.commit(&[("after", "the tag\n")])?;
        Ok(this)
    }

    pub(super) fn url(&self) -> String {
        format!("file://{}", self.0.display())
    }
}

/// What our master serves, in the shape of [`SERVE`].
pub(super) fn ours(master: &Master, id: &str) -> Result<Value> {
    let run = |words: &[&str]| -> Result<Value> {
        let words = [words, &["--out=json"]].concat();
        master.tools(Kind::Ours).runner(&words)?.ok()?.json()
    };
    let sorted = |value: Value| {
        let mut items: Vec<String> = serde_json::from_value(value).unwrap_or_default();
        items.sort_unstable();
        items
    };
    run(&["fileserver.update"])?;
    let envs = sorted(run(&["fileserver.envs"])?);
    let mut of = Map::new();
    for env in envs.iter().map(String::as_str).chain(["nowhere"]) {
        let saltenv = format!("saltenv={env}");
        let list = |name: &str| run(&[&format!("fileserver.{name}"), &saltenv]);
        let files = sorted(list("file_list")?);
        let mut hashes = Map::new();
        for path in &files {
            let url = format!("salt://{path}");
            let hashed = master.returns(&[id, "cp.hash_file", &url, &saltenv])?;
            let hashed = &hashed[id]["hsum"];
            hashes.insert(path.clone(), hashed.clone());
        }
        let seen = json!({
            "files": files,
            "dirs": sorted(list("dir_list")?),
            "links": list("symlink_list")?,
            "hashes": hashes,
        });
        of.insert(env.to_owned(), seen);
    }
    Ok(json!({ "envs": envs, "of": of }))
}

pub(super) fn salts(master: &Master, script: &str, cache: &str) -> Result<Value> {
    let script = script.replace("CACHE", cache);
    let output = master.tools(Kind::Salt3008).python(&script)?.ok()?;
    let last = output.stdout.lines().last().context("no output")?;
    serde_json::from_str(last).with_context(|| output.to_string())
}

/// Salt lists the files of an environment that `fallback` stands in for, and not
/// its links. Ours go together.
const LINKS_OF_FALLBACK: (&str, &str, &str) = ("fallback", "nowhere", "links");

#[test]
fn remotes_are_served_as_salt_serves_them() -> Result<()> {
    let fleet = Fleet::new("gitalike")?;
    let tree = Tree::states(&fleet.path().join("states"))?;
    let other = Tree::new(&fleet.path().join("other"))?;
    other.commit(&[("testfile", "of another\n"), ("grail/more", "x\n")])?;
    other.git(&["branch", "mybranch"])?;
    other.git(&["branch", "own"])?;
    let commit = tree.git(&["rev-parse", "v1"])?;
    let mut unlike = Vec::new();
    let cases = all_cases(&tree.url(), &other.url(), &commit);
    for (nth, (name, options)) in cases.into_iter().enumerate() {
        let mut plan = fleet
            .master(&format!("m{nth}"), Kind::Ours)
            .auto_accept()
            .set("fileserver_backend", json!(["gitfs"]))
            .set("gitfs_base", "main");
        for (option, value) in options.as_object().context("options are a map")? {
            plan = plan.set(option, value.clone());
        }
        let master = plan.start()?;
        let id = format!("web{nth}");
        let _minion = fleet.minion(&id, Kind::Ours).of(&master).start()?;
        master.wait_minion(&id)?;
        let cache = master.dir().join("of-salt").display().to_string();
        let (theirs, own) = (salts(&master, SERVE, &cache)?, ours(&master, &id)?);
        ensure!(
            theirs["envs"] != json!([]),
            "{name}: Salt serves nothing: {theirs}"
        );
        if theirs["envs"] != own["envs"] {
            unlike.push(format!(
                "{name}: envs: {} in Salt, {} here",
                theirs["envs"], own["envs"]
            ));
        }
        for (env, expected) in theirs["of"].as_object().context("a map")? {
            for (what, expected) in expected.as_object().context("a map")? {
                let here = &own["of"][env][what];
                if (name, env.as_str(), what.as_str()) == LINKS_OF_FALLBACK {
                    ensure!(*expected == json!({}), "Salt lists them now: {expected}");
                    ensure!(here["link"] == json!("testfile"), "{here}");
                } else if here != expected {
                    unlike.push(format!(
                        "{name}: {what} of {env}: {expected} in Salt, {here} here"
                    ));
                }
            }
        }
    }
    ensure!(unlike.is_empty(), "{}", unlike.join("\n"));
    Ok(())
}

#[test]
fn pillars_of_remotes_are_those_of_salt() -> Result<()> {
    let fleet = Fleet::new("gitpillaralike")?;
    let tree = Tree::new(&fleet.path().join("pillar"))?;
    tree.commit(&[
        (
            "top.sls",
            "base: {'*': [site, web.server.port]}\ndev: {'*': [site]}\n",
        ),
        ("site.sls", "value: base\nlist: [1, 2]\nmap: {a: 1}\n"),
    ])?;
    tree.git(&["checkout", "-q", "-b", "dev"])?;
    tree.commit(&[("site.sls", "value: dev\n")])?;
    tree.git(&["checkout", "-q", "main"])?;
    let mounted = Tree::new(&fleet.path().join("mounted"))?;
    mounted.commit(&[("pillar/port.sls", "port: 80\n")])?;
    let second = Tree::new(&fleet.path().join("second"))?;
    second.commit(&[
        ("top.sls", "base: {'*': [more]}\n"),
        ("more.sls", "value: second\nmap: {b: 2}\nlist: [3]\n"),
    ])?;
    let entries = [
        json!([{ "git": [
            format!("__env__ {}", tree.url()),
            { format!("main {}", mounted.url()): [{ "root": "pillar" }, { "mountpoint": "web/server" }] },
        ]}]),
        json!([{ "git": [
            format!("main {}", tree.url()),
            format!("main {}", second.url()),
            { format!("main {}", mounted.url()): [{ "root": "pillar" }, { "mountpoint": "web/server" }] },
        ]}]),
        json!([
            { "git": [{ format!("dev {}", tree.url()): [{ "env": "base" }] }] },
            { "git": [format!("main {}", second.url())] },
        ]),
        json!([{ "git": [{ format!("__env__ {}", second.url()): [{ "fallback": "main" }] }] }]),
    ];
    for (nth, entry) in entries.into_iter().enumerate() {
        let master = fleet
            .master(&format!("m{nth}"), Kind::Ours)
            .auto_accept()
            .set("git_pillar_base", "main")
            .set("ext_pillar", entry.clone())
            .start()?;
        let id = format!("web{nth}");
        let _minion = fleet.minion(&id, Kind::Ours).of(&master).start()?;
        master.wait_minion(&id)?;
        let cache = master.dir().join("of-salt").display().to_string();
        let theirs = salts(&master, &COMPILE.replace("MINION", &id), &cache)?;
        for (env, args) in [("None", &[][..]), ("dev", &["pillarenv=dev"])] {
            let words = [&["pillar.show_pillar", &id, "--out=json"], args].concat();
            let own = master.tools(Kind::Ours).runner(&words)?.ok()?.json()?;
            ensure!(
                own == theirs[env],
                "{entry} {env}: {} in Salt, {own} here",
                theirs[env]
            );
        }
    }
    Ok(())
}

#[test]
fn one_cache_serves_our_master_and_salts() -> Result<()> {
    let fleet = Fleet::new("gitcache")?;
    let tree = Tree::new(&fleet.path().join("states"))?;
    tree.commit(&[("testfile", "0\n")])?;
    let master = fleet
        .master("m1", Kind::Ours)
        .set("fileserver_backend", json!(["gitfs"]))
        .set("gitfs_base", "main")
        .set("gitfs_update_interval", 1)
        .set("gitfs_remotes", json!([tree.url()]))
        .start()?;
    let status = || -> Result<Value> {
        let words = ["fileserver.status", "--out=json"];
        let status = master.tools(Kind::Ours).runner(&words)?.ok()?.json()?;
        Ok(status[tree.url()].clone())
    };
    let dir = status()?["dir"].as_str().unwrap_or_default().to_owned();
    let lock = master
        .dir()
        .join("cache/gitfs/work")
        .join(dir)
        .join("_/update.lk");
    // Salt empties a cache that it has not used before, and fetches nothing while ours
    // holds the lock. From its first fetch on it has something to serve.
    until("Salt's first fetch", START, || {
        let theirs = salts(&master, SERVE, "")?;
        Ok((theirs["envs"] == json!(["base"])).then_some(()))
    })?;
    for round in 1..=5 {
        let text = format!("{round}\n");
        tree.commit(&[("testfile", &text)])?;
        let head = tree.git(&["rev-parse", "HEAD"])?;
        // Ours updates each second meanwhile.
        let theirs = salts(&master, SERVE, "")?;
        master
            .tools(Kind::Ours)
            .runner(&["fileserver.update"])?
            .ok()?;
        ensure!(
            theirs["of"]["base"]["files"] == json!(["testfile"]),
            "{theirs}"
        );
        ensure!(status()?["envs"]["base"] == json!(head), "{}", status()?);
    }
    // What a master that is gone has left stops neither of them.
    let (pid, machine) = (
        i32::MAX,
        fs::read_to_string("/etc/machine-id").unwrap_or_default(),
    );
    fs::write(&lock, format!("{pid}\n{}\n", machine.trim()))?;
    tree.commit(&[("testfile", "last\n")])?;
    let head = tree.git(&["rev-parse", "HEAD"])?;
    master
        .tools(Kind::Ours)
        .runner(&["fileserver.update"])?
        .ok()?;
    ensure!(status()?["envs"]["base"] == json!(head), "{}", status()?);
    salts(&master, SERVE, "").map(drop)
}
