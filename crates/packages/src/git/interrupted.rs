//! A git that was killed leaves its lock files behind, and no git does anything
//! in that repository again before they are removed. Of a git that *this* minion
//! has run, and that was killed with it or by a power cut, the next run removes
//! them; for that a note is kept while git runs.
//!
//! Invariant: a lock file is removed only if it is no older than the note of a
//! run that has not ended, and no git is at work in that repository. Links are
//! not followed on the way to it, and nobody can name a directory of somebody
//! else's as the repository.

use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use halite_modules::Call;
use nix::dir::{Dir, Type};
use nix::fcntl::{AtFlags, OFlag};
use nix::sys::stat::{Mode, fstat, fstatat};
use nix::unistd::{UnlinkatFlags, unlinkat};

use super::note::{MTIME_SLACK, Note, notes_of};

/// How long is waited for a git that has outlived the minion that started it.
const SURVIVOR_WAIT_MAX: Duration = Duration::from_secs(30);
const SURVIVOR_POLL: Duration = Duration::from_millis(50);

/// Deeper than names of branches go.
const DEPTH_MAX: u32 = 32;

/// A longer file `.git` is not one of git's.
const DOT_GIT_BYTES_MAX: u64 = 64 * 1024;

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

/// A run of git that changes a repository.
#[derive(Debug)]
pub(super) struct Run(Note);

impl Run {
    /// Takes down that git is about to run in `cwd`, and first sees to what a
    /// killed one has left there. Nothing where there is no repository yet, or
    /// another run of ours is at work in it, or nothing can be noted: then git
    /// runs as if there were no notes.
    pub(super) fn begin(call: &Call<'_>, cwd: &Path, words: &[String]) -> Option<Self> {
        let verb = words.first().map_or("", String::as_str);
        if READING.contains(&verb) {
            return None;
        }
        let mut repository = Repository::at(cwd)?;
        Self::noted(&notes_of(call), &mut repository)
            .inspect_err(|error| tracing::debug!(%error, "no note is taken of a run of git"))
            .ok()
            .flatten()
    }

    fn noted(notes: &Path, repository: &mut Repository) -> io::Result<Option<Self>> {
        let Some(mut note) = Note::hold(notes, &repository.key, &repository.git_dir)? else {
            return Ok(None);
        };
        if let Some(begun) = note.cut_off() {
            repository.recover(begun);
        }
        note.begin()?;
        Ok(Some(Self(note)))
    }

    /// Git has ended. One that was killed (`code` is that of a signal) may have
    /// left something: its note stays.
    pub(super) fn end(self, code: i64) {
        if code >= 0 {
            self.0.end();
        }
    }
}

/// A repository that is there.
struct Repository {
    /// Where its files are checked out; for a bare one where it is itself.
    work_tree: PathBuf,
    git_dir: PathBuf,
    opened: Dir,
    /// The same for each way to name the repository.
    key: String,
}

impl Repository {
    fn at(cwd: &Path) -> Option<Self> {
        let work_tree = cwd.canonicalize().ok()?;
        let git_dir = git_dir_of(&work_tree)?;
        let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let opened = Dir::open(&git_dir, flags, Mode::empty()).ok()?;
        let data = fstat(&opened).ok()?;
        if data.st_uid != fs::metadata(&work_tree).ok()?.uid() {
            return None;
        }
        Some(Self {
            work_tree,
            git_dir,
            opened,
            key: format!("{:x}-{:x}", data.st_dev, data.st_ino),
        })
    }

