//! `pillar.ext` with `git`: what a minion may request from the master's
//! repositories.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use halite_fileserver::{FileServer, RootsOptions};
use halite_pillar::{Compiler, GitPillars, MasterlessContext, Request};
use halite_proto::{Map, Value};
use tempfile::TempDir;

/// A master with a repository that its options name, and one that they do not.
struct Tried(TempDir);

impl Tried {
    /// `None` where there is no git.
    fn new() -> Option<Self> {
        let have = halite_test_support::have_programs(&["git"]);
        let this = have.then(|| Self(tempfile::tempdir().unwrap()))?;
        for name in ["named", "other"] {
            let dir = this.path(name);
            fs::create_dir_all(dir.join("deep")).unwrap();
            git(&dir, &["init", "-q", "-b", "main"]);
            for (branch, value) in [("dev", "of-dev"), ("main", "of-main")] {
                let top = "base: {'*': [x]}\n";
                fs::write(dir.join("top.sls"), top).unwrap();
                fs::write(dir.join("x.sls"), format!("{branch}: {name}-{value}\n")).unwrap();
                fs::write(dir.join("deep/top.sls"), top).unwrap();
                fs::write(dir.join("deep/x.sls"), "deep: 1\n").unwrap();
                git(&dir, &["add", "-A"]);
                git(&dir, &["commit", "-q", "-m", "x"]);
                if branch != "main" {
                    git(&dir, &["branch", branch]);
                }
            }
        }
        Some(this)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn url(&self, name: &str) -> String {
        format!("file://{}", self.path(name).display())
    }

    /// The pillar of a minion that asks for this.
    fn compile(&self, asked: Value, allowed: &str) -> Map {
        let entry = Map::from([("git", Value::from(format!("main {}", self.url("named"))))]);
        let opts = Map::from([
            ("renderer", Value::from("jinja|yaml")),
            ("pillar_roots", Map::new().into()),
            ("git_pillar_base", "main".into()),
            ("ext_pillar", Value::List(vec![entry.into()])),
            ("on_demand_ext_pillar", Value::List(vec![allowed.into()])),
        ]);
        let git = Arc::new(GitPillars::open(&opts, &self.path("cache")).unwrap());
        for remote in git.all() {
            remote.update(&Arc::default()).unwrap();
        }
        let compiler = Compiler::new(&opts).unwrap().with_repositories(git);
        let files = Arc::new(FileServer::from_roots(RootsOptions::default()).unwrap());
        let base = MasterlessContext::new(opts, halite_core_modules::registry(), files);
        let request = Request {
            id: "web1".to_owned(),
            ext: Some(Map::from([("git", asked)]).into()),
            ..Request::default()
        };
        halite_pillar::compile(&compiler, &request, &base)
    }
}

fn git(dir: &Path, words: &[&str]) {
    let ended = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@t"])
        .args(words)
        .current_dir(dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .status();
    assert!(ended.unwrap().success(), "git {words:?}");
}

/// An entry for a remote with options of its own.
fn remote(entry: String, options: &[(&str, &str)]) -> Value {
    let options = options
        .iter()
        .map(|(name, value)| Map::from([(*name, *value)]).into());
    let own = Map::from([(entry, Value::List(options.collect()))]);
    Value::List(vec![own.into()])
}

fn text<'p>(pillar: &'p Map, name: &str) -> Option<&'p str> {
    pillar.get(name).and_then(Value::as_str)
}

#[test]
fn a_minion_gets_another_branch_of_a_repository_that_the_master_names() {
    let Some(tried) = Tried::new() else { return };
    let dev = format!("dev {}", tried.url("named"));
    let pillar = tried.compile(remote(dev.clone(), &[("env", "base")]), "git");
    assert_eq!(text(&pillar, "main"), Some("named-of-main"), "{pillar:?}");
    assert_eq!(text(&pillar, "dev"), Some("named-of-dev"), "{pillar:?}");
    assert_eq!(pillar.get("_errors"), None);
    let below = [("env", "base"), ("root", "deep")];
    let pillar = tried.compile(remote(dev.clone(), &below), "git");
    assert_eq!(pillar.get("deep"), Some(&1.into()), "{pillar:?}");
    assert_eq!(text(&pillar, "dev"), None);
    // Only where the master allows it.
    let pillar = tried.compile(remote(dev, &[("env", "base")]), "libvirt");
    assert_eq!(text(&pillar, "main"), Some("named-of-main"));
    assert_eq!(text(&pillar, "dev"), None);
}

#[test]
fn a_minion_gets_no_other_repository_and_no_commit() {
    let Some(tried) = Tried::new() else { return };
    let other = format!("main {}", tried.url("other"));
    let pillar = tried.compile(remote(other, &[("env", "base")]), "git");
    assert!(
        !format!("{pillar:?}").contains("other-of-main"),
        "{pillar:?}"
    );
    assert!(pillar.get("_errors").is_some(), "{pillar:?}");
    let cached = fs::read_dir(tried.path("cache/git_pillar")).unwrap();
    // The named one, and `work` with its lock.
    assert_eq!(cached.count(), 2);
    let head = Command::new("git")
        .args(["rev-parse", "dev"])
        .current_dir(tried.path("named"))
        .output();
    let head = String::from_utf8(head.unwrap().stdout).unwrap();
    let commit = format!("{} {}", head.trim(), tried.url("named"));
    let pillar = tried.compile(remote(commit, &[("env", "base")]), "git");
    assert_eq!(text(&pillar, "dev"), None, "{pillar:?}");
    let odd = format!("dev {}", tried.url("named"));
    let pillar = tried.compile(remote(odd, &[("rot", "x")]), "git");
    assert!(
        format!("{pillar:?}").contains("no remote has this option"),
        "{pillar:?}"
    );
}
