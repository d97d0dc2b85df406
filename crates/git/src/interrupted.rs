//! A git that was killed leaves its lock files behind, and no git changes that
//! repository again before they are removed. A record is kept while git runs:
//! if a run was killed together with the program that started it, or by a power
//! cut, the next run removes its lock files.
//!
//! Invariant: a lock file is removed only if it is from the time between the
//! begin of a recorded run that has not ended and the start of this process, no
//! git is at work there, and work tree and repository belong to the user whom
//! git runs as; or if the caller holds the lock of a remote, in the copy of that
//! remote. Links are not followed on the way to it.

use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag};
use nix::sys::stat::{Mode, fstat, fstatat};
use nix::unistd::{SysconfVar, UnlinkatFlags, User, geteuid, sysconf, unlinkat};

use crate::record::Record;

/// How long to wait for a git that has outlived the program that started it.
const SURVIVOR_WAIT_MAX: Duration = Duration::from_secs(30);
const SURVIVOR_POLL: Duration = Duration::from_millis(50);

/// File systems may have coarser times than the clock, and that of the start of
/// the machine is known to the second.
const SLACK: Duration = Duration::from_secs(1);

/// Deeper than names of branches go.
const DEPTH_MAX: u32 = 32;

/// What git locks at the top of a repository, beside `HEAD` and its like.
const LOCKED: [&str; 4] = ["config", "index", "packed-refs", "shallow"];

const DIRECTORY: OFlag = OFlag::O_DIRECTORY
    .union(OFlag::O_NOFOLLOW)
    .union(OFlag::O_CLOEXEC);

/// Verbs that only read. Beside `GIT_OPTIONAL_LOCKS=0` they lock nothing.
const READING: [&str; 17] = [
    "archive",
    "cat-file",
    "describe",
    "diff",
    "for-each-ref",
    "hash-object",
    "log",
    "ls-files",
    "ls-remote",
    "merge-base",
    "merge-tree",
    "rev-list",
    "rev-parse",
    "show",
    "show-ref",
    "status",
    "version",
];

/// Verbs that only read if this comes next.
const READING_WITH: [(&str, &str); 5] = [
    ("config", "--get"),
    ("config", "--get-all"),
    ("config", "--get-regexp"),
    ("remote", "--verbose"),
    ("symbolic-ref", "--quiet"),
];

fn is_reading(words: &[String]) -> bool {
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    READING.contains(&word(0)) || READING_WITH.contains(&(word(0), word(1)))
}

/// A run of git that changes a repository, with a record of it.
#[derive(Debug)]
pub struct TrackedRun {
    record: Record,
    repository: Repository,
    begun: SystemTime,
}

impl TrackedRun {
    /// Records, in the directory `records`, that git is about to run with these
    /// words in `cwd` as `user`, and first removes what a killed run has left
    /// there. `None` for a run that only reads, where there is no repository
    /// yet, where another tracked run is at work, and where no record can be
    /// kept: git runs without one then.
    pub fn begin(records: &Path, user: Option<&str>, cwd: &Path, words: &[String]) -> Option<Self> {
        if is_reading(words) {
            return None;
        }
        let repository = Repository::at(cwd, user_id(user)?)?;
        Self::recorded(records, repository, process_began()?)
            .inspect_err(|error| tracing::debug!(%error, "no record is kept of a run of git"))
            .ok()
            .flatten()
    }

    fn recorded(
        records: &Path,
        mut repository: Repository,
        until: SystemTime,
    ) -> io::Result<Option<Self>> {
        let Some(mut record) = Record::hold(records, "run", &repository.git_dir)? else {
            return Ok(None);
        };
        if let Some(begun) = record.begun_before() {
            if !repository.is_left_alone() {
                // It stays for the next run.
                return Ok(None);
            }
            repository.remove_locks(begun, until);
        }
        record.begin("")?;
        Ok(Some(Self {
            record,
            repository,
            begun: SystemTime::now(),
        }))
    }

    /// Git has ended. If it was killed, its lock files are removed at once.
    pub fn end(mut self, was_killed: bool) {
        if was_killed {
            if self.repository.is_at_work() {
                // It stays for the next run.
                return;
            }
            self.repository.remove_locks(self.begun, SystemTime::now());
        }
        self.record.end();
    }
}

