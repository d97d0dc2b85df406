//! A repository in which a killed git may have worked.

use std::ffi::CStr;
use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::AtFlags;
use nix::sys::stat::{Mode, fstat, fstatat};
use nix::unistd::{UnlinkatFlags, geteuid, unlinkat};

use super::locks::{DEPTH_MAX, DIRECTORY, locks_below, locks_in};
use super::processes::{running_gits, wait_until_ended};

/// A repository that is there.
#[derive(Debug)]
pub(super) struct Repository {
    /// Where its files are checked out; for a bare one where it is itself.
    work_tree: PathBuf,
    pub(super) git_dir: PathBuf,
    opened: Dir,
}

impl Repository {
    /// The repository with its work tree, or without one, at `cwd`, if they
    /// belong to this user. Further work trees and submodules are none: theirs
    /// is elsewhere.
    pub(super) fn at(cwd: &Path, user: u32) -> Option<Self> {
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
    pub(super) fn is_left_alone(&self) -> bool {
        let have_ended = wait_until_ended(|| self.is_at_work());
        if !have_ended {
            tracing::warn!(
                repository = %self.git_dir.display(),
                "a git process of an earlier run is still working here"
            );
        }
        have_ended
    }

    /// Whether a git is at work here: it changes to the top of the work tree
    /// that it works in.
    pub(super) fn is_at_work(&self) -> bool {
        running_gits().into_iter().any(|process| {
            fs::read_link(process.join("cwd"))
                .is_ok_and(|cwd| cwd.starts_with(&self.work_tree) || cwd.starts_with(&self.git_dir))
        })
    }

    /// Removes the lock files of a git that was at work in this time.
    pub(super) fn remove_locks(&mut self, begun: SystemTime, ended: SystemTime) {
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
                "removed the lock files of a killed git process"
            ),
            Err(error) => tracing::warn!(
                repository = %self.git_dir.display(),
                %error,
                "could not look for the lock files of a killed git process"
            ),
        }
    }
}

/// Removes all lock files of git in the repository at `git_dir`, unless a git is
/// at work there. Only for who holds the lock of its remote: those of another
/// machine that is gone are of no recorded run.
pub(crate) fn remove_all_locks(git_dir: &Path) {
    let Some(mut repository) = Repository::at(git_dir, geteuid().as_raw()) else {
        return;
    };
    // Mostly there is none, and looking for gits that are at work costs more.
    let found = locks_below(&mut repository.opened, &mut |_, _, _| Ok(1), DEPTH_MAX);
    if found == Ok(0) || !repository.is_left_alone() {
        return;
    }
    let mut remove = |dir: &Dir, name: &CStr, _| {
        unlinkat(dir.as_fd(), name, UnlinkatFlags::NoRemoveDir).map(|()| 1)
    };
    let removed = locks_below(&mut repository.opened, &mut remove, DEPTH_MAX);
    repository.report_removed(removed);
}
