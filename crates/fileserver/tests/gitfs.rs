//! Files of commits, requested as minions do.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use halite_crypto::{HashType, hash_hex};
use halite_fileserver::{
    Backends, FileServer, FileServerOptions, GitfsOptions, RootsOptions, UpdateWish,
};
use halite_proto::{Map, SaltEnv, Value};
use tempfile::TempDir;

/// Repositories that the git program makes.
struct Tried(TempDir);

impl Tried {
    /// `None` where there is no git.
    fn new() -> Option<Self> {
        let have = halite_test_support::have_programs(&["git"]);
        have.then(|| Self(tempfile::tempdir().unwrap()))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn git(&self, repository: &str, words: &[&str]) {
        let dir = self.path(repository);
        fs::create_dir_all(&dir).unwrap();
        let ended = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@t"])
            .args(words)
            .current_dir(dir)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .status();
        assert!(ended.unwrap().success(), "git {words:?}");
    }

    fn commit(&self, repository: &str, files: &[(&str, &str)]) {
        if !self.path(repository).exists() {
            self.git(repository, &["init", "-q", "-b", "master"]);
        }
        for (path, text) in files {
            let path = self.path(repository).join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        self.git(repository, &["add", "-A"]);
        self.git(repository, &["commit", "-q", "--allow-empty", "-m", "x"]);
    }

    fn url(&self, repository: &str) -> String {
        format!("file://{}", self.path(repository).display())
    }

    /// What serves these remotes, behind the directory `roots`.
    fn server(&self, remotes: Vec<Value>, options: &[(&str, Value)]) -> FileServer {
        let mut opts = Map::new();
        opts.insert("cachedir", self.path("cache").display().to_string());
        opts.insert("gitfs_remotes", Value::List(remotes));
        for (name, value) in options {
            opts.insert(*name, value.clone());
        }
        let gitfs = GitfsOptions::from_opts(&opts, HashType::Sha256).unwrap();
        let options = FileServerOptions {
            backends: vec!["gitfs".to_owned()],
            gitfs,
            ..FileServerOptions::default()
        };
        FileServer::open(&options).unwrap()
    }
}

fn own(url: &str, options: &[(&str, Value)]) -> Value {
    let options = options
        .iter()
        .map(|(name, value)| Map::from([(*name, value.clone())]).into());
    Map::from([(url, Value::List(options.collect()))]).into()
}

fn text(files: &FileServer, env: &str, path: &str) -> Option<String> {
    let env = SaltEnv::parse(env).unwrap();
    let found = files.find(path, &env)?;
    Some(String::from_utf8(found.read_whole().unwrap()).unwrap())
}

fn listed(files: &FileServer, env: &str) -> Vec<String> {
    let env = SaltEnv::parse(env).unwrap();
    files.lists(&env, &Backends::All).files.clone()
}

fn update(files: &FileServer) -> Option<bool> {
    let mut updated = files.update(&Backends::All, &UpdateWish::default());
    updated.remove(0).changes.unwrap().is_different
}

#[test]
fn branches_are_environments_and_a_new_commit_is_served_after_an_update() {
    let Some(tried) = Tried::new() else { return };
    tried.commit("one", &[("top.sls", "1"), ("a/b.sls", "2")]);
    tried.git("one", &["branch", "dev"]);
    tried.git("one", &["branch", "feature/x"]);
    let files = tried.server(vec![tried.url("one").into()], &[]);
    assert!(files.envs(&Backends::All).is_empty(), "never fetched");
    assert!(text(&files, "base", "top.sls").is_none());
    assert_eq!(update(&files), Some(true));
    assert_eq!(files.envs(&Backends::All), ["base", "dev"]);
    assert_eq!(text(&files, "base", "a/b.sls").as_deref(), Some("2"));
    assert_eq!(text(&files, "dev", "top.sls").as_deref(), Some("1"));
    assert_eq!(text(&files, "master", "top.sls"), None);
    assert_eq!(update(&files), Some(false));
    tried.commit("one", &[("top.sls", "changed"), ("new", "3")]);
    assert_eq!(text(&files, "base", "top.sls").as_deref(), Some("1"));
    assert_eq!(update(&files), Some(true));
    assert_eq!(text(&files, "base", "top.sls").as_deref(), Some("changed"));
    assert_eq!(text(&files, "dev", "top.sls").as_deref(), Some("1"));
    assert_eq!(listed(&files, "base"), ["a/b.sls", "new", "top.sls"]);
    let base = SaltEnv::base();
    let lists = files.lists(&base, &Backends::All);
    assert_eq!(lists.dirs, ["a"]);
    assert!(lists.empty_dirs.is_empty());
    let hash = files.hash("top.sls", &base).unwrap().unwrap();
    assert_eq!(hash.hsum, hash_hex(HashType::Sha256, b"changed"));
    let found = files.find("top.sls", &base).unwrap();
    // As Salt has it: nothing but the mode.
    let expected = Value::List(vec![0o100_644.into()]);
    assert_eq!(Value::from(found.stat), expected);
    let copy = Path::new("cache/gitfs/refs/base/top.sls");
    assert!(found.path.ends_with(copy), "{}", found.path.display());
    let chunk = files.serve("top.sls", &base, 3, None).unwrap().unwrap();
    assert_eq!(chunk.data, b"nged");
}

#[test]
fn mount_points_and_roots_are_those_of_the_remote_or_of_the_environment() {
    let Some(tried) = Tried::new() else { return };
    tried.commit("one", &[("s/x", "1"), ("other", "2"), ("t/x", "3")]);
    std::os::unix::fs::symlink("../other", tried.path("one").join("s/out")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", tried.path("one").join("s/away")).unwrap();
    tried.commit("one", &[]);
    tried.git("one", &["branch", "dev"]);
    let dev = Map::from([("root", "t"), ("mountpoint", "d")]);
    let one = own(
        &tried.url("one"),
        &[
            ("root", "s".into()),
            ("mountpoint", "salt://m/n".into()),
            ("saltenv", Map::from([("dev", Value::from(dev))]).into()),
        ],
    );
    let files = tried.server(vec![one], &[]);
    update(&files);
    assert_eq!(listed(&files, "base"), ["m/n/away", "m/n/out", "m/n/x"]);
    assert_eq!(listed(&files, "dev"), ["d/x"]);
    let lists = files.lists(&SaltEnv::base(), &Backends::All);
    assert_eq!(lists.dirs, ["m/n"]);
    let links = [("m/n/away", "/etc/passwd"), ("m/n/out", "../other")];
    assert_eq!(
        lists.links,
        links.map(|(a, b)| (a.to_owned(), b.to_owned()))
    );
    assert_eq!(text(&files, "base", "m/n/x").as_deref(), Some("1"));
    assert_eq!(text(&files, "base", "m/n/out").as_deref(), Some("2"));
    assert_eq!(text(&files, "dev", "d/x").as_deref(), Some("3"));
    for none in ["x", "m/x", "m/nx", "m/n/s/x", "m/n/away", "m/n/../../other"] {
        assert_eq!(text(&files, "base", none), None, "{none}");
    }
}

#[test]
fn the_first_remote_that_has_a_file_answers_and_a_fallback_stands_in() {
    let Some(tried) = Tried::new() else { return };
    tried.commit("one", &[("both", "one")]);
    tried.commit("two", &[("both", "two"), ("only", "two")]);
    tried.git("one", &["branch", "dev"]);
    let two = own(&tried.url("two"), &[("fallback", "master".into())]);
    let files = tried.server(vec![tried.url("one").into(), two], &[]);
    update(&files);
    assert_eq!(text(&files, "base", "both").as_deref(), Some("one"));
    assert_eq!(text(&files, "base", "only").as_deref(), Some("two"));
    assert_eq!(listed(&files, "base"), ["both", "only"]);
    assert_eq!(text(&files, "dev", "both").as_deref(), Some("one"));
    assert_eq!(text(&files, "dev", "only").as_deref(), Some("two"));
    assert_eq!(text(&files, "none", "both").as_deref(), Some("two"));
    assert_eq!(files.envs(&Backends::All), ["base", "dev"]);
}

#[test]
fn of_git_and_directories_the_one_that_is_named_first_answers() {
    let Some(tried) = Tried::new() else { return };
    tried.commit(
        "one",
        &[("both", "git"), ("git", "git"), ("dir/file", "git")],
    );
    let roots = tried.path("roots");
    fs::create_dir_all(roots.join("empty/deeper")).unwrap();
    fs::write(roots.join("both"), "roots").unwrap();
    fs::write(roots.join("roots"), "roots").unwrap();
    let opts = Map::from([
        (
            "cachedir",
            Value::from(tried.path("cache").display().to_string()),
        ),
        ("gitfs_remotes", Value::List(vec![tried.url("one").into()])),
    ]);
    for (backends, first) in [(["git", "roots"], "git"), (["roots", "git"], "roots")] {
        let options = FileServerOptions {
            backends: backends.map(str::to_owned).to_vec(),
            gitfs: GitfsOptions::from_opts(&opts, HashType::Sha256).unwrap(),
            roots: RootsOptions {
                file_roots: [("base".to_owned(), vec![roots.clone()])].into(),
                ..RootsOptions::default()
            },
            ..FileServerOptions::default()
        };
        let files = FileServer::open(&options).unwrap();
        for updated in files.update(&Backends::All, &UpdateWish::default()) {
            updated.changes.unwrap();
        }
        let base = SaltEnv::base();
        assert_eq!(text(&files, "base", "both").as_deref(), Some(first));
        let hash = files.hash("both", &base).unwrap().unwrap();
        assert_eq!(hash.hsum, hash_hex(HashType::Sha256, first.as_bytes()));
        let piece = files.serve("both", &base, 0, None).unwrap().unwrap();
        assert_eq!(piece.data, first.as_bytes());
        for only in ["git", "roots"] {
            assert_eq!(text(&files, "base", only).as_deref(), Some(only));
        }
        let lists = files.lists(&base, &Backends::All);
        assert_eq!(lists.files, ["both", "dir/file", "git", "roots"]);
        assert_eq!(lists.empty_dirs, ["empty/deeper"]);
    }
}

#[test]
fn a_remote_that_cannot_be_fetched_does_not_hold_up_another() {
    let Some(tried) = Tried::new() else { return };
    tried.commit("one", &[("x", "1")]);
    let files = tried.server(vec![tried.url("none").into(), tried.url("one").into()], &[]);
    assert_eq!(update(&files), Some(true));
    assert_eq!(text(&files, "base", "x").as_deref(), Some("1"));
    let repositories = files.repositories();
    assert!(repositories[0].status().failed.is_some());
    assert!(repositories[1].status().failed.is_none());
}

#[test]
fn without_a_master_remotes_are_fetched_when_files_are_asked_for() {
    let Some(tried) = Tried::new() else { return };
    tried.commit("one", &[("x", "1")]);
    let opts = Map::from([
        (
            "cachedir",
            Value::from(tried.path("cache").display().to_string()),
        ),
        ("fileserver_backend", Value::List(vec!["git".into()])),
        ("gitfs_remotes", Value::List(vec![tried.url("one").into()])),
    ]);
    let server = || FileServer::open(&FileServerOptions::from_opts(&opts).unwrap()).unwrap();
    assert_eq!(text(&server(), "base", "x").as_deref(), Some("1"));
    tried.commit("one", &[("x", "2")]);
    assert_eq!(text(&server(), "base", "x").as_deref(), Some("2"));
}

#[test]
fn locks_of_other_machines_count_unless_the_option_says_no() {
    for (option, is_free) in [(None, false), (Some(true), false), (Some(false), true)] {
        let tried = Tried(tempfile::tempdir().unwrap());
        let option = option.map(|on| ("gitfs_global_lock", Value::from(on)));
        let options: Vec<_> = option.into_iter().collect();
        let server = tried.server(vec!["/srv/x".into()], &options);
        let repository = server.repositories().remove(0);
        let lock = tried.path("cache/gitfs/work");
        let lock = lock.join(repository.remote().dir()).join("_/update.lk");
        fs::create_dir_all(lock.parent().unwrap()).unwrap();
        fs::write(&lock, "12\nanother-machine\n").unwrap();
        assert_eq!(repository.lock().unwrap(), is_free, "{options:?}");
    }
}
