//! Pillars from repositories (`ext_pillar: - git`).

use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master, START, until};
use serde_json::{Value, json};

/// A bare repository with a work tree beside it.
struct Repository {
    bare: PathBuf,
    work: PathBuf,
}

impl Repository {
    fn new(dir: &Path) -> Result<Self> {
        let (bare, work) = (dir.join("bare.git"), dir.join("work"));
        fs::create_dir_all(&work)?;
        git(dir, &["init", "-q", "--bare", "-b", "main", "bare.git"])?;
        git(&work, &["init", "-q", "-b", "main"])?;
        let address = bare.display().to_string();
        git(&work, &["remote", "add", "origin", &address])?;
        Ok(Self { bare, work })
    }

    /// Puts files on a branch, and gives it to everybody.
    fn commit(&self, branch: &str, files: &[(&str, &str)]) -> Result<()> {
        git(&self.work, &["checkout", "-q", "-B", branch])?;
        for (path, text) in files {
            let path = self.work.join(path);
            fs::create_dir_all(path.parent().context("a file is in a directory")?)?;
            fs::write(path, text)?;
        }
        git(&self.work, &["add", "."])?;
        git(&self.work, &["commit", "-q", "--allow-empty", "-m", "x"])?;
        git(&self.work, &["push", "-q", "--force", "origin", branch])
    }

    fn url(&self) -> String {
        format!("file://{}", self.bare.display())
    }
}

fn git(dir: &Path, args: &[&str]) -> Result<()> {
    let own = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
    let mut git = Command::new("git");
    git.current_dir(dir).args(own).args(args);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    ensure!(git.status()?.success(), "git {args:?}");
    Ok(())
}

/// What the runner says of each remote.
fn update(master: &Master, args: &[&str]) -> Result<Value> {
    let mut words = vec!["git_pillar.update", "--out=json"];
    words.extend(args);
    master.tools(Kind::Ours).runner(&words)?.json()
}

/// The pillar of the minion, compiled now.
fn pillar(master: &Master, args: &[&str]) -> Result<Value> {
    let mut words = vec!["pillar.show_pillar", "web1", "--out=json"];
    words.extend(args);
    master.tools(Kind::Ours).runner(&words)?.json()
}

#[test]
fn a_pillar_follows_its_repository() -> Result<()> {
    let fleet = Fleet::new("gitpillar")?;
    let (first, second) = (fleet.path().join("first"), fleet.path().join("second"));
    let repository = Repository::new(&first)?;
    let top = "base: {'*': [site, web.server.port]}";
    let map = "{% from 'site/map.jinja' import name with context %}\nvalue: one\nname: {{ name }}";
    let jinja = "{% set name = opts.id %}";
    let files = [
        ("top.sls", top),
        ("site/init.sls", map),
        ("site/map.jinja", jinja),
    ];
    repository.commit("main", &files)?;
    let dev = [
        ("top.sls", "dev: {'*': [site]}"),
        ("site/init.sls", "value: dev"),
    ];
    repository.commit("dev", &dev)?;
    git(&repository.work, &["checkout", "-q", "main"])?;
    let mounted = Repository::new(&second)?;
    mounted.commit("main", &[("pillar/port.sls", "port: 80")])?;
    let (url, other) = (repository.url(), mounted.url());
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("git_pillar_base", "main")
        .set("git_pillar_update_interval", 3600)
        .set(
            "ext_pillar",
            json!([{ "git": [
                format!("__env__ {url}"),
                { format!("main {other}"): [
                    { "name": "ports" },
                    { "root": "pillar" },
                    { "mountpoint": "web/server" },
                ]},
            ]}]),
        )
        .start()?;
    let _web1 = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    let base = |value: &str| json!({ "value": value, "name": "web1", "port": 80 });
    assert_eq!(pillar(&master, &[])?, base("one"));
    assert_eq!(
        pillar(&master, &["pillarenv=dev"])?,
        json!({ "value": "dev" })
    );

    repository.commit("main", &[("site/init.sls", &map.replace("one", "two"))])?;
    assert_eq!(pillar(&master, &[])?, base("one"), "nobody has fetched it");
    let (own, ports) = (format!("__env__ {url}"), format!("main {other}"));
    assert_eq!(update(&master, &[])?, json!({ &own: true, &ports: null }));
    assert_eq!(update(&master, &["repo=ports"])?, json!({ &ports: null }));
    assert_eq!(update(&master, &["branch=__env__"])?, json!({ &own: null }));
    let refreshed = master.returns(&["web1", "saltutil.refresh_pillar", "wait=True"])?;
    ensure!(refreshed.get("web1") == Some(&json!(true)), "{refreshed:?}");
    let got = master.returns(&["web1", "pillar.raw", "value"])?;
    ensure!(got.get("web1") == Some(&json!("two")), "{got:?}");

    let none = master
        .tools(Kind::Ours)
        .runner(&["git_pillar.update", "repo=none"])?;
    let why = "Specified git branch/repo not found in ext_pillar config";
    ensure!(none.stdout.contains(why), "{}", none.stdout);
    let lock = master.dir().join("cache/git_pillar/work/ports/_/update.lk");
    fs::write(&lock, "1\nanother machine\n")?;
    let clear = || -> Result<Value> {
        let words = [
            "cache.clear_git_lock",
            "git_pillar",
            "remote=*second*",
            "--out=json",
        ];
        master.tools(Kind::Ours).runner(&words)?.json()
    };
    let cleared = clear()?.to_string();
    let removed = format!("Removed update lock for git_pillar remote '{ports}' on machine_id");
    ensure!(cleared.contains(&removed) && !lock.exists(), "{cleared}");
    assert_eq!(clear()?, json!("No locks were removed"));
    fs::rename(&mounted.bare, second.join("away"))?;
    assert_eq!(update(&master, &[])?, json!({ &own: null, &ports: false }));
    assert_eq!(pillar(&master, &[])?, base("two"), "what was fetched stays");
    Ok(())
}

