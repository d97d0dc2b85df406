//! Repositories with lock files of gits that were killed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

use super::processes::SLACK;
use super::*;

struct Tried {
    dir: tempfile::TempDir,
    git_dir: PathBuf,
}

impl Tried {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let git_dir = dir.path().canonicalize().unwrap().join("tree/.git");
        fs::create_dir_all(git_dir.join("refs/heads/feature")).unwrap();
        Self { dir, git_dir }
    }

    fn repository(&self) -> Repository {
        let tree = self.dir.path().join("tree");
        Repository::at(&tree, geteuid().as_raw()).unwrap()
    }

    /// A run of a process that began now.
    fn run(&self) -> Option<TrackedRun> {
        let records = self.dir.path().join("records");
        TrackedRun::recorded(&records, self.repository(), SystemTime::now()).unwrap()
    }

    fn lock(&self, name: &str) -> PathBuf {
        let path = self.git_dir.join(name);
        fs::write(&path, "").unwrap();
        path
    }
}

#[test]
fn locks_of_a_killed_git_are_removed_by_the_next() {
    let tried = Tried::new();
    let killed = tried.run().unwrap();
    let locks = ["index.lock", "HEAD.lock", "refs/heads/feature/x.lock"];
    let locks = locks.map(|name| tried.lock(name));
    let kept = ["refs/heads/feature/main", "Cargo.lock"].map(|name| tried.lock(name));
    drop(killed);
    let next = tried.run().unwrap();
    assert!(locks.iter().all(|lock| !lock.exists()));
    assert!(kept.iter().all(|file| file.exists()));
    next.end(false);
    let records = tried.dir.path().join("records");
    assert_eq!(fs::read_dir(records).unwrap().count(), 0);
}

#[test]
fn those_of_a_git_that_was_killed_alone_go_at_once() {
    let tried = Tried::new();
    let run = tried.run().unwrap();
    let lock = tried.lock("index.lock");
    run.end(false);
    assert!(lock.exists());
    tried.run().unwrap().end(true);
    assert!(!lock.exists());
}

#[test]
fn locks_of_others_stay() {
    let tried = Tried::new();
    let lock = tried.lock("index.lock");
    // No run of ours was cut off.
    tried.run().unwrap().end(false);
    tried.run().unwrap().end(false);
    assert!(lock.exists());
    // One was, but the lock is older than that, or younger than this process.
    let minute = Duration::from_secs(60);
    for time in [SystemTime::now() - minute, SystemTime::now() + minute] {
        let killed = tried.run().unwrap();
        let file = fs::File::options().write(true).open(&lock).unwrap();
        file.set_modified(time).unwrap();
        drop(killed);
        tried.run().unwrap().end(false);
        assert!(lock.exists());
    }
}

#[test]
fn who_holds_the_lock_of_a_remote_removes_those_of_all_machines() {
    let tried = Tried::new();
    fs::create_dir_all(tried.git_dir.join("objects/info")).unwrap();
    fs::write(tried.git_dir.join("HEAD"), "").unwrap();
    let locks = [
        "shallow.lock",
        "refs/heads/feature/x.lock",
        "objects/info/commit-graph.lock",
    ];
    let locks = locks.map(|name| tried.lock(name));
    let kept = ["refs/heads/feature/main", "packed-refs"].map(|name| tried.lock(name));
    remove_all_locks(&tried.git_dir);
    assert!(locks.iter().all(|lock| !lock.exists()));
    assert!(kept.iter().all(|file| file.exists()));
}

#[test]
fn a_link_leads_to_no_removal() {
    let tried = Tried::new();
    let outside = tried.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    drop(tried.run().unwrap());
    fs::write(outside.join("index.lock"), "").unwrap();
    symlink(&outside, tried.git_dir.join("refs/link")).unwrap();
    symlink(outside.join("index.lock"), tried.git_dir.join("index.lock")).unwrap();
    tried.run().unwrap().end(false);
    assert!(outside.join("index.lock").exists());
}

#[test]
fn a_repository_of_somebody_elses_or_elsewhere_is_left_alone() {
    let tried = Tried::new();
    let tree = tried.dir.path().join("tree");
    assert!(Repository::at(&tree, geteuid().as_raw() + 1).is_none());
    let other = tried.dir.path().join("other");
    fs::create_dir(&other).unwrap();
    let place = format!("gitdir: {}\n", tried.git_dir.display());
    fs::write(other.join(".git"), place).unwrap();
    assert!(Repository::at(&other, geteuid().as_raw()).is_none());
    fs::remove_file(other.join(".git")).unwrap();
    symlink(&tried.git_dir, other.join(".git")).unwrap();
    assert!(Repository::at(&other, geteuid().as_raw()).is_none());
}

#[test]
fn two_runs_at_once_do_not_wait_for_each_other() {
    let tried = Tried::new();
    let first = tried.run().unwrap();
    assert!(tried.run().is_none());
    first.end(false);
}

#[test]
fn what_only_looks_is_known() {
    let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
    assert!(is_reading(&words("rev-parse HEAD")));
    assert!(is_reading(&words("remote --verbose")));
    assert!(!is_reading(&words("remote add origin x")));
    assert!(!is_reading(&words("fetch origin")));
    assert!(!is_reading(&[]));
}

#[test]
fn this_process_has_begun() {
    let began = process_began().unwrap();
    assert!(began <= SystemTime::now() + 2 * SLACK);
}
