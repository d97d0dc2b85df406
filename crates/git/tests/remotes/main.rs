//! Remotes made by the git program, fetched and read.
#![allow(clippy::unwrap_used, reason = "tests")]

mod hard;
mod hostile;
mod interrupted;
mod real;
mod servers;
mod signatures;
mod unused;
mod updates;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use halite_git::{Commit, GitError, Limits, Remote, Repository, Updated};
use halite_proto::{Map, Value};
use tempfile::TempDir;

/// A repository that others push to, and the directory for its copy.
struct Tried {
    dir: TempDir,
}

impl Tried {
    /// `None` where there is no git.
    fn new() -> Option<Self> {
        if !halite_test_support::have_programs(&["git"]) {
            return None;
        }
        let this = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(this.work()).unwrap();
        this.git(&["init", "-q", "-b", "master"]);
        Some(this)
    }

    fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    fn cache(&self) -> PathBuf {
        self.dir.path().join("cache")
    }

    /// Runs git where the commits are made; what it wrote.
    fn git(&self, words: &[&str]) -> String {
        self.git_with(words, b"")
    }

    fn git_with(&self, words: &[&str], input: &[u8]) -> String {
        use std::io::Write;

        let mut git = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@t"])
            .args(words)
            .current_dir(self.work())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        git.stdin.take().unwrap().write_all(input).unwrap();
        let ended = git.wait_with_output().unwrap();
        assert!(ended.status.success(), "git {words:?}");
        String::from_utf8(ended.stdout).unwrap().trim().to_owned()
    }

    fn commit(&self, path: &str, text: impl AsRef<[u8]>) {
        let file = self.work().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "x"]);
    }

    fn repository(&self) -> Repository {
        let url = format!("file://{}", self.work().display());
        repository(&self.cache(), &url, Map::new())
    }
}

fn repository(cache: &Path, url: &str, own: Map) -> Repository {
    let mut opts = own;
    opts.insert("gitfs_remotes", Value::List(vec![url.into()]));
    let remote = Remote::gitfs(&opts).unwrap().remove(0);
    Repository::new(cache, remote, true)
}

fn update(repository: &Repository) -> Result<Updated, GitError> {
    repository.update(&Arc::new(AtomicBool::new(false)))
}

fn commit(repository: &Repository, saltenv: &str) -> Option<Commit> {
    let snapshot = repository.snapshot().unwrap()?;
    snapshot.commit(repository.remote(), saltenv).unwrap()
}

fn read(commit: &Commit, path: &str) -> Option<String> {
    let file = commit.tree.find(path).unwrap()?;
    let content = commit.tree.content(&file).unwrap();
    let bytes = content.read_at(0, 1 << 20).unwrap();
    Some(String::from_utf8(bytes).unwrap())
}

fn quick() -> Limits {
    Limits {
        idle: Duration::from_secs(2),
        ..Limits::default()
    }
}