#[test]
fn a_remote_that_was_never_there_holds_up_nobody_and_is_named() -> Result<()> {
    let fleet = Fleet::new("gitpillarbad")?;
    let repository = Repository::new(&fleet.path().join("good"))?;
    let files = [
        ("top.sls", "base: {'*': [site]}"),
        ("site.sls", "value: one"),
    ];
    repository.commit("main", &files)?;
    let none = format!("file://{}", fleet.path().join("none").display());
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("git_pillar_base", "main")
        .set(
            "ext_pillar",
            json!([{ "git": [format!("main {none}"), format!("main {}", repository.url())] }]),
        )
        .start()?;
    let _web1 = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    let pillar = pillar(&master, &[])?;
    ensure!(pillar["value"] == json!("one"), "{pillar}");
    let errors = pillar["_errors"].to_string();
    let named = format!("Failed to load ext_pillar git: main {none}: it was never fetched");
    ensure!(errors.contains(&named), "{errors}");
    Ok(())
}

/// What the log of a young master says when a pillar begins to wait for a first fetch.
const WAITS: &str = "s for its first fetch";

/// What it says when the first pillar no longer waits for it.
const GIVES_UP: &str = "its first fetch is not complete";

#[test]
fn a_first_fetch_that_hangs_is_waited_for_with_words_and_holds_up_no_command() -> Result<()> {
    let fleet = Fleet::new("gitpillarhangs")?;
    let repository = Repository::new(&fleet.path().join("good"))?;
    let files = [
        ("top.sls", "base: {'*': [site]}"),
        ("site.sls", "value: one"),
    ];
    repository.commit("main", &files)?;
    // It takes whoever comes and says nothing.
    let hanging = TcpListener::bind("127.0.0.1:0")?;
    let hangs = format!("main git://{}/x.git", hanging.local_addr()?);
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("git_pillar_base", "main")
        .set(
            "ext_pillar",
            json!([{ "git": [hangs, format!("main {}", repository.url())] }]),
        )
        .start()?;
    let said = master.dir().join("log");
    let says = |words: &str| Ok::<_, io::Error>(fs::read_to_string(&said)?.matches(words).count());
    let _web1 = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    until("a pillar to wait", START, || {
        Ok((says(WAITS)? > 0).then_some(()))
    })?;
    // The minion itself takes commands when it has its pillar, as in Salt.
    let sent = master.salt(&["--async", "web1", "test.ping"])?.ok()?;
    ensure!(sent.stdout.contains("job ID"), "{}", sent.stdout);
    ensure!(says(GIVES_UP)? == 0, "the command was held up");
    let pillar = pillar(&master, &[])?;
    ensure!(pillar["value"] == json!("one"), "{pillar}");
    let errors = pillar["_errors"].to_string();
    let named = format!("Failed to load ext_pillar git: {hangs}: it is not fetched yet, ");
    ensure!(errors.contains(&named), "{errors}");
    master.wait_minion("web1")?;
    master.check_ping(&["web1"])?;
    let got = until("the minion's pillar", START, || {
        let got = master.returns(&["web1", "pillar.raw", "_errors"])?;
        let got = got.get("web1").map(Value::to_string).unwrap_or_default();
        Ok(got.contains(&named).then_some(got))
    })?;
    ensure!(got.contains(" s ago"), "{got}");
    for words in [WAITS, GIVES_UP] {
        ensure!(says(words)? == 1, "{words}: {}", fs::read_to_string(&said)?);
    }
    Ok(())
}