/// The id of the user whom git runs as; without a name the user of this process.
pub fn user_id(user: Option<&str>) -> Option<u32> {
    let user = match user {
        Some(name) => User::from_name(name).ok()??.uid,
        None => geteuid(),
    };
    Some(user.as_raw())
}

/// Waits for a git that has outlived an earlier run in the work tree at
/// `target`; whether there is none.
pub fn is_left_alone(user: Option<&str>, target: &Path) -> bool {
    user_id(user)
        .and_then(|user| Repository::at(target, user))
        .is_some_and(|repository| repository.is_left_alone())
}

/// A repository that is there.
#[derive(Debug)]
struct Repository {
    /// Where its files are checked out; for a bare one where it is itself.
    work_tree: PathBuf,
    git_dir: PathBuf,
    opened: Dir,
}

impl Repository {
    /// The repository with its work tree, or without one, at `cwd`, if they
    /// belong to this user. Further work trees and submodules are none: theirs
    /// is elsewhere.
    fn at(cwd: &Path, user: u32) -> Option<Self> {
        let work_tree = cwd.canonicalize().ok()?;
        let tree = Dir::open(&work_tree, DIRECTORY, Mode::empty()).ok()?;
        let (git_dir, opened) = match Dir::openat(&tree, ".git", DIRECTORY, Mode::empty()) {
            Ok(opened) => (work_tree.join(".git"), opened),
            Err(Errno::ENOENT) => {
                let is_there = |name| fstatat(&tree, name, AtFlags::AT_SYMLINK_NOFOLLOW).is_ok();
                if !is_there("HEAD") || !is_there("refs") {
                    return None;
                }
                let opened = Dir::openat(&tree, ".", DIRECTORY, Mode::empty()).ok()?;
                (work_tree.clone(), opened)
            }
            Err(_) => return None,
        };
        let is_users = |dir: &Dir| fstat(dir).is_ok_and(|data| data.st_uid == user);
        (is_users(&tree) && is_users(&opened)).then_some(Self {
            work_tree,
            git_dir,
            opened,
        })
    }

    /// Waits for a git that is at work here; whether it has ended.
    fn is_left_alone(&self) -> bool {
        let have_ended = wait_until_ended(|| self.is_at_work());
        if !have_ended {
            tracing::warn!(
                repository = %self.git_dir.display(),
                "a git that outlived an earlier run is still at work here"
            );
        }
        have_ended
    }

    /// Whether a git is at work here: it changes to the top of the work tree
    /// that it works in.
    fn is_at_work(&self) -> bool {
        running_gits().any(|process| {
            fs::read_link(process.join("cwd"))
                .is_ok_and(|cwd| cwd.starts_with(&self.work_tree) || cwd.starts_with(&self.git_dir))
        })
    }

    /// Removes the lock files of a git that was at work in this time.
    fn remove_locks(&mut self, begun: SystemTime, ended: SystemTime) {
        let seconds = |time: SystemTime| {
            let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
            i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
        };
        let from = seconds(begun).saturating_sub(1);
        let to = seconds(ended).saturating_add(1);
        let found = locks_in(&mut self.opened, &mut |dir, name, time| {
            if (from..=to).contains(&time) {
                unlinkat(dir.as_fd(), name, UnlinkatFlags::NoRemoveDir)?;
                return Ok(1);
            }
            Ok(0)
        });
        self.report_removed(found);
    }

    fn report_removed(&self, removed: nix::Result<u32>) {
        match removed {
            Ok(0) => {}
            Ok(count) => tracing::warn!(
                repository = %self.git_dir.display(),
                count,
                "removed the lock files of a git that was killed"
            ),
            Err(error) => tracing::warn!(
                repository = %self.git_dir.display(),
                %error,
                "could not look for lock files of a git that was killed"
            ),
        }
    }
}

/// Removes all lock files of git in the repository at `git_dir`, unless a git is
/// at work there. Only for who holds the lock of its remote: those of another
/// machine that is gone are of no recorded run.
pub(crate) fn remove_all_locks(git_dir: &Path) {
    let repository = Repository::at(git_dir, geteuid().as_raw());
    let Some(mut repository) = repository.filter(Repository::is_left_alone) else {
        return;
    };
    let mut remove = |dir: &Dir, name: &CStr, _| {
        unlinkat(dir.as_fd(), name, UnlinkatFlags::NoRemoveDir).map(|()| 1)
    };
    let removed = locks_below(&mut repository.opened, &mut remove, DEPTH_MAX);
    repository.report_removed(removed);
}