    /// Removes what a git has left that was killed after `begun`.
    fn recover(&mut self, begun: SystemTime) {
        let give_up = Instant::now() + SURVIVOR_WAIT_MAX;
        while self.is_at_work() {
            if Instant::now() >= give_up {
                tracing::warn!(
                    repository = %self.git_dir.display(),
                    "a git that outlived an earlier run is still at work here"
                );
                return;
            }
            thread::sleep(SURVIVOR_POLL);
        }
        let since = begun - MTIME_SLACK;
        let since = since
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(0));
        match remove_locks(&mut self.opened, since, DEPTH_MAX) {
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

    /// Whether a git is at work here, or may be: git changes to the top of the
    /// work tree it works in.
    fn is_at_work(&self) -> bool {
        let Ok(processes) = fs::read_dir("/proc") else {
            return true;
        };
        processes.flatten().any(|process| {
            let process = process.path();
            let is_git = fs::read(process.join("comm")).is_ok_and(|name| name.starts_with(b"git"));
            is_git
                && match fs::read_link(process.join("cwd")) {
                    Ok(cwd) => cwd.starts_with(&self.work_tree) || cwd.starts_with(&self.git_dir),
                    Err(error) => error.kind() != io::ErrorKind::NotFound,
                }
        })
    }
}

/// Where the repository of a work tree is.
fn git_dir_of(work_tree: &Path) -> Option<PathBuf> {
    let dot_git = work_tree.join(".git");
    match fs::symlink_metadata(&dot_git) {
        Ok(data) if data.is_dir() => Some(dot_git),
        // Further work trees and submodules have theirs elsewhere.
        Ok(data) if data.is_file() && data.len() <= DOT_GIT_BYTES_MAX => {
            let text = fs::read_to_string(&dot_git).ok()?;
            let place = text.strip_prefix("gitdir:")?.trim();
            work_tree.join(place).canonicalize().ok()
        }
        Ok(_) => None,
        Err(_) => {
            let is_bare = work_tree.join("HEAD").is_file() && work_tree.join("refs").is_dir();
            is_bare.then(|| work_tree.to_owned())
        }
    }
}

/// Removes lock files below `dir` that are no older than `since`, a time of
/// Unix; how many there were.
fn remove_locks(dir: &mut Dir, since: i64, depth: u32) -> nix::Result<u32> {
    let entries: Vec<_> = dir.iter().collect::<nix::Result<_>>()?;
    let mut removed = 0;
    for entry in entries {
        let name = entry.file_name();
        match entry.file_type() {
            Some(Type::Directory) if is_looked_into(name) && depth > 0 => {
                let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
                let mut below = Dir::openat(&*dir, name, flags, Mode::empty())?;
                removed += remove_locks(&mut below, since, depth - 1)?;
            }
            Some(Type::File) if name.to_bytes().ends_with(b".lock") => {
                let data = fstatat(&*dir, name, AtFlags::AT_SYMLINK_NOFOLLOW)?;
                if data.st_mtime >= since {
                    unlinkat(&*dir, name, UnlinkatFlags::NoRemoveDir)?;
                    removed += 1;
                }
            }
            _ => {}
        }
    }
    Ok(removed)
}

/// What is in `objects` has names of hashes and is no lock.
fn is_looked_into(name: &CStr) -> bool {
    !matches!(name.to_bytes(), b"." | b".." | b"objects")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn repository() -> (tempfile::TempDir, Repository) {
        let dir = tempfile::tempdir().unwrap();
        let git_dir = dir.path().canonicalize().unwrap().join("tree/.git");
        fs::create_dir_all(git_dir.join("refs/heads/feature")).unwrap();
        let repository = Repository::at(&dir.path().join("tree")).unwrap();
        assert_eq!(repository.git_dir, git_dir);
        (dir, repository)
    }

    fn run(dir: &Path, repository: &mut Repository) -> Run {
        Run::noted(&dir.join("notes"), repository).unwrap().unwrap()
    }

    #[test]
    fn locks_of_a_killed_git_are_removed_by_the_next() {
        let (dir, mut repository) = repository();
        let killed = run(dir.path(), &mut repository);
        let locks = ["index.lock", "refs/heads/feature/x.lock"].map(|name| {
            let path = repository.git_dir.join(name);
            fs::write(&path, "").unwrap();
            path
        });
        let kept = repository.git_dir.join("refs/heads/feature/main");
        fs::write(&kept, "").unwrap();
        drop(killed);
        let next = run(dir.path(), &mut repository);
        assert!(locks.iter().all(|lock| !lock.exists()));
        assert!(kept.exists());
        next.end(0);
        assert_eq!(fs::read_dir(dir.path().join("notes")).unwrap().count(), 0);
    }

    #[test]
    fn locks_of_others_stay() {
        let (dir, mut repository) = repository();
        let lock = repository.git_dir.join("index.lock");
        fs::write(&lock, "").unwrap();
        // No run of ours was cut off.
        run(dir.path(), &mut repository).end(128);
        run(dir.path(), &mut repository).end(0);
        assert!(lock.exists());
        // One was, but the lock is older.
        let killed = run(dir.path(), &mut repository);
        let old = SystemTime::now() - Duration::from_secs(60);
        let file = fs::File::options().write(true).open(&lock).unwrap();
        file.set_modified(old).unwrap();
        killed.end(-9);
        run(dir.path(), &mut repository).end(0);
        assert!(lock.exists());
    }

    #[test]
    fn a_link_leads_to_no_removal() {
        let (dir, mut repository) = repository();
        let outside = dir.path().join("outside");
        fs::create_dir(&outside).unwrap();
        drop(run(dir.path(), &mut repository));
        fs::write(outside.join("passwd.lock"), "").unwrap();
        symlink(&outside, repository.git_dir.join("refs/link")).unwrap();
        let file = repository.git_dir.join("file.lock");
        symlink(outside.join("passwd.lock"), file).unwrap();
        run(dir.path(), &mut repository).end(0);
        assert!(outside.join("passwd.lock").exists());
    }

    #[test]
    fn a_directory_of_somebody_elses_is_no_repository() {
        let dir = tempfile::tempdir().unwrap();
        let work_tree = dir.path().join("tree");
        fs::create_dir(&work_tree).unwrap();
        fs::write(work_tree.join(".git"), "gitdir: /etc\n").unwrap();
        // It is root's: for root the work tree has to be somebody else's.
        nix::unistd::chown(&work_tree, Some(4321.into()), None).ok();
        assert!(Repository::at(&work_tree).is_none());
    }

    #[test]
    fn two_runs_at_once_do_not_wait_for_each_other() {
        let (dir, mut repository) = repository();
        let first = run(dir.path(), &mut repository);
        let second = Run::noted(&dir.path().join("notes"), &mut repository).unwrap();
        assert!(second.is_none());
        first.end(0);
    }
}