/// Waits for gits that have outlived an earlier run; whether they have ended.
pub fn wait_until_ended(are_at_work: impl Fn() -> bool) -> bool {
    let give_up = Instant::now() + SURVIVOR_WAIT_MAX;
    while are_at_work() {
        if Instant::now() >= give_up {
            return false;
        }
        thread::sleep(SURVIVOR_POLL);
    }
    true
}

/// The directories in `/proc` of all processes that are git.
pub fn running_gits() -> impl Iterator<Item = PathBuf> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.map(|process| process.path()).filter(|process| {
        fs::read(process.join("comm")).is_ok_and(|name| {
            let name = name.trim_ascii_end();
            name == b"git" || name.starts_with(b"git-")
        })
    })
}

/// When this process was started. Nothing where the system does not say it.
fn process_began() -> Option<SystemTime> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name stands in brackets and may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let ticks: u64 = rest.split_ascii_whitespace().nth(19)?.parse().ok()?;
    let hertz = u64::try_from(sysconf(SysconfVar::CLK_TCK).ok()??).ok()?;
    let boot = fs::read_to_string("/proc/stat").ok()?;
    let boot = boot.lines().find_map(|line| line.strip_prefix("btime "))?;
    let seconds = boot.trim().parse::<u64>().ok()? + ticks.checked_div(hertz)?;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds) + SLACK)
}

type OnLock<'a> = &'a mut dyn FnMut(&Dir, &CStr, i64) -> nix::Result<u32>;

/// Calls `on_lock` with each lock file at the top of a repository and below its
/// references, and when it was made; the sum.
fn locks_in(git_dir: &mut Dir, on_lock: OnLock<'_>) -> nix::Result<u32> {
    let mut sum = 0;
    for (name, kind) in entries(git_dir)? {
        let stem = name.to_bytes().strip_suffix(b".lock");
        let is_lock = |stem: &[u8]| {
            let is_head = stem.iter().all(|b| b.is_ascii_uppercase() || *b == b'_');
            is_head || LOCKED.iter().any(|known| known.as_bytes() == stem)
        };
        match (kind, stem) {
            (Type::File, Some(stem)) if is_lock(stem) => sum += visit(git_dir, &name, on_lock)?,
            (Type::Directory, _) if name.to_bytes() == b"refs" => {
                let mut refs = Dir::openat(&*git_dir, &*name, DIRECTORY, Mode::empty())?;
                sum += locks_below(&mut refs, on_lock, DEPTH_MAX)?;
            }
            _ => {}
        }
    }
    Ok(sum)
}

fn locks_below(dir: &mut Dir, on_lock: OnLock<'_>, depth: u32) -> nix::Result<u32> {
    let mut sum = 0;
    for (name, kind) in entries(dir)? {
        match kind {
            Type::File if name.to_bytes().ends_with(b".lock") => sum += visit(dir, &name, on_lock)?,
            Type::Directory if depth > 0 => {
                let mut below = Dir::openat(&*dir, &*name, DIRECTORY, Mode::empty())?;
                sum += locks_below(&mut below, on_lock, depth - 1)?;
            }
            _ => {}
        }
    }
    Ok(sum)
}

/// Calls `on_lock` with one lock file.
fn visit(dir: &Dir, name: &CStr, on_lock: OnLock<'_>) -> nix::Result<u32> {
    let data = fstatat(dir, name, AtFlags::AT_SYMLINK_NOFOLLOW)?;
    on_lock(dir, name, data.st_mtime)
}

/// What is in a directory.
fn entries(dir: &mut Dir) -> nix::Result<Vec<(std::ffi::CString, Type)>> {
    let mut all = Vec::new();
    for entry in dir.iter() {
        let entry = entry?;
        let name = entry.file_name();
        if let Some(kind) = entry.file_type()
            && !matches!(name.to_bytes(), b"." | b"..")
        {
            all.push((name.to_owned(), kind));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

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
}
